"""What every optimiser shares: groups, state, gradients set to zero, optimisers of one's own."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import optim

# Each runs with either library, and gives equal numbers.
CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("AdamW", {"lr": 0.1, "amsgrad": True, "maximize": True}),
]


def parameter(lib: Any, shape: tuple = (2,), dtype: str = "float32") -> Any:
    return lib.ones(shape, dtype=getattr(lib, dtype)).requires_grad_()


def train(p: Any, optimizer: Any, steps: int = 4) -> Any:
    for _ in range(steps):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
    return p


def trained(lib: Any, name: str, settings: dict, **options: Any) -> tuple[Any, Any]:
    p = parameter(lib, **options)
    optimizer = getattr(lib.optim, name)([p], **settings)
    return train(p, optimizer), optimizer


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)], ids=str)
@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_every_shape(name: str, settings: dict, shape: tuple) -> None:
    """A 0-d parameter too, of which NumPy makes scalars that cannot be written to."""
    torch = pytest.importorskip("torch")
    found, expected = (trained(lib, name, settings, shape=shape)[0] for lib in (tt, torch))
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize(("name", "settings"), CASES[:4], ids=str)
def test_dtypes_are_kept(name: str, settings: dict, dtype: str) -> None:
    p, optimizer = trained(tt, name, {**settings, "lr": tt.tensor(0.1), "eps": 1e-4}
                           if name == "Adam" else settings, dtype=dtype)  # fmt: skip
    assert p.dtype.name == dtype and bool(p.isfinite().all())
    for values in optimizer.state_dict()["state"].values():
        assert all(v.dtype == p.dtype for k, v in values.items() if k != "step")


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_state_dict_has_pytorch_s_layout(name: str, settings: dict) -> None:
    torch = pytest.importorskip("torch")
    found, expected = (trained(lib, name, settings)[1].state_dict() for lib in (tt, torch))
    assert found["param_groups"] == expected["param_groups"]
    assert found["state"].keys() == expected["state"].keys()
    for number, values in expected["state"].items():
        ours = found["state"][number]
        assert ours.keys() == values.keys()
        for key, value in values.items():
            np.testing.assert_allclose(ours[key], value, rtol=1e-5)


def test_a_step_in_a_tensor_is_loaded() -> None:
    """As PyTorch's state dicts have it."""
    p, optimizer = trained(tt, "Adam", {"lr": 0.1})
    state = optimizer.state_dict()
    state["state"][0]["step"] = tt.tensor(4.0)
    again = optim.Adam([q := p.detach().clone().requires_grad_()], lr=0.1)
    again.load_state_dict(state)
    np.testing.assert_array_equal(
        train(q, again).detach().numpy(), train(p, optimizer).detach().numpy()
    )


def test_loaded_state_takes_the_parameter_s_dtype_and_is_a_copy() -> None:
    _, optimizer = trained(tt, "Adam", {"lr": 0.1})
    p = parameter(tt, dtype="float64")
    other = optim.Adam([p])
    other.load_state_dict(optimizer.state_dict())
    train(p, other)
    state = other.state_dict()["state"][0]
    assert state["exp_avg"].dtype == tt.float64
    assert other.param_groups[0]["lr"] == 0.1
    assert optimizer.state_dict()["state"][0]["step"] == 4


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies_go_their_own_way(copied: Callable) -> None:
    p, optimizer = trained(tt, "Adam", {"lr": 0.1})
    twin = copied(optimizer)
    (q,) = twin.param_groups[0]["params"]
    assert q is not p
    np.testing.assert_array_equal(
        train(q, twin).detach().numpy(), train(p, optimizer).detach().numpy()
    )


def test_zero_grad_keeps_the_tensor_if_asked() -> None:
    p = parameter(tt)
    optimizer = optim.SGD([p], lr=0.1)
    (p * 3).sum().backward()
    gradient = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is gradient and gradient.tolist() == [0, 0]
    with pytest.warns(UserWarning, match="reference cycle"):
        (p * p).sum().backward(create_graph=True)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is not None and not p.grad.requires_grad and p.grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert p.grad is None
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is None
    p.grad = tt.ones(4)[1:3]
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0, 0]


def test_groups() -> None:
    a, b, c = (parameter(tt) for _ in range(3))
    optimizer = optim.SGD(iter([{"params": a}, {"params": (x for x in [b]), "lr": 1.0}]), lr=0.1)
    optimizer.add_param_group({"params": c, "lr": 2.0})
    (a + b + c).sum().backward()
    optimizer.step()
    assert [p[0].item() for p in (a, b, c)] == pytest.approx([0.9, 0.0, -1.0])
    with pytest.raises(ValueError, match="is in two groups"):
        optimizer.add_param_group({"params": [a]})
    with pytest.warns(UserWarning, match="SGD: a group has the same parameter more than once"):
        optim.SGD([a, a], lr=0.1)


class Momentum(optim.Optimizer):
    """As users write them for PyTorch: a step of its own, with tensors in its state."""

    def __init__(self, params: Any, lr: float = 0.1):
        super().__init__(params, {"lr": lr})

    @tt.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None or p.grad.is_sparse:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["buffer"] = tt.zeros_like(p, memory_format=tt.preserve_format)
                state["buffer"].mul_(0.9).add_(p.grad)
                p.add_(state["buffer"], alpha=-group["lr"])


def test_an_optimiser_of_one_s_own() -> None:
    p, q = parameter(tt), parameter(tt)
    whole, first = Momentum([p]), Momentum([q])
    train(p, whole, 6)
    train(q, first, 3)
    second = Momentum([q])
    second.load_state_dict(first.state_dict())
    train(q, second, 3)
    np.testing.assert_array_equal(q.detach().numpy(), p.detach().numpy())
    assert isinstance(second.state[q]["buffer"], tt.Tensor)


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_overflow_is_inf_without_a_warning(name: str, settings: dict) -> None:
    p = parameter(tt, dtype="float16")
    optimizer = getattr(optim, name)([p], **{**settings, "lr": 1e6})
    (p * 300).sum().backward()
    optimizer.step()
    optimizer.step()
    assert not bool(p.isfinite().any())
