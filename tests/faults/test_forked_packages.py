"""Forks with distributions, sparse tensors, 16-bit numbers, decompositions and transforms.

test_fork.py has the rest: memory, locks, generators, threads of kernels.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tests.distributions.cases import CASES, Case
from tests.distributions.test_samples import build
from tests.test_fork import Child, in_child, pytestmark  # noqa: F401 - skips, and warnings of fork
from tinytensor import distributions

ONE_OF_EACH = {case.name: case for case in CASES}


@pytest.mark.parametrize("case", ONE_OF_EACH.values(), ids=str)
def test_samples(case: Case) -> None:
    """A child draws numbers of its own, the same in each run; the parent's are as without it."""
    made, _ = build(case)

    def draw() -> list:
        return made.sample((50,)).tolist()

    def family() -> list:
        tt.manual_seed(3)
        return [in_child(draw), draw(), in_child(draw), draw()]

    first = family()
    assert first == family()
    assert all(a != b for i, a in enumerate(first) for b in first[:i])
    tt.manual_seed(3)
    assert [draw(), draw()] == first[1::2]


def test_gradients_of_samples() -> None:
    """Also the caches of a distribution: what was computed before the fork is used after it."""
    mean, covariance = tt.zeros(3, requires_grad=True), tt.eye(3) + 0.5

    def gradient() -> list[float]:
        tt.manual_seed(0)
        mean.grad = None
        made.rsample((20,)).pow(2).sum().backward()
        return mean.grad.tolist()

    made = distributions.MultivariateNormal(mean, covariance)
    made.covariance_matrix  # noqa: B018 - computed here, and read in the child
    expected = gradient()
    assert in_child(gradient) == expected == gradient()


DRAWN = {
    "gamma": distributions.Gamma(tt.full((2000,), 0.7), 1.0),
    "binomial": distributions.Binomial(50, tt.full((2000,), 0.3)),
    "poisson": distributions.Poisson(tt.full((2000,), 30.0)),
    "categorical": distributions.Categorical(tt.rand(200, 50)),
    "normal": distributions.Normal(tt.zeros(2000), 1.0),
}


def test_other_threads_draw() -> None:
    """A fork waits for draws in other threads: the stream of a child is whole, and not locked."""
    done = threading.Event()

    def work(made: Any) -> None:
        while not done.is_set():
            made.sample()

    threads = [threading.Thread(target=work, args=(made,)) for made in DRAWN.values()]
    for thread in threads:
        thread.start()
    try:
        for _ in range(6):
            means = in_child(
                lambda: [m.sample((20,)).float().mean().item() for m in DRAWN.values()]
            )
            np.testing.assert_allclose(means[:3], [0.7, 15, 30], rtol=0.1)
    finally:
        done.set()
        for thread in threads:
            thread.join()


def sparse_product() -> tt.Tensor:
    index = tt.arange(400).reshape(2, 200) % 40
    a = tt.sparse_coo_tensor(index, tt.linspace(-1, 1, 200), (40, 40)).requires_grad_()
    dense = tt.linspace(-2, 2, 40 * 30).reshape(40, 30).requires_grad_()
    (a @ dense).tanh().sum().backward()
    return tt.cat([dense.grad.reshape(-1), a.grad.to_dense().reshape(-1)])


def sixteen_bits(dtype: Any) -> tt.Tensor:
    w = tt.linspace(-1, 1, 64 * 64).reshape(64, 64).to(dtype).requires_grad_()
    x = tt.linspace(-2, 2, 128 * 64).reshape(128, 64).to(dtype)
    tt.nn.functional.gelu(x @ w).softmax(-1).pow(2).sum().backward()
    return w.grad.float()


def decompositions() -> tt.Tensor:
    x = tt.linspace(-1, 1, 60 * 60, dtype=tt.float64).reshape(60, 60).sin()
    x = (x + 3 * tt.eye(60, dtype=tt.float64)).requires_grad_()
    total = (
        tt.linalg.solve(x, x.sum(1)).sum() + tt.linalg.svdvals(x).sum() + tt.linalg.slogdet(x)[1]
    )
    (total + tt.linalg.cholesky(x @ x.T).sum()).backward()
    return x.grad


def transforms() -> tt.Tensor:
    x = tt.linspace(-1, 1, 4096).requires_grad_()
    (tt.fft.rfft(x).abs().sum() + tt.special.i0e(x).sum()).backward()
    return x.grad


WORK: dict[str, Callable[[], tt.Tensor]] = {
    "sparse": sparse_product,
    "float16": lambda: sixteen_bits(tt.float16),
    "bfloat16": lambda: sixteen_bits(tt.bfloat16),
    "linalg": decompositions,
    "fft and special": transforms,
}


@pytest.mark.parametrize("name", WORK)
@pytest.mark.filterwarnings("ignore:.*Sparse:UserWarning")
def test_work_in_both(name: str) -> None:
    """Parent and child at once: the bits of one alone."""

    def run() -> bytes:
        return WORK[name]().numpy().tobytes()

    alone = run()
    child = Child(lambda child: [run() for _ in range(5)])
    assert [run() for _ in range(5)] == child.result() == [alone] * 5
