"""The gamma functions and erfinv over their whole range, against PyTorch."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")

RANDOM = np.random.default_rng(0)
SPECIAL = np.array([0.0, -0.0, 1, 2, 3, 9, 10, 0.5, 1.5, 2.5, -1, -2, -7, 5e-324, 1e-310, 2.6e305,
                    1e308, np.inf, -np.inf, np.nan])  # fmt: skip
POSITIVE = np.concatenate([
    RANDOM.uniform(0, 3, 3000), RANDOM.uniform(0, 20, 3000), 10 ** RANDOM.uniform(-308, 308, 3000),
    1 + 10 ** RANDOM.uniform(-15, -1, 500), 2 - 10 ** RANDOM.uniform(-15, -1, 500), SPECIAL,
])  # fmt: skip
NEGATIVE = np.concatenate([-RANDOM.uniform(0, 20, 3000), -(10 ** RANDOM.uniform(-300, 12, 3000))])


def both(name, x, *leading):
    ours = getattr(tt, name)(*leading, tt.tensor(x))
    return ours.numpy(), getattr(torch, name)(*leading, torch.tensor(x)).numpy()


def test_lgamma_is_exact_in_relative_terms_for_all_positive_x():
    np.testing.assert_allclose(*both("lgamma", POSITIVE), rtol=2e-15)


def test_lgamma_of_negative_x():
    # next to a zero, the error is small against 1
    np.testing.assert_allclose(*both("lgamma", NEGATIVE), rtol=2e-15, atol=4e-15)


def test_digamma_of_positive_x():
    np.testing.assert_allclose(*both("digamma", POSITIVE), rtol=2e-15, atol=4e-15)


def test_digamma_of_negative_x():
    # not next to poles, where PyTorch loses digits
    x = NEGATIVE[(NEGATIVE > -100) & (np.abs(NEGATIVE - np.round(NEGATIVE)) > 0.05)]
    np.testing.assert_allclose(*both("digamma", x), rtol=1e-14, atol=4e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 30])
def test_polygamma(n):
    x = np.concatenate([POSITIVE, NEGATIVE[NEGATIVE > -1000]])
    x = x[(np.abs(x) < 1e6) & (np.abs(x) > 1e-5)]
    x = x[(x > 0) | (np.abs(x - np.round(x)) > 1e-3)]
    ours, theirs = both("polygamma", x, n)
    if n == 1:  # PyTorch's trigamma has nine digits; its zeta function has all
        np.testing.assert_allclose(ours, theirs, rtol=1e-7)
        two = torch.tensor(2.0, dtype=torch.float64)
        theirs = torch.special.zeta(two, torch.tensor(x)).numpy()
    np.testing.assert_allclose(
        ours, theirs, rtol=1e-13, atol=1e-14
    )  # atol: zeros between the poles


def test_polygamma_at_poles_and_infinity():
    found = tt.polygamma(2, tt.tensor([0.0, -1.0, -3.0, float("inf"), float("nan")])).numpy()
    np.testing.assert_array_equal(found, [-np.inf, -np.inf, -np.inf, 0, np.nan])


def test_erfinv():
    x = np.concatenate([
        RANDOM.uniform(-1, 1, 5000), 10 ** RANDOM.uniform(-300, 0, 2000),
        1 - 10 ** RANDOM.uniform(-16, -1, 2000), [0.0, -0.0, 1, -1, 1.5, np.nan, np.inf],
    ])  # fmt: skip
    np.testing.assert_allclose(*both("erfinv", x), rtol=2e-15)


@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfinv"])
def test_float32_integers_and_empty(name):
    x = RANDOM.uniform(0.01, 0.99, 1000).astype(np.float32)
    ours, theirs = both(name, x)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, theirs, rtol=4e-6, atol=1e-6)
    assert getattr(tt, name)(tt.tensor([1, 1])).dtype == tt.float32
    assert getattr(tt, name)(tt.zeros(0, 3)).shape == (0, 3)


def test_lgamma_in_float32_is_rounded_from_float64():
    x = 10 ** RANDOM.uniform(-30, 30, 1000).astype(np.float32)
    exact = tt.lgamma(tt.tensor(x.astype(np.float64))).numpy().astype(np.float32)
    np.testing.assert_array_equal(tt.lgamma(tt.tensor(x)).numpy(), exact)


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma(name):
    a = np.concatenate([RANDOM.uniform(0, 5, 3000), 10 ** RANDOM.uniform(-5, 4, 3000)])
    x = a * np.exp(RANDOM.normal(0, 1, len(a)) / np.sqrt(1 + a)) + RANDOM.uniform(0, 2, len(a))
    edge = [0.0, 1.0, np.inf, -1.0, 1e-300, 0.5]
    a = np.concatenate([a, np.repeat(edge, len(edge))])
    x = np.concatenate([x, np.tile(edge, len(edge))])
    ours = getattr(tt, name)(tt.tensor(a), tt.tensor(x)).numpy()
    theirs = getattr(torch, name)(torch.tensor(a), torch.tensor(x)).numpy()
    near = ~(a > 20)  # beyond, PyTorch's series has nine digits
    np.testing.assert_allclose(ours[near], theirs[near], rtol=1e-11, atol=5e-14)
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("n, x", [(15, 14.5), (21, 20.0), (25, 26.5), (500, 480.0), (3000, 3010.0)])
def test_incomplete_gamma_of_integers(n, x):
    with localcontext() as context:  # igammac(n, x) = exp(−x)·Σ xᵏ/k!, k < n
        context.prec = 60
        term = total = Decimal(1)
        for k in range(1, n):
            term = term * Decimal(x) / k
            total += term
        exact = float(total * (-Decimal(x)).exp())
    a, b = tt.tensor(float(n), dtype=tt.float64), tt.tensor(x, dtype=tt.float64)
    np.testing.assert_allclose(tt.igammac(a, b).item(), exact, rtol=5e-15)
    np.testing.assert_allclose(tt.igamma(a, b).item(), 1 - exact, rtol=5e-15)


def test_in_place():
    for name in ("lgamma_", "digamma_", "erfinv_"):
        x = tt.tensor([0.3, 0.6])
        expected = getattr(x, name[:-1])().numpy()
        assert getattr(x, name)() is x
        np.testing.assert_array_equal(x.numpy(), expected)
    x = tt.tensor([1.3, 2.6])
    np.testing.assert_array_equal(x.clone().polygamma_(2).numpy(), tt.polygamma(2, x).numpy())
    np.testing.assert_array_equal(x.clone().mvlgamma_(2).numpy(), tt.mvlgamma(x, 2).numpy())


def test_refused():
    with pytest.raises(RuntimeError, match="polygamma: got n=-1, expected n >= 0"):
        tt.polygamma(-1, tt.ones(2))
    with pytest.raises(TypeError, match="polygamma: got n of type float, expected an int"):
        tt.polygamma(1.5, tt.ones(2))
    with pytest.raises(RuntimeError, match="mvlgamma: got p=0, expected p >= 1"):
        tt.mvlgamma(tt.ones(2), 0)
