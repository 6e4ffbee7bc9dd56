"""LBFGS against PyTorch: the same losses at every call of the closure, the same state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

SETTINGS: list[dict[str, Any]] = [
    {},
    {"lr": 0.1},
    {"history_size": 2, "max_iter": 7},
    {"tolerance_grad": 1e-2},
    {"tolerance_change": 1e-2},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "lr": 10.0},
    {"line_search_fn": "strong_wolfe", "lr": 1e-3, "max_iter": 8},
    {"line_search_fn": "strong_wolfe", "max_eval": 3},
    {"line_search_fn": "strong_wolfe", "max_iter": 4, "history_size": 1},
    {"line_search_fn": "strong_wolfe", "max_iter": 3, "max_eval": 100},
    {"max_iter": 3, "max_eval": 100, "tolerance_change": 0},
]
pytestmark = pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")


class Problem:
    """Two parameters (and one without a gradient), a loss with curvature, an LBFGS."""

    def __init__(self, lib: Any, dtype: str, loss: str, settings: dict[str, Any]):
        rng = np.random.default_rng(0)
        kind = {"dtype": getattr(lib, dtype)}
        self.lib, self.loss, self.losses = lib, loss, []
        self.x, self.y = (lib.tensor(rng.normal(size=s), **kind) for s in ((20, 2), (20, 1)))
        self.w = lib.tensor(rng.normal(size=(2, 1)), **kind).requires_grad_()
        self.b = lib.tensor(rng.normal(size=()), **kind).requires_grad_()
        unused = lib.zeros(3, requires_grad=True, **kind)
        self.optimizer = lib.optim.LBFGS([self.w, unused, self.b], **settings)

    def closure(self) -> Any:
        self.optimizer.zero_grad()
        if self.loss == "fit":
            value = ((self.lib.tanh(self.x @ self.w + self.b) - self.y) ** 2).mean()
            value = value + (self.w**4).sum() * 0.1
        else:  # Rosenbrock's valley
            a, c = self.w[0, 0], self.w[1, 0]
            value = (1 - a) ** 2 + 100 * (c - a * a) ** 2 + self.b**2
        value.backward()
        self.losses.append(value.item())
        return value

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.optimizer.step(self.closure)


def flat(value: Any) -> list[float]:
    if value is None:
        return []
    values = value if isinstance(value, list) else [value]
    return [float(x) for v in values if v is not None for x in np.ravel(np.asarray(v))]


@pytest.mark.parametrize("loss", ["fit", "valley"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_losses_and_state_equal_pytorchs(settings: dict[str, Any], loss: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (Problem(lib, "float64", loss, settings) for lib in (tt, torch))
    for problem in (ours, theirs):
        problem.steps(3)
    assert len(ours.losses) == len(theirs.losses)
    np.testing.assert_allclose(ours.losses, theirs.losses, rtol=1e-6, atol=1e-10)
    found, expected = (p.optimizer.state_dict() for p in (ours, theirs))
    assert found["param_groups"] == expected["param_groups"]
    assert found["state"].keys() == expected["state"].keys() == {0}
    a, b = found["state"][0], expected["state"][0]
    assert a.keys() == b.keys()
    for key in b:
        assert len(flat(a[key])) == len(flat(b[key])), key
        if key not in ("al", "ro", "H_diag"):  # quotients of differences: only as good as those
            np.testing.assert_allclose(flat(a[key]), flat(b[key]), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("settings", [SETTINGS[0], SETTINGS[5]], ids=str)
def test_float32_stays_float32(settings: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (
        Problem(lib, "float32", "fit", {**settings, "max_iter": 5}) for lib in (tt, torch)
    )
    for problem in (ours, theirs):
        problem.steps(1)
    assert ours.w.dtype == ours.optimizer.state[ours.w]["d"].dtype == tt.float32
    np.testing.assert_allclose(ours.losses, theirs.losses, rtol=1e-3)


@pytest.mark.parametrize("settings", [SETTINGS[0], SETTINGS[5]], ids=str)
def test_a_saved_state_goes_on(settings: dict[str, Any]) -> None:
    settings = {**settings, "max_iter": 4}
    whole, half, rest = (Problem(tt, "float64", "valley", settings) for _ in range(3))
    whole.steps(4)
    half.steps(2)
    rest.w.data, rest.b.data = half.w.detach().clone(), half.b.detach().clone()
    rest.optimizer.load_state_dict(half.optimizer.state_dict())
    rest.steps(2)
    np.testing.assert_allclose(rest.w.detach().numpy(), whole.w.detach().numpy(), rtol=1e-12)


def test_a_state_that_pytorch_saved_is_loaded() -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (Problem(lib, "float64", "fit", {"max_iter": 3}) for lib in (tt, torch))
    theirs.steps(2)
    saved = theirs.optimizer.state_dict()
    here = torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: tt.tensor(t.numpy()), saved)
    ours.optimizer.load_state_dict(here)
    for name in ("w", "b"):
        getattr(ours, name).data = tt.tensor(getattr(theirs, name).detach().numpy())
    ours.steps(1)
    theirs.losses.clear()
    theirs.steps(1)
    np.testing.assert_allclose(ours.losses, theirs.losses, rtol=1e-9)


def test_it_reaches_the_minimum() -> None:
    problem = Problem(tt, "float64", "valley", {"line_search_fn": "strong_wolfe", "max_iter": 100})
    problem.steps(1)
    assert problem.losses[-1] < 1e-9
    np.testing.assert_allclose(problem.w.detach().numpy(), [[1], [1]], atol=1e-4)


def test_wrong_input() -> None:
    p, q = tt.ones(2, requires_grad=True), tt.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="LBFGS: got 2 groups of parameters, expected 1"):
        tt.optim.LBFGS([{"params": [p]}, {"params": [q]}])
    with pytest.raises(ValueError, match="LBFGS: got lr=-1"):
        tt.optim.LBFGS([p], lr=-1)
    optimizer = tt.optim.LBFGS([p], line_search_fn="armijo")
    with pytest.raises(RuntimeError, match="got line_search_fn='armijo', expected 'strong_wolfe'"):
        optimizer.step(lambda: p.sum())
    with pytest.raises(TypeError):
        optimizer.step()
