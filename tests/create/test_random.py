"""Random tensors: shape, dtype, range, moments, and streams that repeat."""

from __future__ import annotations

import tracemalloc
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


CALLS: dict[str, tuple[Callable[[], Any], tuple, str]] = {  # name: call, shape, dtype
    "rand size=": (lambda: tt.rand(size=(2, 3)), (2, 3), "float32"),
    "randn size=": (lambda: tt.randn(size=[4]), (4,), "float32"),
    "rand of an empty shape": (lambda: tt.rand(()), (), "float32"),
    "randint size=": (lambda: tt.randint(3, size=(2,)), (2,), "int64"),
    "randint high= size=": (lambda: tt.randint(high=3, size=(2,)), (2,), "int64"),
    "randint all by name": (lambda: tt.randint(low=1, high=3, size=(2,)), (2,), "int64"),
    "randint of a tensor": (lambda: tt.randint(tt.tensor(3), (2,)), (2,), "int64"),
    "randint bool": (lambda: tt.randint(0, 2, (2,), dtype=tt.bool), (2,), "bool"),
    "randint widest": (lambda: tt.randint(-(2**63), 2**63 - 1, (2,)), (2,), "int64"),
    "randint 0-d": (lambda: tt.randint(5, ()), (), "int64"),
    "randint_like high=": (lambda: tt.randint_like(tt.ones(2), high=3), (2,), "float32"),
    "randperm 0": (lambda: tt.randperm(0), (0,), "int64"),
    "randperm float": (lambda: tt.randperm(3, dtype=tt.float16), (3,), "float16"),
    "normal 0-d": (lambda: tt.normal(tt.tensor(1.0), tt.tensor(1.0)), (), "float32"),
    "normal sized 0-d": (lambda: tt.normal(0.0, 1.0, ()), (), "float32"),
    "normal broadcast": (lambda: tt.normal(tt.zeros(2, 1), tt.ones(3)), (2, 3), "float32"),
    "normal in mean's dtype": (
        lambda: tt.normal(tt.zeros(2, dtype=tt.float16), tt.ones(2, dtype=tt.float64)),
        (2,),
        "float16",
    ),
    "bernoulli 0-d": (lambda: tt.bernoulli(tt.tensor(0.5)), (), "float32"),
    "bernoulli p of ints": (lambda: tt.ones(2, dtype=tt.int64).bernoulli(0.5), (2,), "int64"),
    "bernoulli_ of tensors": (lambda: tt.empty(2, 3).bernoulli_(tt.rand(3)), (2, 3), "float32"),
    "normal_ 0-d": (lambda: tt.tensor(0.0).normal_(), (), "float32"),
    "uniform_ 0-d": (lambda: tt.tensor(0.0).uniform_(**{"from": 1, "to": 2}), (), "float32"),
    "uniform_ wide": (lambda: tt.zeros(9).half().uniform_(0, 65504), (9,), "float16"),
    "exponential_ half": (lambda: tt.zeros(3, dtype=tt.float16).exponential_(), (3,), "float16"),
    "random_ bool": (lambda: tt.zeros(3, dtype=tt.bool).random_(), (3,), "bool"),
    "random_ by name": (lambda: tt.zeros(3).random_(**{"from": 2, "to": 5}), (3,), "float32"),
    "random_ int64": (lambda: tt.zeros(3, dtype=tt.int64).random_(), (3,), "int64"),
    "multinomial half": (lambda: tt.ones(3, dtype=tt.float16).multinomial(2), (2,), "int64"),
    "multinomial no rows": (lambda: tt.multinomial(tt.ones(0, 3), 2, True), (0, 2), "int64"),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    call, shape, dtype = CALLS[name]
    drawn = call()
    assert isinstance(drawn.array, np.ndarray)
    assert tuple(drawn.shape) == shape and drawn.dtype.name == dtype


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    return float((((counts - expected) ** 2) / expected).sum())


# The 0.999 quantiles of the chi-square distribution with 3, 5 and 9 degrees of freedom.
LIMITS = {4: 16.27, 6: 20.52, 10: 27.88}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniform_is_flat(dtype: str) -> None:
    drawn = tt.rand(100000, dtype=getattr(tt, dtype)).numpy()
    assert drawn.min() >= 0 and drawn.max() < 1  # half precision rounds nothing up to 1
    counts = np.histogram(drawn.astype(np.float64), bins=10, range=(0, 1))[0]
    assert chi_square(counts, np.full(10, 10000)) < LIMITS[10]


def test_integers_and_permutations_are_flat() -> None:
    counts = np.bincount(tt.randint(0, 10, (50000,)).numpy(), minlength=10)
    assert chi_square(counts, np.full(10, 5000)) < LIMITS[10]
    orders = [tuple(tt.randperm(3).tolist()) for _ in range(6000)]
    sizes = np.array([orders.count(order) for order in sorted(set(orders))])
    assert sizes.size == 6 and chi_square(sizes, np.full(6, 1000)) < LIMITS[6]


def test_multinomial_follows_its_weights() -> None:
    weights = tt.tensor([1.0, 2.0, 3.0, 4.0])
    drawn = tt.multinomial(weights, 20000, replacement=True)
    counts = np.bincount(drawn.numpy(), minlength=4)
    assert chi_square(counts, 2000 * weights.numpy()) < LIMITS[4]
    # Without replacement the first is drawn by the weights, the second by those that are left.
    pairs = tt.multinomial(weights.expand(20000, 4), 2).numpy()
    assert chi_square(np.bincount(pairs[:, 0], minlength=4), 2000 * weights.numpy()) < LIMITS[4]
    w = weights.numpy() / 10
    second = sum(w[i] * np.where(np.arange(4) == i, 0, w / (1 - w[i])) for i in range(4))
    assert chi_square(np.bincount(pairs[:, 1], minlength=4), 20000 * second) < LIMITS[4]


def test_multinomial_of_many_samples_needs_little_memory() -> None:
    """60,000 of 60,000 with replacement, as a weighted sampler draws them."""
    weights = tt.rand(60000)
    tracemalloc.start()
    drawn = tt.multinomial(weights, 60000, replacement=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert drawn.shape == (60000,) and peak < 20e6


def test_seeds() -> None:
    assert tt.Generator().manual_seed(-1).initial_seed() == 2**64 - 1
    assert tt.manual_seed(3.7).initial_seed() == 3 == tt.initial_seed()
    assert tt.default_generator is tt.manual_seed(1)


def test_in_place_draws_write_through_views() -> None:
    x = tt.zeros(2, 3)
    x.t()[1:].normal_(5, 0)
    assert x.tolist() == [[0, 5, 5], [0, 5, 5]]
    tracked = tt.zeros(3, requires_grad=True)
    y = tracked * 2
    y[1:].uniform_(1, 1)
    y.sum().backward()
    assert y.tolist() == [0, 1, 1] and tracked.grad is not None
    assert tracked.grad.tolist() == [2, 0, 0]


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
    (lambda: tt.bernoulli([0.5]), TypeError, "bernoulli: got a list as its first argument"),
    (lambda: tt.rand_like([0.5]), TypeError, "rand_like: got a list as its first argument"),
    (lambda: tt.randint(5), TypeError, "randint: size is missing"),
    (lambda: tt.randint(1, 10), TypeError, "randint: size is missing, got .*high=1, size=10"),
    (lambda: tt.randint(2.5, (2,)), TypeError, r"range \[0, 2.5\), expected integers"),
    (lambda: tt.randint(0, 300, (2,), dtype=tt.uint8), RuntimeError, "does not fit uint8"),
    (lambda: tt.randint(-1, 3, (2,), dtype=tt.uint8), RuntimeError, "does not fit uint8"),
    (lambda: tt.randperm(300, dtype=tt.uint8), RuntimeError, "up to 299 do not fit uint8"),
    (lambda: tt.Generator().manual_seed(2**64), ValueError, r"manual_seed: .*< 2\*\*64"),
    (lambda: tt.manual_seed(-(2**63) - 1), ValueError, "manual_seed: got -92233720368547758"),
    (lambda: tt.Generator().manual_seed(None), RuntimeError, "manual_seed: got None, expected an"),
    (lambda: tt.Generator().manual_seed(1.5), RuntimeError, "manual_seed: got 1.5, expected an"),
    (lambda: tt.set_rng_state([1]), TypeError, "set_state: got list, expected the uint8 tensor"),
    (lambda: tt.set_rng_state(tt.zeros(3)), TypeError, "set_state: got tinytensor.float32"),
    (lambda: tt.empty(2).normal_(0, -1), RuntimeError, "normal_: std=-1"),
    (lambda: tt.empty(2).uniform_(3, 2), RuntimeError, r"uniform_: got the range \[3, 2\)"),
    (lambda: tt.empty(2).uniform_(till=2), TypeError, "uniform_: .* keyword argument 'till'"),
    (lambda: tt.empty(2).exponential_(0), RuntimeError, "exponential_: lambd=0"),
    (lambda: tt.empty(2).bernoulli_(2), RuntimeError, r"bernoulli_: .* outside \[0, 1\]"),
    (lambda: tt.empty(3).bernoulli_(tt.ones(2)), RuntimeError, "does not broadcast to"),
    (lambda: tt.empty(2, dtype=tt.int64).normal_(), RuntimeError, "normal_: got dtype int64"),
    (lambda: tt.empty(2, dtype=tt.bool).uniform_(), RuntimeError, "uniform_: got dtype bool"),
    (lambda: tt.empty(2).random_(5, 5), RuntimeError, "random_: low=5 must be below high=5"),
    (lambda: tt.normal(tt.zeros(2), tt.ones(3)), RuntimeError, "which do not broadcast"),
    (lambda: tt.normal(tt.zeros(2), -tt.ones(2)), RuntimeError, "std has a negative element"),
    (lambda: tt.normal(tt.arange(2), 1.0), RuntimeError, "normal: got dtype int64"),
    (lambda: tt.normal(0.0, 1.0), TypeError, "normal: size is missing"),
    (lambda: tt.normal(0.0, -1.0, size=(2,)), RuntimeError, "normal: std=-1.0"),
    (lambda: tt.bernoulli(tt.tensor([1.5])), RuntimeError, r"bernoulli: .*outside \[0, 1\]"),
    (lambda: tt.multinomial(tt.tensor([0.0, 0.0]), 1), RuntimeError, "multinomial: .*sums to 0"),
    (lambda: tt.multinomial(tt.tensor([-1.0, 2.0]), 1), RuntimeError, "element < 0"),
    (lambda: tt.multinomial(tt.ones(2), 3), RuntimeError, "cannot draw 3 of 2 categories"),
    (lambda: tt.multinomial(tt.ones(2, 2, 2), 1), RuntimeError, r"expected \(C\) or \(N, C\)"),
    (lambda: tt.randperm(-1), RuntimeError, "randperm: n must be non-negative"),
    (lambda: tt.set_rng_state(tt.zeros(3).byte()), RuntimeError, "set_state: .*get_state"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_errors(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_fork_rng_puts_the_generators_back() -> None:
    tt.manual_seed(3)
    expected = tt.rand(4)
    tt.manual_seed(3)
    with tt.random.fork_rng():
        tt.manual_seed(8)
        tt.rand(7)
    assert tt.equal(tt.rand(4), expected)
    tt.manual_seed(3)
    with pytest.raises(KeyError), tt.random.fork_rng(devices=[], enabled=True):
        tt.rand(7)
        raise KeyError
    assert tt.equal(tt.rand(4), expected)
    tt.manual_seed(3)
    with tt.random.fork_rng(enabled=False):
        tt.rand(7)
    assert not tt.equal(tt.rand(4), expected)
