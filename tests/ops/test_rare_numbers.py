"""Rare inputs whose results or gradients were wrong, compared with PyTorch: ties, NaN, 0·∞."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")
NAN, INF = float("nan"), float("inf")

TIES = [0.0, 1, 2, 3, -1, -2, -3, -4, -5, -6, 4, 4, 5, NAN]
LOGITS = [[0.1, 0.7, -0.3], [1.0, -2.0, 0.5], [0.3, 0.2, 0.9]]


def mean_alone(lib: Any, values: list) -> Any:
    x = lib.tensor(values, requires_grad=True)
    lib.var_mean(x)[1].backward()
    return x.grad


def both_of_var_mean(lib: Any) -> Any:
    x = lib.tensor(LOGITS, requires_grad=True)
    y, m = lib.var_mean(x, 1)
    (first,) = lib.autograd.grad((y * m).sum(), x, create_graph=True)
    return lib.autograd.grad((first * first).sum(), x)[0]


def bytes_as_classes(lib: Any) -> Any:
    x = lib.tensor(LOGITS, requires_grad=True)
    target = lib.tensor([2, 1, 2], dtype=lib.uint8)
    loss = lib.nn.functional.cross_entropy(x, target)
    return lib.autograd.grad(loss, x, create_graph=True)[0]


def infinite_slope_of_an_ignored_row(lib: Any) -> Any:
    x = lib.tensor(LOGITS[:2], requires_grad=True)
    loss = lib.nn.functional.nll_loss(x, lib.tensor([0, -100]), reduction="none")
    loss.backward(lib.tensor([1.0, INF]))
    return x.grad


def out_by_keyword(lib: Any) -> Any:
    a, b, out = lib.zeros(2), lib.ones(2), lib.empty(2)
    return lib.lerp(input=a, end=b, weight=0.5, out=out)


def bools_into_rows(lib: Any) -> Any:
    index = (lib.arange(70) * 7 % 50)[:, None].expand(70, 4)
    source = (lib.arange(280).reshape(70, 4) % 3) == 0
    return lib.zeros(50, 4, dtype=lib.bool).scatter_add(0, index, source)


def bool_as_an_index(lib: Any, index: bool) -> Any:
    x = lib.zeros(3)
    x[index] = lib.tensor(5)
    return x


PROGRAMS: dict[str, Callable] = {
    "topk, tie and NaN": lambda lib: lib.topk(lib.tensor(TIES), 3).values,
    "topk, smallest": lambda lib: lib.topk(lib.tensor(TIES), 3, largest=False).values,
    "var_mean, mean of one": lambda lib: mean_alone(lib, [3.0]),
    "var_mean, mean of ∞": lambda lib: mean_alone(lib, [3.0, INF]),
    "var_mean, second derivative": both_of_var_mean,
    "cross_entropy, uint8": bytes_as_classes,
    "nll_loss, ∞ for an ignored row": infinite_slope_of_an_ignored_row,
    "lerp": out_by_keyword,
    "scatter_add of bools": bools_into_rows,
    "x[True]": lambda lib: bool_as_an_index(lib, True),
    "x[False]": lambda lib: bool_as_an_index(lib, False),
    "cond of nothing": lambda lib: lib.linalg.cond(lib.empty(2, 0, 0, dtype=lib.complex64)),
}


@pytest.mark.filterwarnings("ignore")  # PyTorch's, about variances of one element
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_pytorch(name: str) -> None:
    ours, theirs = PROGRAMS[name](tt), PROGRAMS[name](torch)
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-7, strict=True
    )


def test_index_fill_takes_int64_only() -> None:
    for lib in (tt, torch):
        with pytest.raises(IndexError):
            lib.ones(3).index_fill(0, lib.tensor([0], dtype=lib.int32), 2.0)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5)])
@pytest.mark.parametrize("use", ["U", "V", "UV"])
def test_second_derivative_of_complex_svd(shape: tuple, use: str) -> None:
    """A rule must be linear in the gradients of U and V: each may come alone."""
    r = np.random.default_rng(0)
    values = r.normal(size=shape) + 1j * r.normal(size=shape)
    weights = {k: r.normal(size=(n, 3)) for k, n in (("U", shape[0]), ("V", shape[1]))}

    def derivative(lib: Any) -> np.ndarray:
        x = lib.tensor(values).requires_grad_()
        U, _, Vh = lib.linalg.svd(x, full_matrices=False)
        parts = {"U": abs(U) ** 2, "V": abs(Vh.transpose(-2, -1)) ** 2}
        loss = sum((lib.tensor(weights[k]) * parts[k]).sum() for k in use)
        (g,) = lib.autograd.grad(loss, x, create_graph=True)
        return lib.autograd.grad((abs(g) ** 2).sum(), x)[0].numpy()

    np.testing.assert_allclose(derivative(tt), derivative(torch), rtol=1e-7, atol=1e-7)
