"""optim.swa_utils against PyTorch: averages, learning rates, batch norm statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinytensor.optim.swa_utils import (
    SWALR,
    AveragedModel,
    get_ema_avg_fn,
    get_ema_multi_avg_fn,
    get_swa_avg_fn,
    update_bn,
)

import tinytensor as tt

RANDOM = np.random.default_rng(0)
INPUTS = RANDOM.normal(size=(6, 5, 4))


def net(library: Any, dtype: str) -> Any:
    nn = library.nn
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2))
    return model.to(getattr(library, dtype))


def pair(dtype: str) -> tuple[Any, Any, Any]:
    """(PyTorch, its model, ours with the same weights)."""
    torch = pytest.importorskip("torch")
    theirs, ours = net(torch, dtype), net(tt, dtype)
    copied = {key: tt.tensor(value.numpy()) for key, value in theirs.state_dict().items()}
    ours.load_state_dict(copied)
    return torch, theirs, ours


def same(ours: Any, theirs: Any, dtype: str) -> None:
    expected = theirs.state_dict()
    got = ours.state_dict()
    assert list(got) == list(expected)
    tolerance = 1e-6 if dtype == "float32" else 1e-12
    for key, value in expected.items():
        assert str(got[key].dtype).rpartition(".")[2] == str(value.dtype).rpartition(".")[2], key
        np.testing.assert_allclose(
            got[key].numpy(), value.numpy(), rtol=tolerance, atol=tolerance, err_msg=key
        )


def own_average(average: Any, new: Any, n: Any) -> Any:
    return 0.25 * average + 0.75 * new + 0.0 * n


# name: (arguments of AveragedModel as a function of a library's swa_utils)
CASES: dict[str, Callable[[Any], dict]] = {
    "equally weighted": lambda u: {},
    "equally weighted, buffers": lambda u: {"use_buffers": True},
    "swa avg_fn": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "swa avg_fn, buffers": lambda u: {"avg_fn": u.get_swa_avg_fn(), "use_buffers": True},
    "ema avg_fn": lambda u: {"avg_fn": u.get_ema_avg_fn(0.9)},
    "ema avg_fn, buffers": lambda u: {"avg_fn": u.get_ema_avg_fn(0.3), "use_buffers": True},
    "ema": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.9)},
    "ema, fast": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.2)},
    "ema by default": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn()},
    "ema, buffers": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.8), "use_buffers": True},
    "swa multi": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "own": lambda u: {"avg_fn": own_average},
    "on a device": lambda u: {"device": "cpu"},
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_averaged_model(name: str, dtype: str) -> None:
    torch, theirs, ours = pair(dtype)
    their_average = torch.optim.swa_utils.AveragedModel(
        theirs, **CASES[name](torch.optim.swa_utils)
    )
    our_average = AveragedModel(ours, **CASES[name](tt.optim.swa_utils))
    same(our_average, their_average, dtype)
    for library, model, average in ((torch, theirs, their_average), (tt, ours, our_average)):
        optimizer = library.optim.SGD(model.parameters(), lr=0.1)
        for i in range(6):
            optimizer.zero_grad()
            x = library.tensor(INPUTS[i], dtype=getattr(library, dtype))
            model(x).square().mean().backward()
            optimizer.step()
            average.update_parameters(model)
    same(our_average, their_average, dtype)
    assert int(our_average.n_averaged) == 6
    x = tt.tensor(INPUTS[0], dtype=getattr(tt, dtype))
    expected = their_average.eval()(torch.tensor(INPUTS[0], dtype=getattr(torch, dtype)))
    np.testing.assert_allclose(
        our_average.eval()(x).detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6
    )
    again = AveragedModel(ours, **CASES[name](tt.optim.swa_utils))
    again.load_state_dict(our_average.state_dict())
    same(again, their_average, dtype)


def test_integers_are_refused_by_the_average_over_lists() -> None:
    torch, theirs, ours = pair("float32")
    for library, model in ((torch, theirs), (tt, ours)):
        multi_avg_fn = library.optim.swa_utils.get_swa_multi_avg_fn()
        average = library.optim.swa_utils.AveragedModel(
            model, multi_avg_fn=multi_avg_fn, use_buffers=True
        )
        average.update_parameters(model)
        with pytest.raises(RuntimeError):
            average.update_parameters(model)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["tensors", "tuples", "on a device", "none"])
def test_update_bn(kind: str, dtype: str) -> None:
    torch, theirs, ours = pair(dtype)
    for library, model in ((torch, theirs), (tt, ours)):
        batches = [library.tensor(x, dtype=getattr(library, dtype)) for x in INPUTS]
        loader: Any = [(x, 0) for x in batches] if kind == "tuples" else batches
        model.eval()
        library.optim.swa_utils.update_bn(
            loader if kind != "none" else [], model, "cpu" if kind == "on a device" else None
        )
        assert not model.training and model[1].momentum == 0.1
        assert not model[0].weight.grad
    same(ours, theirs, dtype)
    plain = tt.nn.Linear(4, 2)
    update_bn([None], plain)  # without a batch norm the loader is not read


SCHEDULES: dict[str, dict] = {
    "cos": {"swa_lr": 0.05},
    "linear": {"swa_lr": 0.05, "anneal_strategy": "linear", "anneal_epochs": 7},
    "up": {"swa_lr": 0.9, "anneal_epochs": 3},
    "one for each": {"swa_lr": [0.01, 0.2], "anneal_epochs": 5},
    "at once": {"swa_lr": 0.3, "anneal_epochs": 0},
    "one step": {"swa_lr": 0.3, "anneal_epochs": 1},
}


def optimizer_of(library: Any) -> Any:
    groups = [{"params": [library.ones(2, requires_grad=True)], "lr": lr} for lr in (0.1, 0.5)]
    optimizer = library.optim.SGD(groups, lr=1.0)
    optimizer.step()
    return optimizer


@pytest.mark.filterwarnings("ignore:Detected call of .lr_scheduler.step:UserWarning")
@pytest.mark.parametrize("name", SCHEDULES)
def test_swalr(name: str) -> None:
    torch = pytest.importorskip("torch")
    rates: list = []
    for library in (torch, tt):
        optimizer = optimizer_of(library)
        before = library.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        for _ in range(3):
            before.step()
        scheduler = library.optim.swa_utils.SWALR(optimizer, **SCHEDULES[name])
        rates.append([scheduler.get_last_lr()])
        for _ in range(14):
            scheduler.step()
            rates[-1].append(scheduler.get_last_lr())
    np.testing.assert_allclose(rates[1], rates[0], rtol=1e-12)


def test_swalr_resumes() -> None:
    whole, part = (SWALR(optimizer_of(tt), 0.05) for _ in range(2))
    for _ in range(4):
        whole.step(), part.step()
    optimizer = optimizer_of(tt)
    resumed = SWALR(optimizer, 0.05)
    optimizer.load_state_dict(part.optimizer.state_dict())
    resumed.load_state_dict(part.state_dict())
    for _ in range(9):
        whole.step(), resumed.step()
        assert whole.get_last_lr() == resumed.get_last_lr()


ERRORS: dict[str, tuple[Callable, type, str]] = {
    "two functions": (
        lambda: AveragedModel(
            tt.nn.Linear(1, 1), avg_fn=get_swa_avg_fn(), multi_avg_fn=get_ema_multi_avg_fn()
        ),
        AssertionError,
        "AveragedModel: got avg_fn and multi_avg_fn",
    ),
    "decay": (lambda: get_ema_avg_fn(1.5), ValueError, "get_ema_avg_fn: got decay=1.5"),
    "multi decay": (
        lambda: get_ema_multi_avg_fn(-1),
        ValueError,
        "get_ema_multi_avg_fn: got decay=-1",
    ),
    "strategy": (
        lambda: SWALR(optimizer_of(tt), 0.1, anneal_strategy="square"),
        ValueError,
        "SWALR: got anneal_strategy='square', expected 'cos' or 'linear'",
    ),
    "epochs": (lambda: SWALR(optimizer_of(tt), 0.1, -1), ValueError, "SWALR: got anneal_epochs=-1"),
    "rates": (lambda: SWALR(optimizer_of(tt), [0.1]), ValueError, "SWALR: got 1 values"),
    "optimizer": (lambda: SWALR(None, 0.1), TypeError, "SWALR: got NoneType, expected an Opt"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        call()
