"""Random tensors: shape, dtype, range, moments, and streams that repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt


@pytest.fixture(autouse=True)
def seeded() -> None:
    tt.manual_seed(7)


DRAWS: dict[str, tuple[Callable[..., Any], float, float]] = {  # name: draw, mean, variance
    "rand": (lambda **o: tt.rand(20000, **o), 1 / 2, 1 / 12),
    "randn": (lambda **o: tt.randn(200, 100, **o), 0, 1),
    "randint": (lambda **o: tt.randint(2, 8, (20000,), **o), 4.5, 35 / 12),
    "normal": (lambda **o: tt.normal(3.0, 2.0, size=(20000,), **o), 3, 4),
    "bernoulli": (lambda **o: tt.bernoulli(tt.full((20000,), 0.3), **o), 0.3, 0.21),
    "normal_": (lambda **o: tt.empty(20000).normal_(1, 3, **o), 1, 9),
    "uniform_": (lambda **o: tt.empty(20000).uniform_(-1, 3, **o), 1, 16 / 12),
    "exponential_": (lambda **o: tt.empty(20000).exponential_(2.0, **o), 0.5, 0.25),
    "bernoulli_": (lambda **o: tt.empty(20000).bernoulli_(0.25, **o), 0.25, 0.1875),
}


@pytest.mark.parametrize("name", DRAWS)
def test_moments_and_repetition(name: str) -> None:
    draw, mean, variance = DRAWS[name]
    first = draw()
    values = first.numpy().astype(np.float64)
    spread = (variance / values.size) ** 0.5
    assert abs(values.mean() - mean) < 5 * spread
    assert abs(values.var() / variance - 1) < 0.1
    assert not np.array_equal(draw().numpy(), first.numpy())
    tt.manual_seed(7)
    np.testing.assert_array_equal(draw().numpy(), first.numpy())
    one = draw(generator=tt.Generator().manual_seed(3))
    two = draw(generator=tt.Generator().manual_seed(3))
    np.testing.assert_array_equal(one.numpy(), two.numpy())


def test_dtypes_and_ranges() -> None:
    assert tt.rand(3, dtype=tt.float64).dtype == tt.float64
    assert tt.randn(3, dtype=tt.float16).dtype == tt.float16
    assert tt.randint(5, (3,)).dtype == tt.int64
    assert tt.randint(5, (3,), dtype=tt.uint8).dtype == tt.uint8
    drawn = tt.rand(10000)
    assert drawn.min().item() >= 0 and drawn.max().item() < 1
    assert set(tt.randint(-2, 2, (500,)).tolist()) == {-2, -1, 0, 1}
    assert sorted(tt.randperm(100).tolist()) == list(range(100))
    like = tt.zeros(2, 3, dtype=tt.float64)
    assert tt.randn_like(like).dtype == tt.float64
    assert tuple(tt.rand_like(like).shape) == (2, 3)
    assert tt.randn(2, requires_grad=True).requires_grad
    assert set(tt.empty(300, dtype=tt.int64).random_(3).tolist()) == {0, 1, 2}


def test_normal_with_tensors() -> None:
    mean = tt.tensor([0.0, 100.0])
    drawn = tt.normal(mean, tt.tensor([0.0, 0.0]))
    assert drawn.tolist() == [0, 100]
    assert tuple(tt.normal(mean, 1.0).shape) == (2,)
    assert tuple(tt.normal(0.0, tt.ones(3, 1)).shape) == (3, 1)


@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_frequencies(replacement: bool) -> None:
    weights = tt.tensor([1.0, 0.0, 3.0])
    first = tt.stack([tt.multinomial(weights, 1, replacement) for _ in range(2000)])
    share = (first == 2).float().mean().item()
    assert abs(share - 0.75) < 0.05
    assert not bool((first == 1).any())
    rows = tt.multinomial(weights.expand(4, 3), 2, replacement)
    assert tuple(rows.shape) == (4, 2) and rows.dtype == tt.int64
    if not replacement:
        assert all(sorted(row) == [0, 2] for row in rows.tolist())


def test_state_is_kept_and_restored() -> None:
    state = tt.get_rng_state()
    assert state.dtype == tt.uint8
    first = tt.randn(5)
    tt.set_rng_state(state)
    assert tt.randn(5).tolist() == first.tolist()
    generator = tt.Generator().manual_seed(5)
    assert generator.initial_seed() == 5
    clone = generator.clone_state()
    assert tt.rand(4, generator=generator).tolist() == tt.rand(4, generator=clone).tolist()
    assert tt.seed() != tt.seed()


def test_in_place_draws_respect_autograd() -> None:
    leaf = tt.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="normal_: a leaf tensor"):
        leaf.normal_()
    with tt.no_grad():
        leaf.normal_()
    assert leaf.requires_grad and leaf._version == 1


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: tt.rand(2, dtype=tt.int64), RuntimeError, "rand: got dtype int64"),
    (lambda: tt.randint(5, 5, (2,)), RuntimeError, "randint: low=5 must be below high=5"),
    (lambda: tt.randint(5), TypeError, "randint: size is missing"),
    (lambda: tt.normal(0.0, 1.0), TypeError, "normal: size is missing"),
    (lambda: tt.normal(0.0, -1.0, size=(2,)), RuntimeError, "normal: std=-1.0"),
    (lambda: tt.bernoulli(tt.tensor([1.5])), RuntimeError, r"bernoulli: .*outside \[0, 1\]"),
    (lambda: tt.multinomial(tt.tensor([0.0, 0.0]), 1), RuntimeError, "multinomial: .*sums to 0"),
    (lambda: tt.multinomial(tt.tensor([-1.0, 2.0]), 1), RuntimeError, "element < 0"),
    (lambda: tt.multinomial(tt.ones(2), 3), RuntimeError, "cannot draw 3 of 2 categories"),
    (lambda: tt.multinomial(tt.ones(2, 2, 2), 1), RuntimeError, r"expected \(C\) or \(N, C\)"),
    (lambda: tt.randperm(-1), RuntimeError, "randperm: n must be non-negative"),
    (lambda: tt.set_rng_state(tt.zeros(3)), RuntimeError, "set_state: .*get_state"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_errors(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
