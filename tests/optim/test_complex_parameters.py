"""Optimisers on complex parameters: the steps, states and refusals of PyTorch."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")

RNG = np.random.default_rng(0)
START = RNG.standard_normal((3, 4)) + 1j * RNG.standard_normal((3, 4))
A = RNG.standard_normal((4, 2)) + 1j * RNG.standard_normal((4, 2))

CASES: list[tuple[str, dict]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True}),
    ("AdamW", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1}),
    ("Adamax", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.5}),
    ("Adadelta", {"lr": 0.5}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True}),
    ("Rprop", {"lr": 0.01}),
    ("ASGD", {"lr": 0.1}),
]


def run(library: Any, name: str, settings: dict, dtype: Any, reload: bool = False) -> list:
    w = library.tensor(START.astype(dtype), requires_grad=True)
    b = library.tensor(np.zeros(2, dtype).real, requires_grad=True)
    a = library.tensor(A.astype(dtype))
    optimizer = getattr(library.optim, name)([w, b], **settings)
    losses = []
    for i in range(6):
        if reload and i == 3:
            saved = copy.deepcopy(optimizer.state_dict())
            optimizer = getattr(library.optim, name)([w, b], **settings)
            optimizer.load_state_dict(saved)
        optimizer.zero_grad()
        loss = ((w @ a) + b - (1 + 2j)).abs().square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    state = {
        key: value.detach().numpy()
        for key, value in optimizer.state[w].items()
        if hasattr(value, "is_complex") and value.is_complex()
    }
    return [losses, w.detach().numpy(), b.detach().numpy(), state]


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_same_as_pytorch(name: str, settings: dict, dtype: Any) -> None:
    rtol = 1e-9 if dtype is np.complex128 else 2e-4
    theirs = run(torch, name, settings, dtype)
    for reload in (False, True):
        ours = run(tt, name, settings, dtype, reload)
        for a, b in zip(ours[:3], theirs[:3], strict=True):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
        assert ours[1].dtype == dtype
        assert ours[3].keys() == theirs[3].keys()
        for key, value in ours[3].items():
            assert value.dtype == dtype and value.shape == START.shape
            np.testing.assert_allclose(value, theirs[3][key], rtol=rtol, atol=rtol)


def test_a_parameter_that_is_not_contiguous() -> None:
    results = []
    for transposed in (False, True):
        w = tt.tensor(START.T.copy()).T if transposed else tt.tensor(START)
        w.requires_grad_()
        optimizer = tt.optim.Adam([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (w @ tt.tensor(A)).abs().sum().backward()
            optimizer.step()
        results.append(w.detach().numpy())
    np.testing.assert_allclose(*results)


def test_refused() -> None:
    w = tt.zeros(2, 2, dtype=tt.complex64, requires_grad=True)
    for name in ("Adafactor", "Muon", "LBFGS", "SparseAdam"):
        with pytest.raises(RuntimeError, match=f"{name}: got a complex parameter"):
            getattr(tt.optim, name)([w])
    with pytest.raises(RuntimeError, match="expected real ones with differentiable=True"):
        tt.optim.Adam([w], differentiable=True)


def test_clipping() -> None:
    norms = []
    for library in (tt, torch):
        w = library.tensor(START, requires_grad=True)
        (w * w).abs().sum().backward()
        total = library.nn.utils.clip_grad_norm_([w], 1.0)
        norms.append([total.item(), w.grad.resolve_conj().numpy()])
    np.testing.assert_allclose(norms[0][0], norms[1][0])
    np.testing.assert_allclose(norms[0][1], norms[1][1])


def test_modules_keep_complex_parameters() -> None:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(tt.zeros(2, dtype=tt.cfloat))
            self.b = nn.Parameter(tt.zeros(2))
            self.register_buffer("count", tt.tensor(0))

    layer = Layer()
    assert layer.double().w.dtype == tt.complex64 and layer.b.dtype == tt.float64
    assert layer.to(tt.float32).w.dtype == tt.complex64
    layer.to(tt.complex128)
    assert layer.w.dtype == tt.complex128 == layer.b.dtype and layer.count.dtype == tt.int64
    assert "w" in layer.state_dict() and layer.w.requires_grad
    Layer().to(tt.complex64).load_state_dict(layer.state_dict())
