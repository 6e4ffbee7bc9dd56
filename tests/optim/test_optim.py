"""Optimisers walk PyTorch's trajectories, and keep their state through a state_dict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import optim

CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.05, "momentum": 0.8, "dampening": 0.3}),
    ("SGD", {"lr": 0.01, "maximize": True}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "amsgrad": True}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.2, "maximize": True}),
]


def trajectory(lib: Any, name: str, settings: dict[str, Any], steps: int = 100) -> Any:
    rng = np.random.default_rng(0)
    w = lib.tensor(rng.normal(size=(3, 4)), requires_grad=True)
    b = lib.tensor(rng.normal(size=4), requires_grad=True)
    x = lib.tensor(rng.normal(size=(8, 3)))
    optimizer = getattr(lib.optim, name)([w, b], **settings)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (((x @ w + b).tanh() - 0.3) ** 2).mean()
        loss.backward()
        optimizer.step()
    return w, b


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_trajectory_equals_pytorch(name: str, settings: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    for ours, theirs in zip(trajectory(tt, name, settings), trajectory(torch, name, settings)):
        expected = theirs.detach().numpy()
        np.testing.assert_allclose(ours.detach().numpy(), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_state_dict_goes_on_where_it_stopped(name: str, settings: dict[str, Any]) -> None:
    def make() -> tuple[Any, Any]:
        w = tt.tensor([1.0, -2.0, 3.0], requires_grad=True)
        return w, getattr(optim, name)([w], **settings)

    def train(w: Any, optimizer: Any, steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()

    whole, optimizer = make()
    train(whole, optimizer, 10)
    first, optimizer = make()
    train(first, optimizer, 4)
    second, resumed = make()
    second.data = first.detach().clone()
    resumed.load_state_dict(optimizer.state_dict())
    train(second, resumed, 6)
    np.testing.assert_array_equal(second.detach().numpy(), whole.detach().numpy())


ERRORS = [
    (lambda: optim.SGD([], lr=0.1), ValueError, "SGD: got an empty list"),
    (lambda: optim.SGD(tt.ones(2), lr=0.1), TypeError, "single Tensor.*put it in a list"),
    (lambda: optim.Adam([1.0]), TypeError, "parameter of type float"),
    (lambda: optim.Adam([tt.ones(2)], lr=-1), ValueError, "lr=-1, expected a number >= 0"),
    (lambda: optim.Adam([tt.ones(2)], betas=(1.0, 0.9)), ValueError, r"betas\[0\]=1.0"),
    (lambda: optim.SGD([tt.ones(2)], nesterov=True), ValueError, "needs a momentum"),
    (lambda: optim.SGD([tt.ones(2, requires_grad=True) * 2]), ValueError, "non-leaf"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_errors(call: Any, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        call()
