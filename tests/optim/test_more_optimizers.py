"""RMSprop, Adagrad and rarer optimisers against PyTorch; Lion and Muon against their equations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import devices, optim
from tinytensor.optim.muon import bfloat16, orthogonalized

from ..standin import fake_cupy as cp

CASES: list[tuple[str, dict[str, Any]]] = [
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.002, "alpha": 0.9, "eps": 1e-6}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9}),
    ("RMSprop", {"lr": 0.01, "centered": True}),
    ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.8, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.05}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.3, "eps": 1e-6}),
    ("Adagrad", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "eps": 1e-4, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.02, "betas": (0.8, 0.99), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adamax", {"maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.01, "betas": (0.8, 0.99), "momentum_decay": 0.1, "weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {}),
    ("RAdam", {"lr": 0.01, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.001, "etas": (0.3, 1.5), "step_sizes": (1e-4, 0.05), "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.1, "lambd": 0.01, "alpha": 0.5, "t0": 5, "weight_decay": 0.1}),
    ("ASGD", {"maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.01, "beta2_decay": -0.5, "eps": (1e-3, 0.1), "d": 1.5}),
    ("Adafactor", {"weight_decay": 0.1, "maximize": True}),
]
OURS: list[tuple[str, dict[str, Any]]] = [
    ("Lion", {"lr": 0.01}),
    ("Lion", {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.3}),
    ("Lion", {"lr": 0.01, "maximize": True}),
    ("Muon", {"lr": 0.02}),
    ("Muon", {"lr": 0.02, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}),
]


def start() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(3, 4)), rng.normal(size=4), rng.normal(size=(8, 3))


def loss_of(w: Any, b: Any, x: Any) -> Any:
    return (((x @ w + b).tanh() - 0.3) ** 2).mean()


def trajectory(lib: Any, name: str, settings: dict[str, Any], steps: int = 100,
               dtype: str = "float64", **place: Any) -> Any:  # fmt: skip
    """Every parameter after each of `steps` steps; the bias has settings of its own."""
    w, b, x = (lib.tensor(a, dtype=getattr(lib, dtype), **place) for a in start())
    w.requires_grad_()
    b.requires_grad_()
    groups = [{"params": [w]}, {"params": [b], "lr": 0.003}]
    optimizer = getattr(lib.optim, name)(groups, **settings)
    path = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(w, b, x).backward()
        optimizer.step()
        path.append(np.concatenate([p.detach().cpu().numpy().ravel() for p in (w, b)]))
    return np.stack(path)


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_trajectory_equals_pytorch(name: str, settings: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = trajectory(tt, name, settings), trajectory(torch, name, settings)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_float32_stays_float32(name: str, settings: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    ours = trajectory(tt, name, settings, 20, "float32")
    assert ours.dtype == np.float32
    theirs = trajectory(torch, name, settings, 20, "float32")
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [*dict(CASES), "Muon"])
def test_defaults_and_repr_equal_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours = getattr(optim, name)([tt.ones(2, 2)])
    theirs = getattr(torch.optim, name)([torch.ones(2, 2)])
    assert ours.defaults == theirs.defaults and repr(ours) == repr(theirs)


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_a_single_number_equals_pytorchs(name: str, settings: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        p = lib.tensor(1.5, dtype=lib.float64, requires_grad=True)
        steps_on(p, getattr(lib.optim, name)([p], **settings), 10)
        found.append(p.item())
    assert found[0] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_state_dict_has_the_keys_of_pytorchs(name: str, settings: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        p = lib.ones(2, requires_grad=True)
        optimizer = getattr(lib.optim, name)([p], **settings)
        steps_on(p, optimizer, 1)
        state = optimizer.state_dict()
        found.append((set(state["state"][0]), set(state["param_groups"][0])))
    assert found[0] == found[1]


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_state_equals_pytorchs(name: str, settings: dict[str, Any]) -> None:
    """Every number that is kept, also those that only a checkpoint ever shows."""
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        p = lib.tensor(start()[1], requires_grad=True)
        optimizer = getattr(lib.optim, name)([p], **settings)
        for step in range(4):
            p.grad = lib.tensor(start()[0][step % 3] + 0.1)
            optimizer.step()
        found.append(optimizer.state_dict()["state"][0])
    for key, theirs in found[1].items():
        assert (theirs is None) == (found[0][key] is None), key
        if theirs is not None:
            ours, theirs = np.asarray(found[0][key]), np.asarray(theirs)
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11, err_msg=key)


# ------------------------------------------------------------------------------------------
# Those that PyTorch does not have, or has in another precision
# ------------------------------------------------------------------------------------------


def gradients_of(w: np.ndarray, b: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By hand, so that the reference shares nothing with the library."""
    y = np.tanh(x @ w + b)
    g = 2 * (y - 0.3) / y.size * (1 - y * y)
    return x.T @ g, g.sum(axis=0)


