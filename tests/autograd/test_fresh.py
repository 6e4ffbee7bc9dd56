"""Gradients that an op makes anew are added into in place; nobody else's array may change by it."""

from __future__ import annotations

import numpy as np
import pytest

import nn.functional as F
import tinytensor as tt
from tinytensor.autograd.op import Op


class Doubled(Op):
    """y = a + b;  da = 2·g, db = g"""

    fresh = True

    def forward(self, a, b):  # type: ignore[no-untyped-def]
        return a + b

    def backward(self, g):  # type: ignore[no-untyped-def]
        return g * 2, g


def test_g_itself_is_not_fresh() -> None:
    a, b = tt.ones(3, requires_grad=True), tt.ones(3, requires_grad=True)
    weight = tt.ones(3)
    y = Doubled.apply(a, b)
    (y + a + b).backward(weight)
    assert weight.tolist() == [1, 1, 1]  # it is the g of y, of a and of b as well
    assert a.grad.tolist() == [3, 3, 3] and b.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("size", [3, 200])
def test_gradients_of_leaves_are_their_own(size: int) -> None:
    """Also where a bias has the output's shape, and g passes through."""
    tt.manual_seed(0)
    x = tt.randn(size, size, requires_grad=True)
    w = tt.randn(size, size, requires_grad=True)
    b = tt.randn(size, size, requires_grad=True)
    y = F.linear(x, w, b)
    y.retain_grad()
    (y + b).sum().backward()
    kept = y.grad.numpy().copy()
    for leaf in (x, w, b):
        leaf.grad.add_(1)
    assert (y.grad.numpy() == kept).all()
    assert (b.grad == 3).all()


def test_a_sum_of_fresh_and_passed_gradients() -> None:
    """x + linear(x): what the skip passes on is g itself, what the product gives is new."""
    tt.manual_seed(0)
    x, w = tt.randn(4, 5, requires_grad=True), tt.randn(5, 5, requires_grad=True)
    h = x * 1
    y = h + F.linear(h, w)
    g = tt.randn(4, 5)
    before = g.numpy().copy()
    for _ in range(2):
        x.grad = None
        y.backward(g, retain_graph=True)
        expected = before + before @ w.detach().numpy()
        np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5)
    assert (g.numpy() == before).all()


def test_hooks_may_keep_what_they_get() -> None:
    x = tt.ones(2, 3, requires_grad=True)
    w = tt.ones(4, 3, requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g))
    F.linear(x, w).sum().backward()
    x.grad.add_(1)
    assert (seen[0] == 4).all() and (x.grad == 5).all()
