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
    "many zeros": np.zeros(100, np.float32),
    "minus zeros": -np.zeros((2, 30)),
    "zeros among numbers": np.array([0, -0.0, 12.5], np.float32),
    "half": np.array([65504, 1e-7, 0.5], np.float16),
    "tiny": np.array([1e-45, 3e38], np.float32),
    "uint8": np.array([0, 255], np.uint8),
    "infinities": np.array([np.inf, -np.inf, 12345.5], np.float32),
    "four dims": rng.normal(size=(2, 2, 30, 30)).astype(np.float32),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_prints_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    expected = repr(torch.tensor(ARRAYS[name])).replace("torch.", "tinytensor.")
    assert repr(tt.tensor(ARRAYS[name])) == expected


def sample() -> np.ndarray:
    """An array of any dtype and shape, with small, large, whole, zero or extreme values."""
    dtype = rng.choice(["bool", "uint8", "int16", "int64", "float16", "float32", "float64"])
    shape = tuple(rng.choice([0, 1, 2, 5, 12], size=rng.integers(0, 5)))
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-6, 9)
    kind = rng.integers(4)
    if kind == 0:
        values = np.round(values)
    elif kind == 1:
        values = values * 10.0 ** rng.integers(-30, 30, size=shape)
    elif kind == 2:
        values = np.where(rng.random(shape) < 0.3, rng.choice([np.inf, np.nan], size=shape), values)
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype)


def test_many_arrays_print_as_pytorch() -> None:
    """All but spaces: "tinytensor." is longer than "torch.", and NaN and inf are aligned here."""
    torch = pytest.importorskip("torch")
    options: list[dict] = [{}, {"precision": 2}, {"sci_mode": True}, {"sci_mode": False},
                           {"threshold": 20, "edgeitems": 2}, {"linewidth": 40},
                           {"profile": "short"}, {"profile": "full"}]  # fmt: skip
    try:
        for i in range(800):
            array, given = sample(), options[i % len(options)]
            texts = []
            for lib in (tt, torch):
                lib.set_printoptions(profile="default")
                lib.set_printoptions(**given)
                texts.append("".join(repr(lib.tensor(array)).split()))
            assert texts[0] == texts[1].replace("torch.", "tinytensor."), (array, given)
    finally:
        tt.set_printoptions(profile="default")
        torch.set_printoptions(profile="default")


def test_golden_text() -> None:
    x = tt.tensor([[1.0, 2.5], [-3.0, 4.0]], requires_grad=True)
    rows = "[[ 1.0000,  2.5000],\n        [-3.0000,  4.0000]]"
    assert repr(x) == f"tensor({rows}, requires_grad=True)"
    assert repr(x * 2).endswith("grad_fn=<MulBackward>)")
    assert repr(tt.zeros(2, dtype=tt.float64)) == "tensor([0., 0.], dtype=tinytensor.float64)"
    assert repr(x.shape) == "tinytensor.Size([2, 2])" and repr(x.dtype) == "tinytensor.float32"


def test_format() -> None:
    """A 0-d tensor formats as its number, as in PyTorch."""
    loss = tt.tensor(2.5, requires_grad=True)
    assert f"{loss}|{loss:.2f}|{loss:>6}|{tt.tensor(7):03d}|{tt.tensor(True)}" == (
        "2.5|2.50|   2.5|007|True"
    )
    assert f"{tt.tensor([1.0, 2.0])}" == "tensor([1., 2.])"
    with pytest.raises(TypeError, match="format"):
        f"{tt.zeros(2):.2f}"


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
    assert "tinytensor.bool" in tt.tensor([[True]])._repr_html_()
    assert "<table" in tt.tensor([float("inf"), float("nan")])._repr_html_()
    assert tt.zeros(2, 0)._repr_html_() == "<pre>tensor([], size=(2, 0))</pre>"
    assert "&lt;MulBackward&gt;" in (tt.ones(50, requires_grad=True) * 2)._repr_html_()
