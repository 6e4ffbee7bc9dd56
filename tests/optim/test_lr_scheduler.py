"""Learning rates against PyTorch's, step by step, and schedules that go on where they stopped."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import optim
from tinytensor.optim import lr_scheduler

Make = Callable[[Any, Any], Any]  # (lr_scheduler of a library, optimizer) → scheduler

STEPS = 120

# PyTorch says so when a ChainedScheduler inside a SequentialLR takes its first step.
pytestmark = pytest.mark.filterwarnings("ignore:Detected call of .lr_scheduler.step:UserWarning")


class Halving:
    """A callable with state, which is saved."""

    def __init__(self, every: int):
        self.every = every

    def __call__(self, epoch: int) -> float:
        return 0.5 ** (epoch // self.every)


CASES: dict[str, Make] = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda e: 0.95**e),
    "LambdaLR, one each": lambda s, o: s.LambdaLR(o, [lambda e: 1 / (1 + e), Halving(7)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9 + 0.1 * (e % 2)),
    "StepLR": lambda s, o: s.StepLR(o, 30),
    "StepLR, gamma": lambda s, o: s.StepLR(o, step_size=7, gamma=0.7),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [10, 40, 40, 90], gamma=0.3),
    "ConstantLR": lambda s, o: s.ConstantLR(o),
    "ConstantLR, long": lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=60),
    "LinearLR": lambda s, o: s.LinearLR(o),
    "LinearLR, down": lambda s, o: s.LinearLR(o, 1.0, 0.05, total_iters=80),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.97),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, total_iters=100, power=1.7),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 100),
    "CosineAnnealingLR, several": lambda s, o: s.CosineAnnealingLR(o, T_max=13, eta_min=0.002),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 9),
    "CosineAnnealingWarmRestarts, longer": lambda s, o: s.CosineAnnealingWarmRestarts(
        o, 7, T_mult=2, eta_min=0.003
    ),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, max_lr=0.5, total_steps=STEPS),
    "OneCycleLR, linear": lambda s, o: s.OneCycleLR(
        o,
        max_lr=[0.5, 0.1],
        epochs=10,
        steps_per_epoch=12,
        anneal_strategy="linear",
        pct_start=0.4,
        div_factor=10.0,
        final_div_factor=100.0,
    ),
    "OneCycleLR, three phases": lambda s, o: s.OneCycleLR(
        o,
        max_lr=0.5,
        total_steps=STEPS,
        three_phase=True,
        base_momentum=[0.7, 0.8],
        max_momentum=0.99,
    ),
    "OneCycleLR, momentum as it is": lambda s, o: s.OneCycleLR(
        o, max_lr=0.5, total_steps=STEPS, cycle_momentum=False
    ),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=11),
    "CyclicLR, halving": lambda s, o: s.CyclicLR(
        o, [0.01, 0.02], 0.1, step_size_up=7, step_size_down=5, mode="triangular2"
    ),
    "CyclicLR, exponential": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, step_size_up=9, mode="exp_range", gamma=0.99, cycle_momentum=False
    ),
    "CyclicLR, own": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=9, scale_fn=Halving(2)),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o,
        [s.LinearLR(o, 0.1, total_iters=20), s.CosineAnnealingLR(o, 80), s.ConstantLR(o, 0.1)],
        [20, 100],
    ),
    "SequentialLR, factors": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, total_iters=9), s.ExponentialLR(o, 0.9), s.StepLR(o, 5)], [9, 50]
    ),
    "SequentialLR, restarts": lambda s, o: s.SequentialLR(
        o, [s.LambdaLR(o, lambda e: (e + 1) / 10), s.CosineAnnealingWarmRestarts(o, 10)], [10]
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.1, total_iters=10), s.ExponentialLR(o, 0.98), s.StepLR(o, 25)]
    ),
    "SequentialLR of chains": lambda s, o: s.SequentialLR(
        o, [s.ChainedScheduler([s.LinearLR(o), s.ExponentialLR(o, 0.9)]), s.StepLR(o, 10)], [200]
    ),
}

OURS: dict[str, Make] = {
    "WarmupCosineLR": lambda s, o: s.WarmupCosineLR(o, 10, 100, min_lr=0.001),
    "TransformerLR": lambda s, o: s.TransformerLR(o, 512, warmup_steps=40),
}

each = pytest.mark.parametrize("make", CASES.values(), ids=list(CASES))
each_of_all = pytest.mark.parametrize("make", (CASES | OURS).values(), ids=list(CASES | OURS))


def optimizer_of(lib: Any, name: str = "SGD") -> Any:
    groups = [{"params": [lib.ones(2)]}, {"params": [lib.ones(3)], "lr": 0.02}]
    settings = {"momentum": 0.9} if name == "SGD" else {}
    return getattr(lib.optim, name)(groups, lr=0.1, **settings)


def settings_of(optimizer: Any) -> list[float]:
    """Learning rate and momentum of each group."""
    return [
        value
        for group in optimizer.param_groups
        for value in (float(group["lr"]), group["betas"][0] if "betas" in group
                      else group["momentum"])
    ]  # fmt: skip


def run(optimizer: Any, scheduler: Any, steps: int) -> list[list[float]]:
    """The settings before the first step and after each."""
    found = [settings_of(optimizer)]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        assert scheduler.get_last_lr() == [group["lr"] for group in optimizer.param_groups]
        found.append(settings_of(optimizer))
    return found


def same(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
@each
def test_rates_equal_pytorchs(make: Make, name: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        optimizer = optimizer_of(lib, name)
        found.append(run(optimizer, make(lib.optim.lr_scheduler, optimizer), STEPS))
    same(*found)
    assert len({tuple(row) for row in found[0]}) > 1, "the rates never changed"


@each
def test_last_epoch_and_base_lrs_equal_pytorchs(make: Make) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        optimizer = optimizer_of(lib)
        scheduler = make(lib.optim.lr_scheduler, optimizer)
        run(optimizer, scheduler, 7)
        rates = getattr(scheduler, "base_lrs", [])
        found.append([getattr(scheduler, "last_epoch", 0), *rates])
    same(*found)


CHAINED = [
    ("ExponentialLR", "StepLR, gamma"), ("CosineAnnealingLR, several", "ExponentialLR"),
    ("LinearLR", "MultiStepLR"), ("ConstantLR", "MultiplicativeLR"),
    ("LinearLR, down", "CosineAnnealingLR"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), CHAINED)
def test_two_on_one_optimiser_equal_pytorchs(first: str, second: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        optimizer = optimizer_of(lib)
        a = CASES[first](lib.optim.lr_scheduler, optimizer)
        b = CASES[second](lib.optim.lr_scheduler, optimizer)
        rows = []
        for _ in range(STEPS):
            optimizer.step()
            a.step()
            b.step()
            rows.append([*a.get_last_lr(), *settings_of(optimizer)])
        found.append(rows)
    same(*found)


# ------------------------------------------------------------------------------------------
# Resumed
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [0, 1, 9, 10, 57])
@each_of_all
def test_state_dict_goes_on_where_it_stopped(make: Make, stop: int) -> None:
    optimizer = optimizer_of(tt)
    whole = run(optimizer, make(lr_scheduler, optimizer), STEPS)
    optimizer = optimizer_of(tt)
    scheduler = make(lr_scheduler, optimizer)
    first = run(optimizer, scheduler, stop)
    saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
    optimizer = optimizer_of(tt)
    scheduler = make(lr_scheduler, optimizer)
    optimizer.load_state_dict(saved[0])
    scheduler.load_state_dict(saved[1])
    assert first[:-1] + run(optimizer, scheduler, STEPS - stop) == whole


@each
def test_state_dict_is_plain_data(make: Make) -> None:
    def check(value: Any) -> None:
        if isinstance(value, dict):
            for key, v in value.items():
                assert isinstance(key, (str, int))
                check(v)
        elif isinstance(value, (list, tuple)):
            for v in value:
                check(v)
        else:
            assert value is None or isinstance(value, (bool, int, float, str)), value

    check(make(lr_scheduler, optimizer_of(tt)).state_dict())


@each
def test_a_state_dict_of_pytorchs_loads(make: Make) -> None:
    torch = pytest.importorskip("torch")
    theirs = optimizer_of(torch)
    their_scheduler = make(torch.optim.lr_scheduler, theirs)
    run(theirs, their_scheduler, 33)
    ours = optimizer_of(tt)
    our_scheduler = make(lr_scheduler, ours)
    ours.load_state_dict(theirs.state_dict())
    our_scheduler.load_state_dict(copy.deepcopy(their_scheduler.state_dict()))
    same(run(ours, our_scheduler, 80), run(theirs, their_scheduler, 80))


RESUMABLE = [name for name in CASES if name.split(",")[0] not in
             ("SequentialLR", "ChainedScheduler", "SequentialLR of chains")]  # fmt: skip


@pytest.mark.parametrize("name", RESUMABLE)
def test_last_epoch_goes_on_as_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        optimizer = optimizer_of(lib)
        scheduler = CASES[name](lib.optim.lr_scheduler, optimizer)
        run(optimizer, scheduler, 20)
        # PyTorch's way without a state_dict: the same arguments again, and last_epoch.
        resuming = _WithLastEpoch(lib.optim.lr_scheduler, scheduler.last_epoch)
        again = CASES[name](resuming, optimizer)
        assert again.last_epoch == 21
        found.append(run(optimizer, again, 60))
    same(*found)


class _WithLastEpoch:
    """An lr_scheduler module whose schedulers are all made with last_epoch=…"""

    def __init__(self, module: Any, last_epoch: int):
        self.module, self.last_epoch = module, last_epoch

    def __getattr__(self, name: str) -> Any:
        made = getattr(self.module, name)
        return lambda *args, **kwargs: made(*args, **kwargs, last_epoch=self.last_epoch)


CLOSED = ["StepLR, gamma", "MultiStepLR", "ConstantLR, long", "LinearLR, down", "ExponentialLR",
          "PolynomialLR", "CosineAnnealingLR, several", "LambdaLR"]  # fmt: skip


@pytest.mark.parametrize("name", CLOSED)
def test_jumping_to_an_epoch_equals_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        optimizer = optimizer_of(lib)
        scheduler = CASES[name](lib.optim.lr_scheduler, optimizer)
        optimizer.step()
        rows = []
        for epoch in (3, 50, 13, 0, 110):
            with pytest.warns(UserWarning, match="deprecated"):
                scheduler.step(epoch)
            rows.append([scheduler.last_epoch, *settings_of(optimizer)])
        found.append(rows)
    same(*found)


def test_warm_restarts_take_fractions_of_epochs() -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        optimizer = optimizer_of(lib)
        scheduler = lib.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 4, 2)
        optimizer.step()
        rows = []
        for i in range(100):
            scheduler.step(i * 0.31)
            rows.append([scheduler.T_cur, scheduler.T_i, scheduler.last_epoch])
            rows[-1] += settings_of(optimizer)
        found.append(rows)
    same(*found)


# ------------------------------------------------------------------------------------------
# ReduceLROnPlateau
# ------------------------------------------------------------------------------------------

PLATEAU: list[dict[str, Any]] = [
    {},
    {"patience": 3, "factor": 0.5},
    {"patience": 2, "mode": "max", "threshold": 0.02},
    {"patience": 2, "threshold_mode": "abs", "threshold": 0.05},
    {"patience": 2, "mode": "max", "threshold_mode": "abs"},
    {"patience": 1, "cooldown": 4, "factor": 0.7},
    {"patience": 1, "min_lr": [0.03, 0.004]},
    {"patience": 0, "min_lr": 0.01, "eps": 0.002},
]


def measures() -> list[float]:
    noise = np.random.default_rng(0).normal(0, 0.05, 150)
    return [math.exp(-i / 20) + float(n) for i, n in enumerate(noise)]


@pytest.mark.parametrize("settings", PLATEAU, ids=str)
def test_plateau_equals_pytorch(settings: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        optimizer = optimizer_of(lib)
        scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **settings)
        rows = []
        for value in [*measures(), float("nan")]:
            scheduler.step(lib.tensor(value, dtype=lib.float64))
            assert scheduler.get_last_lr() == [g["lr"] for g in optimizer.param_groups]
            rows.append([scheduler.last_epoch, scheduler.best, scheduler.num_bad_epochs,
                         scheduler.cooldown_counter, *settings_of(optimizer)])  # fmt: skip
        found.append(rows)
    same(*found)
    assert found[0][-1][4] < 0.1, "it never reduced"


def test_plateau_goes_on_where_it_stopped() -> None:
    values = measures()
    whole = optimizer_of(tt)
    scheduler = lr_scheduler.ReduceLROnPlateau(whole, patience=2, cooldown=1)
    for value in values:
        scheduler.step(value)
    first = optimizer_of(tt)
    scheduler = lr_scheduler.ReduceLROnPlateau(first, patience=2, cooldown=1)
    for value in values[:70]:
        scheduler.step(value)
    second = optimizer_of(tt)
    resumed = lr_scheduler.ReduceLROnPlateau(second)
    second.load_state_dict(first.state_dict())
    resumed.load_state_dict(scheduler.state_dict())
    for value in values[70:]:
        resumed.step(value)
    assert settings_of(second) == settings_of(whole)


# ------------------------------------------------------------------------------------------
# Schedules that PyTorch does not have
# ------------------------------------------------------------------------------------------


def test_warmup_cosine() -> None:
    optimizer = optimizer_of(tt)
    rows = run(optimizer, lr_scheduler.WarmupCosineLR(optimizer, 10, 100, min_lr=0.001), 110)
    for s, row in enumerate(rows):
        for lr, base in ((row[0], 0.1), (row[2], 0.02)):
            if s < 10:
                expected = base * (s + 1) / 11
            elif s <= 100:
                expected = 0.001 + 0.5 * (1 + math.cos(math.pi * (s - 10) / 90)) * (base - 0.001)
            else:
                expected = 0.001
            assert lr == pytest.approx(expected, rel=1e-12)


def test_transformer_schedule_is_the_papers() -> None:
    optimizer = tt.optim.Adam([tt.ones(1)], lr=1.0)
    rows = run(optimizer, lr_scheduler.TransformerLR(optimizer, 512, warmup_steps=40), 100)
    rates = [row[0] for row in rows]
    expected = [512**-0.5 * min(s**-0.5, s * 40**-1.5) for s in range(1, 102)]
    same(rates, expected)
    assert rates.index(max(rates)) == 39


# ------------------------------------------------------------------------------------------
# The rest
# ------------------------------------------------------------------------------------------


def test_a_schedule_of_ones_own() -> None:
    class Alternating(lr_scheduler.LRScheduler):
        def get_lr(self) -> list[float]:
            return [base * (1 + self.last_epoch % 2) for base in self.base_lrs]

    optimizer = optimizer_of(tt)
    rows = run(optimizer, Alternating(optimizer), 3)
    assert [row[0] for row in rows] == [0.1, 0.2, 0.1, 0.2]


def test_a_learning_rate_that_is_a_tensor_stays_one() -> None:
    lr = tt.tensor(0.5, dtype=tt.float64)
    optimizer = tt.optim.SGD([tt.ones(2)], lr=lr)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is lr and lr.item() == 0.25
    assert scheduler.get_last_lr() == [0.25] and scheduler.base_lrs == [0.5]


def test_a_group_added_later_keeps_plateau_working() -> None:
    optimizer = optimizer_of(tt)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    optimizer.add_param_group({"params": [tt.ones(1)], "lr": 1.0})
    scheduler.step(1.0)
    scheduler.step(2.0)
    assert optimizer.param_groups[2]["lr"] == pytest.approx(0.1)


def test_one_cycle_whose_first_phase_is_empty() -> None:
    optimizer = optimizer_of(tt)  # PyTorch divides by zero here
    rows = run(optimizer, lr_scheduler.OneCycleLR(optimizer, 0.5, 10, pct_start=0.1), 9)
    assert rows[0][0] == 0.5 and all(map(math.isfinite, rows[-1]))


def of(make: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: make(optimizer_of(tt))


def no_momentum(make: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: make(tt.optim.Adagrad([tt.ones(1)]))


s = lr_scheduler
ERRORS: list[tuple[Callable[[], Any], type, str]] = [
    (lambda: s.StepLR(3, 1), TypeError, "StepLR: got int, expected an Optimizer"),
    (of(lambda o: s.StepLR(o, 1, last_epoch=3)), KeyError, "no 'initial_lr'"),
    (of(lambda o: s.LambdaLR(o, [abs])), ValueError, "got 1 values, expected 2"),
    (of(lambda o: s.LambdaLR(o, 0.5)), TypeError, "lr_lambda of type float, expected a function"),
    (of(lambda o: s.ConstantLR(o, 1.5)), ValueError, "got factor=1.5, expected 0 <= factor <= 1"),
    (of(lambda o: s.LinearLR(o, 0)), ValueError, "got start_factor=0"),
    (of(lambda o: s.LinearLR(o, 1, 2)), ValueError, "got end_factor=2"),
    (of(lambda o: s.CosineAnnealingWarmRestarts(o, 0)), ValueError, "got T_0=0"),
    (of(lambda o: s.CosineAnnealingWarmRestarts(o, 3).step(-1)), ValueError, "got epoch=-1"),
    (of(lambda o: s.OneCycleLR(o, 0.1)), ValueError, "expected a positive total_steps"),
    (of(lambda o: s.OneCycleLR(o, 0.1, 10, pct_start=2)), ValueError, "got pct_start=2"),
    (of(lambda o: s.OneCycleLR(o, 0.1, 10, anneal_strategy="x")), ValueError, "'cos' or 'linear'"),
    (of(lambda o: run(o, s.OneCycleLR(o, 0.1, 3), 9)), ValueError, "got step 4, expected"),
    (no_momentum(lambda o: s.OneCycleLR(o, 0.1, 10)), ValueError, "neither momentum nor betas"),
    (of(lambda o: s.CyclicLR(o, 0.1, 1, mode="x")), ValueError, "got mode='x'"),
    (of(lambda o: s.ReduceLROnPlateau(o, factor=1)), ValueError, "got factor=1"),
    (of(lambda o: s.ReduceLROnPlateau(o, "best")), ValueError, "got mode='best'"),
    (of(lambda o: s.ReduceLROnPlateau(o, threshold_mode="x")), ValueError, "'rel' or 'abs'"),
    (of(lambda o: s.SequentialLR(o, [], [])), ValueError, "got no schedulers"),
    (of(lambda o: s.SequentialLR(o, [s.StepLR(o, 1)], [3])), ValueError, "expected 0 milestones"),
    (of(lambda o: s.ChainedScheduler([s.ReduceLROnPlateau(o)])), ValueError, "step it on its own"),
    (of(lambda o: s.ChainedScheduler([s.StepLR(o, 1), s.StepLR(optimizer_of(tt), 1)])),
     ValueError, r"schedulers\[1\], a StepLR, has another optimizer"),
    (of(lambda o: s.WarmupCosineLR(o, 10, 5)), ValueError, "warmup_steps=10 and total_steps=5"),
    (of(lambda o: s.TransformerLR(o, 0)), ValueError, "got d_model=0"),
    (of(s.LRScheduler), NotImplementedError, "get_lr is not implemented"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_errors(call: Callable[[], Any], error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        call()


# ------------------------------------------------------------------------------------------
# The order of steps, and learning rates in tensors
# ------------------------------------------------------------------------------------------


def test_a_warning_if_the_schedule_steps_first() -> None:
    optimizer = optim.SGD([tt.ones(2, requires_grad=True)], lr=0.1)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 3)
    with pytest.warns(UserWarning, match=r"StepLR: `scheduler.step\(\)` came before"):
        scheduler.step()
    scheduler.step()  # only the first time
    scheduler = optim.lr_scheduler.StepLR(optimizer, 3)
    optimizer.step()
    scheduler.step()


class Own(optim.Optimizer):
    """Without super().__init__(), as some wrappers of optimisers are."""

    def __init__(self, inner: Any):
        self.param_groups, self.defaults = inner.param_groups, inner.defaults

    def step(self, closure: Any = None) -> None:
        pass


def test_no_warning_for_an_optimiser_of_one_s_own() -> None:
    optimizer = Own(optim.SGD([tt.ones(2, requires_grad=True)], lr=0.1))
    scheduler = optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [pytest.approx(0.01)]


def test_a_warning_if_step_is_replaced() -> None:
    optimizer = optim.SGD([tt.ones(2, requires_grad=True)], lr=0.1)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 3)
    old = optimizer.step
    optimizer.step = lambda *args: old(*args)  # type: ignore[method-assign]
    optimizer.step()
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        scheduler.step()


TENSOR_RATES: dict[str, Callable] = {
    "StepLR": lambda s, o: s.StepLR(o, 2),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda e: 0.9**e),
    "LinearLR": lambda s, o: s.LinearLR(o),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 5),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 2),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.1, 10),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, patience=0),
}


@pytest.mark.parametrize("name", TENSOR_RATES)
def test_a_rate_in_a_tensor_stays_that_tensor(name: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        lr = lib.tensor(0.1)
        optimizer = lib.optim.SGD([lib.ones(2, requires_grad=True)], lr=lr, momentum=0.9)
        scheduler = TENSOR_RATES[name](lib.optim.lr_scheduler, optimizer)
        rates = []
        for _ in range(6):
            optimizer.step()
            scheduler.step(*[1.0] * (name == "ReduceLROnPlateau"))
            (last,) = scheduler.get_last_lr()
            assert isinstance(last, lib.Tensor) and last is not lr
            assert optimizer.param_groups[0]["lr"] is lr
            rates.append(last.item())
        base = getattr(scheduler, "base_lrs", [])
        found.append((rates, [float(x) for x in base], sorted(scheduler.state_dict())))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)
    assert found[0][2] == found[1][2]


def test_plateau_with_a_bound_for_each_group_needs_one_for_a_new_group() -> None:
    optimizer = optim.SGD([tt.ones(2, requires_grad=True)], lr=0.1)
    scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.01])
    optimizer.add_param_group({"params": [tt.ones(2, requires_grad=True)]})
    scheduler.step(1.0)
    with pytest.raises(RuntimeError, match="ReduceLROnPlateau: got 2 param groups, expected 1"):
        scheduler.step(2.0)
    scheduler.min_lrs = [0.01, 0.05]
    scheduler.step(3.0)
    assert [g["lr"] for g in optimizer.param_groups] == [pytest.approx(0.01), 0.05]