@pytest.mark.parametrize("settings", [s for n, s in OURS if n == "Lion"], ids=str)
def test_lion_follows_the_paper(settings: dict[str, Any]) -> None:
    # Algorithm 2 of arXiv:2302.06675
    beta1, beta2 = settings.get("betas", (0.9, 0.99))
    decay, sign = settings.get("weight_decay", 0.0), -1 if settings.get("maximize") else 1
    *parameters, x = start()
    momenta = [np.zeros_like(p) for p in parameters]
    expected = []
    for _ in range(100):
        for i, gradient in enumerate(gradients_of(*parameters, x)):
            g = sign * gradient
            lr = (settings["lr"], 0.003)[i]
            c = beta1 * momenta[i] + (1 - beta1) * g
            parameters[i] = parameters[i] - lr * (np.sign(c) + decay * parameters[i])
            momenta[i] = beta2 * momenta[i] + (1 - beta2) * g
        expected.append(np.concatenate([p.ravel() for p in parameters]))
    ours = trajectory(tt, "Lion", settings)
    np.testing.assert_allclose(ours, np.stack(expected), rtol=1e-9, atol=1e-11)


COMMON: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {"maximize": True}),
]


@pytest.mark.parametrize("name, settings", CASES + OURS + COMMON, ids=str)
def test_a_step_leaves_gradients_and_takes_none_of_them(name: str, settings: dict) -> None:
    """`.grad` has the same numbers after a step, and writes into it do not reach the state."""
    steps = []
    for reuse in (True, False):
        rng = np.random.default_rng(3)
        w = tt.tensor(rng.normal(size=(3, 4)), requires_grad=True)
        optimizer = getattr(optim, name)([w], **settings)
        for _ in range(3):
            g = rng.normal(size=(3, 4))
            if reuse and w.grad is not None:
                w.grad.copy_(tt.tensor(g))
            else:
                w.grad = tt.tensor(g)
            optimizer.step()
            np.testing.assert_array_equal(w.grad.numpy(), g)
        steps.append(w.detach().numpy().copy())
    np.testing.assert_array_equal(*steps)


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (9, 2)])
@pytest.mark.parametrize("settings", [s for n, s in OURS if n == "Muon"], ids=str)
def test_muon_follows_its_equations(shape: tuple[int, int], settings: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    w = tt.tensor(rng.normal(size=shape), requires_grad=True)
    optimizer = optim.Muon([w], **settings)
    mean = np.zeros(shape)
    m, n = shape
    scale = max(1, m / n) ** 0.5
    if settings.get("adjust_lr_fn"):
        scale = 0.2 * max(m, n) ** 0.5
    for _ in range(30):
        g = rng.normal(size=shape)
        w.grad = tt.tensor(g)
        before = w.detach().numpy().copy()
        optimizer.step()
        mean = 0.95 * mean + 0.05 * g
        u = 0.05 * g + 0.95 * mean if settings.get("nesterov", True) else mean
        # The polynomial acts on the singular values alone.
        left, values, right = np.linalg.svd(u, full_matrices=False)
        values = values / np.sqrt((values**2).sum())
        for _ in range(5):
            values = 3.4445 * values - 4.775 * values**3 + 2.0315 * values**5
        expected = before * (1 - 0.02 * 0.1) - 0.02 * scale * (left * values) @ right
        # bfloat16 has 8 bits
        np.testing.assert_allclose(w.detach().numpy(), expected, rtol=0, atol=0.004 * scale)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(6, 5), (5, 10), (1, 1), (40, 70)], ids=str)
