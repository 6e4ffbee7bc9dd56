"""Questions about a tensor: the functions answer as the methods and as PyTorch do."""

from __future__ import annotations

import pytest

import tinytensor as tt

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["is_complex", "is_floating_point", "is_nonzero", "numel"])
def test_as_pytorch_answers(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")
    ours = tt.ones(1, dtype=getattr(tt, dtype))
    expected = getattr(torch, name)(torch.ones(1, dtype=getattr(torch, dtype)))
    assert getattr(tt, name)(ours) == getattr(ours, name)() == expected


def test_without_a_tensor() -> None:
    with pytest.raises(TypeError, match="is_complex: got a float"):
        tt.is_complex(1.0)  # type: ignore[arg-type]
