"""Deprecated forms that PyTorch still accepts, such as x.add_(alpha, other), beside PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")

# name → function of (library, two matrices, a third, a vector, a batch)
FORMS: dict[str, Callable] = {
    "add": lambda L, x, y, z, v, b: L.add(x, 2.5, y),
    "x.add": lambda L, x, y, z, v, b: x.add(2, y),
    "x.add_": lambda L, x, y, z, v, b: x.clone().add_(-0.5, y),
    "x.add_ of a row": lambda L, x, y, z, v, b: x.clone().add_(-0.5, v),
    "sub": lambda L, x, y, z, v, b: L.sub(x, 3, y),
    "x.sub, a number": lambda L, x, y, z, v, b: x.sub(0.5, 3),
    "x.sub": lambda L, x, y, z, v, b: x.sub(0.5, y),
    "x.sub_": lambda L, x, y, z, v, b: x.clone().sub_(0.5, y),
    "addcmul": lambda L, x, y, z, v, b: L.addcmul(x, 2, y, z),
    "x.addcmul": lambda L, x, y, z, v, b: x.addcmul(0.1, y, z),
    "x.addcmul_": lambda L, x, y, z, v, b: x.clone().addcmul_(0.1, y, y),
    "addcdiv": lambda L, x, y, z, v, b: L.addcdiv(x, 2, y, z),
    "x.addcdiv_": lambda L, x, y, z, v, b: x.clone().addcdiv_(-0.01, y, z),
    "addmm, both": lambda L, x, y, z, v, b: L.addmm(2, x, 3, y, z),
    "addmm, beta": lambda L, x, y, z, v, b: L.addmm(0.5, x, y, z),
    "x.addmm, both": lambda L, x, y, z, v, b: x.addmm(2, 3, y, z),
    "x.addmm, beta": lambda L, x, y, z, v, b: x.addmm(0.5, y, z),
    "x.addmm_": lambda L, x, y, z, v, b: x.clone().addmm_(2, 3, y, z),
    "addmv": lambda L, x, y, z, v, b: L.addmv(2, v, 3, y, v),
    "x.addmv": lambda L, x, y, z, v, b: v.addmv(2, y, v),
    "addr": lambda L, x, y, z, v, b: L.addr(2, x, 3, v, v),
    "x.addr": lambda L, x, y, z, v, b: x.addr(2, v, v),
    "baddbmm": lambda L, x, y, z, v, b: L.baddbmm(2, b, 3, b, b),
    "x.baddbmm": lambda L, x, y, z, v, b: b.baddbmm(2, b, b),
    "addbmm": lambda L, x, y, z, v, b: L.addbmm(2, x, 3, b, b),
    "x.addbmm_": lambda L, x, y, z, v, b: x.clone().addbmm_(2, 3, b, b),
}
REFUSED: dict[str, Callable] = {
    "add: a number last": lambda L, x, y: L.add(x, y, 2),
    "x.add: a number last": lambda L, x, y: x.add(y, 2),
    "add: three tensors": lambda L, x, y: L.add(x, y, x),
    "add: a string": lambda L, x, y: L.add(x, "2", y),
    "addcmul: value last": lambda L, x, y: L.addcmul(x, y, y, 2),
    "addmm: numbers last": lambda L, x, y: L.addmm(x, y, y, 2, 3),
    "addmm: four tensors": lambda L, x, y: L.addmm(x, y, y, x),
}


def run(lib: Any, form: Callable, dtype: str) -> tuple:
    rng = np.random.default_rng(0)
    shapes = [(4, 4), (4, 4), (4, 4), (4,), (2, 4, 4)]
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    tensors = [lib.tensor(array, requires_grad=True) for array in arrays]
    y = form(lib, *tensors)
    (y * y).sum().backward()
    grads = [t.grad.numpy() if t.grad is not None else None for t in tensors]
    return y.detach().numpy(), *grads


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", FORMS)
def test_an_older_form_as_pytorch(name: str, dtype: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (run(lib, FORMS[name], dtype) for lib in (tt, torch))
    near = 1e-12 if dtype == "float64" else 2e-5
    for mine, other in zip(ours, theirs):
        assert (mine is None) == (other is None)
        if mine is not None:
            assert mine.dtype == other.dtype
            np.testing.assert_allclose(mine, other, rtol=near, atol=near)


@pytest.mark.parametrize("name", REFUSED)
def test_other_orders_are_refused(name: str) -> None:
    for lib in (tt, torch):
        with pytest.raises(TypeError):
            REFUSED[name](lib, lib.ones(3, 3), lib.ones(3, 3))
    with pytest.raises(TypeError, match=rf"^{name.split(':')[0].removeprefix('x.')}: ") as error:
        REFUSED[name](tt, tt.ones(3, 3), tt.ones(3, 3))
    assert "\n" not in str(error.value)


NUMBERS: dict[str, Callable] = {
    "add": lambda L, x: L.add(x, 3, alpha=2),
    "add, a float": lambda L, x: L.add(x, 3.5, alpha=2),
    "add, a bool": lambda L, x: x.add(True, alpha=2),
    "add, both floats": lambda L, x: x.add(3.5, alpha=0.5),
    "sub": lambda L, x: L.sub(x, 3, alpha=2),
    "add_": lambda L, x: x.clone().add_(3, alpha=2),
    "rsub": lambda L, x: L.rsub(x, 3, alpha=2),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool", "complex128"])
@pytest.mark.parametrize("name", NUMBERS)
def test_alpha_times_a_number(name: str, dtype: str) -> None:
    found: list = []
    for lib in (tt, torch):
        try:
            y = NUMBERS[name](lib, lib.tensor([1, 0, 2]).to(getattr(lib, dtype)))
            found.append((str(y.dtype).split(".")[1], y.tolist()))
        except RuntimeError:
            found.append("refused")
    assert found[0] == found[1]


def test_they_warn() -> None:
    with pytest.warns(UserWarning, match="add: the form with a number first is deprecated") as seen:
        tt.ones(2).add_(2, tt.ones(2))
    assert seen[0].filename == __file__


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtypes", [("float64", "float32"), ("float32", "float64"),
                                    ("float16", "float32"), ("float32", "float16")])  # fmt: skip
def test_bce_with_logits_has_the_dtype_of_the_target(dtypes: tuple, reduction: str) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.random(6).astype(dtype) for dtype in dtypes)
    found = []
    for lib in (tt, torch):
        a = lib.tensor(x, requires_grad=True)
        loss = lib.nn.functional.binary_cross_entropy_with_logits(
            a, lib.tensor(y), reduction=reduction
        )
        loss.sum().backward()
        found.append((loss.detach().numpy(), a.grad.numpy()))
    for mine, other in zip(*found):
        assert mine.dtype == other.dtype
        near = 1e-6 if "float16" not in dtypes else 4e-3
        np.testing.assert_allclose(mine, other, rtol=near, atol=near)
    for bad in (lib.ones(6).long(), lib.ones(6).bool()):
        with pytest.raises(RuntimeError):
            lib.nn.functional.binary_cross_entropy_with_logits(a.detach(), bad)
    for bad in (tt.ones(6).long(), tt.ones(6).bool()):
        with pytest.raises(RuntimeError, match="^binary_cross_entropy_with_logits: got dtype"):
            tt.nn.functional.binary_cross_entropy_with_logits(tt.ones(6), bad)
