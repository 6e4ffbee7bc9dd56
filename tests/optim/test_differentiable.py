"""differentiable=True: gradients through the steps of an optimiser, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True}),
    ("AdamW", {"lr": 0.1, "maximize": True}),
    ("RMSprop", {"lr": 0.1, "centered": True, "momentum": 0.5}),
    ("Adadelta", {"weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.3}),
    ("Adamax", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1, "betas": (0.8, 0.9)}),
    ("Rprop", {"lr": 0.1}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1}),
]


@pytest.fixture(autouse=True)
def counts_in_float64() -> Any:
    """PyTorch counts steps, and computes with the count, in the default dtype."""
    libraries = (tt, pytest.importorskip("torch"))
    for lib in libraries:
        lib.set_default_dtype(lib.float64)
    yield
    for lib in libraries:
        lib.set_default_dtype(lib.float32)


def unrolled(lib: Any, name: str, settings: dict[str, Any], steps: int = 3) -> list[np.ndarray]:
    """The parameter after some steps, and the gradients of its square sum: start and targets."""
    rng = np.random.default_rng(0)
    start, target = (lib.tensor(rng.normal(size=5)).requires_grad_() for _ in range(2))
    p = start.clone()
    optimizer = getattr(lib.optim, name)([p], differentiable=True, **settings)
    for i in range(steps):
        (p.grad,) = lib.autograd.grad(((p - target * (i + 1)) ** 4).sum(), p, create_graph=True)
        optimizer.step()
    (p**2).sum().backward()
    return [x.detach().numpy() for x in (p, start.grad, target.grad)]


@pytest.mark.parametrize(("name", "settings"), CASES, ids=[name for name, _ in CASES])
def test_gradients_through_steps_equal_pytorchs(name: str, settings: dict[str, Any]) -> None:
    import torch

    steps = 1 if name == "Rprop" else 3  # PyTorch changes its state in place: no second step
    found = unrolled(tt, name, settings, steps)
    try:
        expected = unrolled(torch, name, settings, steps)
    except RuntimeError as error:
        assert "inplace operation" in str(error)
        found, expected = (unrolled(lib, name, settings, 1) for lib in (tt, torch))
    for mine, other in zip(found, expected):
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("key", ["lr", "weight_decay", "betas"])
def test_gradients_of_settings_equal_pytorchs(name: str, key: str) -> None:
    if (name, key) == ("SGD", "betas"):
        pytest.skip("SGD has no betas")
    found = []
    for lib in (tt, pytest.importorskip("torch")):
        values = (0.7, 0.9) if key == "betas" else (0.1,)
        tensors = [lib.tensor(v, requires_grad=True) for v in values]
        settings: dict[str, Any] = {
            "lr": 0.1,
            key: tuple(tensors) if key == "betas" else tensors[0],
        }
        p = lib.tensor([1.0, -2.0, 3.0], requires_grad=True).clone()
        optimizer = getattr(lib.optim, name)([p], differentiable=True, **settings)
        for _ in range(2):
            (p.grad,) = lib.autograd.grad((p.clone() ** 4).sum(), p, create_graph=True)
            optimizer.step()
        (p**2).sum().backward()
        found.append([p.detach().numpy(), *(t.grad.numpy() for t in tensors)])
    for mine, other in zip(*found):
        np.testing.assert_allclose(mine, other, rtol=1e-8)


def test_state_is_part_of_the_graph() -> None:
    p = tt.ones(3, requires_grad=True)
    q = p * 2
    optimizer = tt.optim.Adam([q], differentiable=True)
    q.grad = q * 3
    optimizer.step()
    state = optimizer.state[q]
    assert q.requires_grad and state["exp_avg"].requires_grad and state["step"].item() == 1


def test_a_leaf_that_requires_grad_is_refused() -> None:
    p = tt.ones(3, requires_grad=True)
    optimizer = tt.optim.SGD([p], differentiable=True)
    p.grad = tt.ones(3)
    with pytest.raises(RuntimeError, match="leaf"):
        optimizer.step()
    assert p.tolist() == [1, 1, 1]
