"""Tensors print as PyTorch's do, and as a table in notebooks."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt

rng = np.random.default_rng(0)
ARRAYS: dict[str, np.ndarray] = {
    "whole": np.array([1, 2], np.float32),
    "fractions": np.array([1.5, 2], np.float32),
    "small": np.array([1e-5, 1], np.float32),
    "large": np.array([1e5, 1], np.float32),
    "huge": np.array([1e9, 1], np.float32),
    "mixed": np.array([12345.678, 0.5], np.float32),
    "inf": np.array([np.inf, 1.5], np.float32),
    "nan": np.array([np.nan], np.float32),
    "number": np.array(1234567.5, np.float32),
    "zero": np.array(0, np.float32),
    "int": np.array(3),
    "bools": np.array([True, False]),
    "ints": np.array([[1, -20], [300, 4]]),
    "int8": np.arange(5, dtype=np.int8),
    "double": rng.normal(size=(3, 40)),
    "empty": np.zeros(0, np.float32),
    "empty rows": np.zeros((2, 0), np.float32),
    "empty ints": np.zeros(0, np.int64),
    "wrapped": np.arange(30),
    "cube": rng.normal(size=(3, 4, 2)).astype(np.float32),
    "long": np.arange(2000, dtype=np.float32),
    "square": np.zeros((40, 40), np.float32),
    "four dims": rng.normal(size=(2, 2, 30, 30)).astype(np.float32),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_prints_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    expected = repr(torch.tensor(ARRAYS[name])).replace("torch.", "tinytensor.")
    assert repr(tt.tensor(ARRAYS[name])) == expected


def test_golden_text() -> None:
    x = tt.tensor([[1.0, 2.5], [-3.0, 4.0]], requires_grad=True)
    rows = "[[ 1.0000,  2.5000],\n        [-3.0000,  4.0000]]"
    assert repr(x) == f"tensor({rows}, requires_grad=True)"
    assert repr(x * 2).endswith("grad_fn=<MulBackward>)")
    assert repr(tt.zeros(2, dtype=tt.float64)) == "tensor([0., 0.], dtype=tinytensor.float64)"
    assert repr(x.shape) == "tinytensor.Size([2, 2])" and repr(x.dtype) == "tinytensor.float32"
    assert f"{tt.tensor(2.345):.1f}" == "2.3"


def test_print_options() -> None:
    try:
        tt.set_printoptions(precision=2)
        assert repr(tt.tensor([1.2345])) == "tensor([1.23])"
        tt.set_printoptions(sci_mode=True)
        assert repr(tt.tensor([1.5])) == "tensor([1.50e+00])"
        tt.set_printoptions(profile="full")
        assert "..." not in repr(tt.arange(3000))
    finally:
        tt.set_printoptions(profile="default")


def test_html_is_a_table_for_small_matrices() -> None:
    page = tt.tensor([[1.0, -2.0], [float("nan"), 0.0]])._repr_html_()
    assert page.count("<tr>") == 2 and page.count("<td") == 4 and "shape (2, 2)" in page
    assert tt.zeros(3, 3, 3)._repr_html_().startswith("<pre>tensor(")
    assert "&lt;MulBackward&gt;" in (tt.ones(50, requires_grad=True) * 2)._repr_html_()
