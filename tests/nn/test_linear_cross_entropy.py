"""linear_cross_entropy and its module, and Container, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

torch: Any = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
CASES: dict[str, dict] = {
    "classes": {"target": RNG.integers(0, 3, 4)},
    "probabilities": {"target": RNG.dirichlet(np.ones(3), 4)},
    "ignored": {"target": np.array([0, 1, 1, 2]), "ignore_index": 1, "reduction": "sum"},
    "several": {"target": RNG.integers(0, 3, (4, 2)), "out_features": (2,), "reduction": "none"},
    "weighted": {"target": RNG.integers(0, 3, 4), "weight": np.array([1.0, 2.0, 0.5])},
    "smooth": {"target": RNG.integers(0, 3, 4), "label_smoothing": 0.2},
}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES)
def test_the_module(case: str, dtype: str, bias: bool) -> None:
    options = dict(CASES[case])
    target, weight = options.pop("target"), options.pop("weight", None)
    x = RNG.normal(size=(4, 5)).astype(dtype)
    results: list[list] = []
    state: Any = None
    for lib in (torch, tt):
        kind = getattr(lib, dtype)
        given = None if weight is None else lib.tensor(weight, dtype=kind)
        loss = lib.nn.LinearCrossEntropyLoss(5, 3, bias=bias, weight=given, dtype=kind, **options)
        if lib is torch:
            state = {name: value.numpy() for name, value in loss.state_dict().items()}
        else:
            assert list(loss.state_dict()) == list(state)
            loss.load_state_dict({name: tt.tensor(value) for name, value in state.items()})
        goal = lib.tensor(target, dtype=kind if target.dtype.kind == "f" else lib.int64)
        input = lib.tensor(x, requires_grad=True)
        y = loss(input, goal)
        y.sum().backward()
        grads = [p.grad for p in loss.parameters()]
        results.append([v.detach().numpy() for v in (y, input.grad, *grads)])
    close = 1e-9 if dtype == "float64" else 1e-5
    for theirs, ours in zip(*results, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=close, atol=close)


def test_one_sample_and_its_text() -> None:
    loss = nn.LinearCrossEntropyLoss(5, 3, options=nn.LinearCrossEntropyOptions())
    assert loss(tt.ones(5), tt.tensor(1)).ndim == 0
    theirs = torch.nn.LinearCrossEntropyLoss(5, 3, bias=True)
    assert repr(nn.LinearCrossEntropyLoss(5, 3, bias=True)) == repr(theirs)


def test_refused() -> None:
    F: Any = nn.functional.linear_cross_entropy
    x, w, t = tt.ones(2, 5), tt.ones(3, 5), tt.tensor([0, 1])
    for call, message in [
        (lambda: F(tt.ones(1, 2, 5), w, t), "expected"),
        (lambda: F(x, tt.ones(5), t), "expected"),
        (lambda: F(x, tt.ones(3, 4), t), "D = 4"),
        (lambda: F(x, w, t, linear_bias=tt.ones(2)), "linear_bias"),
        (lambda: F(x, w, tt.ones(2, 3), ignore_index=1), "probabilities"),
        (lambda: nn.LinearCrossEntropyLoss(5, 3, weight=tt.ones(2)), "weight has shape"),
        (lambda: nn.LinearCrossEntropyLoss(5, 3, label_smoothing=2), "label_smoothing"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            call()


def test_container() -> None:
    with pytest.warns(FutureWarning, match="Container"):
        ours = nn.Container(a=nn.Linear(1, 2), b=nn.ReLU())
    with pytest.warns(FutureWarning):
        theirs = torch.nn.Container(a=torch.nn.Linear(1, 2), b=torch.nn.ReLU())
    assert repr(ours) == repr(theirs) and list(ours.state_dict()) == list(theirs.state_dict())
