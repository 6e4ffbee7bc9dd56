"""Copies of views that no row of the op table can express; memory, out= and errors of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

CALLS: dict[str, tuple] = {
    "alias_copy": ((2, 3),),
    "as_strided_copy": ((6,), (2, 2), (2, 1)),
    "detach_copy": ((2, 3),),
    "diagonal_copy": ((3, 3),),
    "expand_copy": ((3, 1), (3, 4)),
    "permute_copy": ((2, 3), (1, 0)),
    "select_copy": ((2, 3), 0, 1),
    "slice_copy": ((5,), 0, 1, 4),
    "squeeze_copy": ((2, 1),),
    "t_copy": ((2, 3),),
    "transpose_copy": ((2, 3), 0, 1),
    "unfold_copy": ((5,), 0, 2, 1),
    "unsqueeze_copy": ((2, 3), 1),
    "view_as_complex_copy": ((3, 2),),
    "view_copy": ((2, 3), (3, 2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_memory_is_shared(name: str) -> None:
    shape, *rest = CALLS[name]
    x = tt.randn(*shape, requires_grad=name not in ("detach_copy",))
    y = getattr(tt, name)(x, *rest)
    assert not np.shares_memory(x.array, y.array)
    assert y.is_contiguous()
    assert y.requires_grad is x.requires_grad


@pytest.mark.parametrize("name", CALLS)
def test_as_pytorch_with_out(name: str) -> None:
    torch = pytest.importorskip("torch")
    shape, *rest = CALLS[name]
    array = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    expected = getattr(torch, name)(torch.tensor(array), *rest)
    y = getattr(tt, name)(tt.tensor(array), *rest)
    out = tt.empty_like(y)
    assert getattr(tt, name)(tt.tensor(array), *rest, out=out) is out
    for result in (y, out):
        assert np.array_equal(result.numpy(), expected.numpy())


@pytest.mark.parametrize("name", ["split_copy", "split_with_sizes_copy", "unbind_copy"])
def test_several_copies_and_out(name: str) -> None:
    x = tt.arange(6.0).reshape(3, 2)
    args: Any = {"split_copy": (2,), "split_with_sizes_copy": ([1, 2],)}.get(name, ())
    parts = getattr(tt, name)(x, *args)
    assert not any(np.shares_memory(x.array, part.array) for part in parts)
    out = tuple(tt.empty_like(part) for part in parts)
    getattr(tt, name)(x, *args, out=out)
    assert all(a.equal(b) for a, b in zip(out, parts))


def test_gradients_of_memory_read_twice() -> None:
    x = tt.arange(6.0).requires_grad_()
    tt.as_strided_copy(x, (2, 2), (1, 1), 1).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 1, 2, 1, 0, 0]


def test_gradient_as_complex_numbers() -> None:
    x = tt.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    tt.view_as_complex_copy(x).abs().sum().backward()
    assert tt.allclose(x.grad, x.detach() / x.detach().norm(dim=1, keepdim=True))


def test_view_copy_of_any_layout_and_dtype() -> None:
    x = tt.arange(6, dtype=tt.float32).reshape(2, 3).t()
    assert tt.view_copy(x, (6,)).tolist() == [0, 3, 1, 4, 2, 5]
    assert tt.view_copy(x.contiguous(), tt.int32).dtype == tt.int32


def test_wrong_input() -> None:
    with pytest.raises(RuntimeError, match="slice_copy: got step 0"):
        tt.slice_copy(tt.ones(3), 0, 0, 2, 0)
    with pytest.raises(TypeError, match="alias_copy"):
        tt.alias_copy([1.0])
    with pytest.raises(RuntimeError, match="view_copy|reshape"):
        tt.view_copy(tt.ones(3), (2, 2))