@pytest.mark.parametrize("settings", [s for n, s in OURS if n == "Muon"], ids=str)
def test_muon_equals_pytorchs_in_bfloat16(settings: dict, shape: tuple, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        rng = np.random.default_rng(2)
        w = lib.tensor(rng.normal(size=shape), dtype=getattr(lib, dtype)).requires_grad_()
        optimizer = lib.optim.Muon([w], **settings)
        for _ in range(5):
            w.grad = lib.tensor(rng.normal(size=shape), dtype=getattr(lib, dtype))
            optimizer.step()
        found.append(w.detach().numpy())
    # Sums of many products in another order now and then round to the neighbour in bfloat16.
    atol = 1e-7 if shape[0] < 40 else 1e-3
    np.testing.assert_allclose(*found, rtol=1e-6, atol=atol)


def test_rounding_to_bfloat16_is_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    bits = np.random.default_rng(0).integers(0, 2**32, 10_000, dtype=np.uint32)
    x = np.concatenate([bits.view(np.float32), np.float32([np.inf, -np.inf, np.nan, 0, 3e38])])
    np.testing.assert_array_equal(bfloat16(x), torch.tensor(x).bfloat16().float().numpy())


def test_orthogonalized_has_singular_values_near_one() -> None:
    matrix = np.random.default_rng(3).normal(size=(5, 8)).astype(np.float32)
    found = orthogonalized(matrix, (3.4445, -4.775, 2.0315), 5, 1e-7)
    values = np.linalg.svd(found, compute_uv=False)
    assert values.min() > 0.6 and values.max() < 1.3


# ------------------------------------------------------------------------------------------
# All of them
# ------------------------------------------------------------------------------------------


def steps_on(w: Any, optimizer: Any, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()


@pytest.mark.parametrize(("name", "settings"), CASES + OURS, ids=str)
def test_state_dict_goes_on_where_it_stopped(name: str, settings: dict[str, Any]) -> None:
    def make() -> tuple[Any, Any]:
        w = tt.tensor([[1.0, -2.0, 3.0]], requires_grad=True)
        return w, getattr(optim, name)([w], **settings)

    whole, optimizer = make()
    steps_on(whole, optimizer, 10)
    first, optimizer = make()
    steps_on(first, optimizer, 4)
    second, resumed = make()
    second.data = first.detach().clone()
    resumed.load_state_dict(optimizer.state_dict())
    steps_on(second, resumed, 6)
    np.testing.assert_array_equal(second.detach().numpy(), whole.detach().numpy())


@pytest.fixture
def cuda() -> Iterator[None]:
    devices.register(cp)
    yield
    devices.unregister(cp)


@pytest.mark.parametrize(("name", "settings"), [c for c in CASES + OURS if c[0] != "Muon"], ids=str)
def test_same_on_the_stand_in_for_cupy(name: str, settings: dict[str, Any], cuda: None) -> None:
    on_gpu = trajectory(tt, name, settings, 5, device="cuda")
    np.testing.assert_allclose(on_gpu, trajectory(tt, name, settings, 5), rtol=1e-12)


def test_muon_runs_on_the_stand_in_for_cupy(cuda: None) -> None:
    found = []
    for place in ("cpu", "cuda"):
        w = tt.tensor(start()[0], device=place, requires_grad=True)
        steps_on(w, optim.Muon([w]), 3)
        found.append(w.detach().cpu().numpy())
    np.testing.assert_allclose(*found, rtol=1e-12)


ERRORS: list[tuple[Any, type, str]] = [
    (lambda: optim.RMSprop([tt.ones(2)], lr=-1), ValueError, "RMSprop: got lr=-1"),
    (lambda: optim.RMSprop([tt.ones(2)], alpha=-1), ValueError, "RMSprop: got alpha=-1"),
    (lambda: optim.Adagrad([tt.ones(2)], lr_decay=-1), ValueError, "Adagrad: got lr_decay=-1"),
    (lambda: optim.Adadelta([tt.ones(2)], rho=2), ValueError, "Adadelta: got rho=2"),
    (lambda: optim.NAdam([tt.ones(2)], momentum_decay=-1), ValueError, "momentum_decay=-1"),
    (lambda: optim.RAdam([tt.ones(2)], betas=(2.0, 0.5)), ValueError, r"RAdam: got betas\[0\]=2"),
    (lambda: optim.Rprop([tt.ones(2)], etas=(0.5, 0.9)), ValueError, "Rprop: got etas"),
    (lambda: optim.Lion([tt.ones(2)], betas=(0.9, 1.0)), ValueError, r"betas\[1\]=1.0"),
    (lambda: optim.Adafactor([tt.ones(2)], d=0.5), ValueError, "Adafactor: got d=0.5"),
    (lambda: optim.Adafactor([tt.ones(2)], eps=(-1, 1)), ValueError, r"got eps\[0\]=-1"),
    (lambda: optim.Adafactor([tt.ones(2)], beta2_decay=1), ValueError, "got beta2_decay=1"),
    (lambda: optim.SparseAdam([tt.ones(2)], lr=0), ValueError, "SparseAdam: got lr=0"),
    (lambda: optim.SparseAdam([tt.ones(2)], eps=0), ValueError, "SparseAdam: got eps=0"),
    (lambda: optim.Muon([tt.ones(2)]), ValueError, r"shape \(2,\), expected matrices"),
    (lambda: optim.Muon([tt.ones(2, 2)], adjust_lr_fn="x"), ValueError, "adjust_lr_fn='x'"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_errors(call: Any, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        call()
