"""Threads: models train side by side as they would alone, and modes do not leak."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd import (
    detect_anomaly,
    is_anomaly_enabled,
    is_inference_mode_enabled,
    scope,
)

THREADS = 8


def train(seed: int) -> list[bytes]:
    """A small network trained for 60 steps; its parameters, to the last bit."""
    rng = np.random.default_rng(seed)
    inputs = tt.tensor(rng.normal(size=(16, 3)))
    targets = tt.tensor(rng.integers(0, 2, size=16))
    w1 = tt.tensor(rng.normal(size=(3, 12)), requires_grad=True)
    b1 = tt.zeros(12, dtype=tt.float64, requires_grad=True)
    w2 = tt.tensor(rng.normal(size=(12, 2)), requires_grad=True)
    parameters = [w1, b1, w2]
    for _ in range(60):
        logits = (inputs @ w1 + b1).tanh() @ w2
        loss = -logits.log_softmax(-1)[tt.arange(16), targets].mean()
        for p in parameters:
            p.grad = None
        loss.backward()
        with tt.no_grad():
            for p in parameters:
                p.sub_(p.grad * 0.1)
    return [p.detach().numpy().tobytes() for p in parameters]


def side_by_side(function: Any) -> list:
    """function(0), …, function(7) in eight threads that start together."""
    barrier = threading.Barrier(THREADS)

    def run(i: int) -> Any:
        barrier.wait(timeout=30)
        return function(i)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def test_eight_models_train_as_they_would_alone() -> None:
    alone = [train(seed) for seed in range(THREADS)]
    assert len({tuple(p) for p in alone}) == THREADS
    assert side_by_side(train) == alone


def test_one_leaf_in_many_graphs() -> None:
    """Threads may share tensors that none of them writes to."""
    w = tt.tensor([2.0, 3.0], dtype=tt.float64, requires_grad=True)

    def run(i: int) -> list:
        (g,) = tt.autograd.grad((w * w * i).sum(), w)
        return g.tolist()

    assert side_by_side(run) == [[4.0 * i, 6.0 * i] for i in range(THREADS)]


MODES = {
    "no_grad": (tt.no_grad, tt.is_grad_enabled, False),
    "inference_mode": (tt.inference_mode, is_inference_mode_enabled, True),
    "detect_anomaly": (detect_anomaly, is_anomaly_enabled, True),
    "scope": (
        lambda: scope("here"),
        lambda: (tt.ones(1, requires_grad=True) * 2).grad_fn.scope,
        "here",
    ),
}


@pytest.mark.parametrize(("mode", "look", "inside"), MODES.values(), ids=MODES)
def test_modes_belong_to_a_thread(mode: Any, look: Any, inside: Any) -> None:
    outside = look()
    assert outside != inside
    barrier = threading.Barrier(2, timeout=30)
    seen: dict[str, list] = {"with": [], "without": []}

    def with_mode() -> None:
        with mode():
            barrier.wait()  # both threads are in the middle now
            seen["with"].append(look())
            barrier.wait()
        seen["with"].append(look())

    def without_mode() -> None:
        seen["without"].append(look())
        barrier.wait()
        seen["without"].append(look())
        barrier.wait()
        seen["without"].append(look())

    threads = [threading.Thread(target=t) for t in (with_mode, without_mode)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert seen == {"with": [inside, outside], "without": [outside] * 3}


def test_a_new_thread_starts_with_the_defaults() -> None:
    with tt.no_grad(), detect_anomaly(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(tt.is_grad_enabled).result() is True
        assert pool.submit(is_anomaly_enabled).result() is False


def test_one_setting_object_in_many_threads() -> None:
    setting = tt.no_grad()

    @setting
    def inside() -> bool:
        return tt.is_grad_enabled()

    def run(i: int) -> bool:
        with tt.set_grad_enabled(i % 2 == 0):
            results = [inside() for _ in range(200)]
            return not any(results) and tt.is_grad_enabled() is (i % 2 == 0)

    assert all(side_by_side(run)) and tt.is_grad_enabled()


@pytest.mark.filterwarnings("ignore:backward. Using backward")
def test_backward_in_one_thread_does_not_change_the_mode_of_another() -> None:
    def run(i: int) -> bool:
        x = tt.ones(4, requires_grad=True)
        for _ in range(50):
            y = (x * x).tanh()
            if not y.requires_grad:
                return False
            y.sum().backward(create_graph=i % 2 == 1)
            x.grad = None
        return True

    assert all(side_by_side(run))
