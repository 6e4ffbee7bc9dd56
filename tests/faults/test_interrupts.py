"""Ctrl-C at any moment of a training step: everything as before, and the next step right."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import CodeType

import pytest

import tinytensor as tt
from tests.faults.interrupt import Injector, Moment
from tests.faults.step import Training, modes
from tinytensor.kernels.machinery.route import (
    get_kernels,
    kernels_for_all_sizes,
    kernels_on,
    set_kernels,
)

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11) or sys.gettrace() is not None, reason="traces instructions itself"
)

# Where `with tt.no_grad():` of a user's ends, as in PyTorch: see autograd/mode.py.
GAPS = {("_Setting.__exit__", 0)}
CRITICAL = (
    "Op.apply", "run_in_mode", "run", "walk", "accumulate", "write", "finish_write", "Call.again",
    "_Setting", "_Pool", "within_pool", "_Shelf", "Module.__call__", "Optimizer", "Adam", "SGD",
)  # fmt: skip


@contextmanager
def kernels(name: str) -> Iterator[None]:
    before = get_kernels()
    if name == "numba" and not kernels_on():
        pytest.skip("no Numba")
    set_kernels(name)
    threads = tt.get_num_threads()
    tt.set_num_threads(1)  # more would only wait for each other
    try:
        with kernels_for_all_sizes() if name == "numba" else nullcontext():
            yield
    finally:
        set_kernels(before)
        tt.set_num_threads(threads)


def is_gap(place: tuple[CodeType, int]) -> bool:
    code, instruction = place
    return instruction < 2 and (code.co_qualname, 0) in GAPS


def chosen(injector: Injector, moments: int, seed: int, critical: bool) -> list[Moment]:
    """Some moments, no two at the same place; with `critical`, also all in code that sets modes."""
    places = {place: moment for place, moment in injector.places.items() if not is_gap(place)}
    some = random.Random(seed).sample(list(places.values()), min(moments, len(places)))
    if critical:
        some += [m for (code, _), m in places.items() if code.co_qualname.startswith(CRITICAL)]
    return list(dict.fromkeys(some))


def check_step(
    name: str, moments: int, error: type[BaseException], seed: int = 0, critical: bool = False
) -> int:
    """Interrupt a step at that many places; how many errors Python could only print."""
    with kernels(name):
        training = Training()
        for _ in range(2):
            training.step()
        start = training.state()
        expected = training.result(start)
        assert training.result(start) == expected
        before = modes()
        injector = Injector(error)
        training.restore(start)
        injector.find(training.step)
        for moment in chosen(injector, moments, seed, critical):
            training.restore(start)
            check_writes = training.watch_writes()
            injector.strike(training.step, moment)
            where = injector.where
            assert where, "the step takes the same way each time"
            assert modes() == before, where
            check_writes()
            training.check_optimizers()
            assert training.result(start) == expected, where
        return injector.lost


def test_a_few_places() -> None:
    assert check_step("numpy", 15, KeyboardInterrupt) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_many_places(name: str) -> None:
    check_step(name, 80, KeyboardInterrupt, seed=1, critical=True)


def test_the_first_step_leaves_whole_states() -> None:
    """An optimiser that is interrupted in its first step can go on."""
    optimizers = [
        getattr(tt.optim, name) for name in tt.optim.__all__ if name not in ("LBFGS", "Optimizer")
    ]
    checked = 0
    for kind in optimizers:
        if not isinstance(kind, type) or not issubclass(kind, tt.optim.Optimizer):
            continue
        start = tt.randn(3, 2)

        def renew(kind: type = kind, start: tt.Tensor = start) -> tt.optim.Optimizer:
            p = start.clone().requires_grad_()
            p.grad = tt.ones(3, 2)
            return kind([p], lr=0.1)

        injector = Injector()
        optimizer = renew()
        injector.find(optimizer.step)
        before = modes()
        whole = {key for values in optimizer.state.values() for key in values}
        for moment in list(injector.places.values()):
            optimizer = renew()
            assert injector.strike(optimizer.step, moment), injector.where
            assert modes() == before
            for values in optimizer.state.values():
                assert not values or values.keys() == whole, (kind, injector.where)
            tt.optim.Optimizer.load_state_dict(renew(), optimizer.state_dict())
            optimizer.step()
            checked += 1
    assert checked > 200
