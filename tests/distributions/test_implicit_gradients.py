"""Gradients of gamma and Dirichlet draws with respect to their concentrations."""

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.distributions.implicit import dirichlet_grad, standard_gamma_grad

RANDOM = np.random.default_rng(0)


def integrated(density, low, high):
    """∫ density from low to high: Gauss and Legendre's rule on many small pieces."""
    points, weights = np.polynomial.legendre.leggauss(40)
    edges = np.linspace(low, high, 41)
    half = np.diff(edges)[:, None] / 2
    return float((density(edges[:-1, None] + half * (points + 1)) * weights * half).sum())


@pytest.mark.parametrize("a, x", [(0.05, 1e-6), (0.3, 0.8), (0.3, 4.0), (1.0, 1.02), (2.5, 0.4),
                                  (2.5, 9.0), (40.0, 38.0), (40.0, 41.5)])  # fmt: skip
def test_gamma_moves_with_its_cdf(a, x):
    """−(∂F/∂a) / p(x), with F from an integral over log t and ∂F/∂a from differences."""

    def cdf(a):
        low = np.log(x) - 60 / a - 5
        density = lambda s: np.exp(a * s - np.exp(s))  # noqa: E731
        return integrated(density, low, np.log(x)) / gamma(a)

    from math import gamma

    step = 1e-4 * a
    slope = (8 * (cdf(a + step) - cdf(a - step)) - (cdf(a + 2 * step) - cdf(a - 2 * step))) / 12
    expected = -slope / step / (x ** (a - 1) * np.exp(-x) / gamma(a))
    found = standard_gamma_grad(np.array([a]), np.array([x]))[0]
    np.testing.assert_allclose(found, expected, rtol=2e-6)


@pytest.mark.parametrize("a, b, x", [(0.3, 0.7, 0.01), (2.0, 3.0, 0.4), (2.0, 3.0, 0.9),
                                     (5.7, 102.7, 0.096), (30.0, 4.0, 0.85)])  # fmt: skip
def test_beta_moves_with_its_cdf(a, b, x):
    from math import gamma

    def cdf(a):
        low = np.log(x) - 60 / a
        density = lambda s: np.exp(a * s + (b - 1) * np.log1p(-np.exp(s)))  # noqa: E731
        return integrated(density, low, np.log(x)) * gamma(a + b) / gamma(a) / gamma(b)

    step = 1e-4 * a
    slope = (8 * (cdf(a + step) - cdf(a - step)) - (cdf(a + 2 * step) - cdf(a - 2 * step))) / 12
    density = x ** (a - 1) * (1 - x) ** (b - 1) * gamma(a + b) / gamma(a) / gamma(b)
    expected = -slope / step / density / (1 - x)
    found = dirichlet_grad(np.array([x]), np.array([a]), np.array([a + b]))[0]
    np.testing.assert_allclose(found, expected, rtol=2e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gamma_against_pytorch(dtype):
    """Where PyTorch interpolates, it has three digits."""
    torch = pytest.importorskip("torch")
    a = (10 ** RANDOM.uniform(-2, 3, 5000)).astype(dtype)
    x = np.maximum(RANDOM.standard_gamma(a), 1e-30).astype(dtype)
    theirs = torch._standard_gamma_grad(torch.tensor(a), torch.tensor(x)).numpy()
    ours = standard_gamma_grad(a, x)
    assert ours.dtype == dtype
    np.testing.assert_allclose(ours, theirs, rtol=4e-3)
    assert np.quantile(np.abs(ours / theirs - 1), 0.99) < 3e-4


def test_dirichlet_against_pytorch():
    torch = pytest.importorskip("torch")
    a = 10 ** RANDOM.uniform(-1.5, 2, 5000)
    b = 10 ** RANDOM.uniform(-1.5, 2, 5000)
    x = np.clip(RANDOM.beta(a, b), 1e-12, 1 - 1e-12)
    theirs = torch._dirichlet_grad(*(torch.tensor(v) for v in (x, a, a + b))).numpy()
    ours = dirichlet_grad(x, a, a + b)
    np.testing.assert_allclose(ours, theirs, rtol=4e-3)
    assert np.quantile(np.abs(ours / theirs - 1), 0.99) < 1e-3


def test_gradients_reach_the_parameters():
    tt.manual_seed(0)
    a = tt.tensor([0.5, 2.0, 20.0], dtype=tt.float64, requires_grad=True)
    rate = tt.tensor([1.0, 2.0, 3.0], dtype=tt.float64, requires_grad=True)
    draw = tt.distributions.Gamma(a, rate).rsample((20000,))
    draw.mean(0).sum().backward()  # the mean is a / rate
    np.testing.assert_allclose(a.grad.numpy(), 1 / rate.detach().numpy(), rtol=0.05)
    np.testing.assert_allclose(rate.grad.numpy(), (-a / rate**2).detach().numpy(), rtol=0.05)


def test_beta_draws():
    tt.manual_seed(0)
    a = tt.tensor(2.0, dtype=tt.float64, requires_grad=True)
    b = tt.tensor(3.0, dtype=tt.float64, requires_grad=True)
    tt.distributions.Beta(a, b).rsample((20000,)).mean().backward()  # the mean is a / (a + b)
    np.testing.assert_allclose([a.grad.item(), b.grad.item()], [3 / 25, -2 / 25], rtol=0.05)


def test_dirichlet_backward_is_pytorchs():
    torch = pytest.importorskip("torch")
    tt.manual_seed(0)
    a = tt.tensor([[0.5, 2.0, 7.0], [3.0, 1.0, 0.4]], dtype=tt.float64, requires_grad=True)
    draw = tt.distributions.Dirichlet(a).rsample()
    g = np.array([[0.3, -1.0, 2.0], [1.0, 0.5, -0.7]])
    draw.backward(tt.tensor(g))
    x, b = (torch.tensor(v.detach().numpy()) for v in (draw, a))
    h = torch.tensor(g)
    expected = torch._dirichlet_grad(x, b, b.sum(-1, True).expand_as(b))
    expected = expected * (h - (x * h).sum(-1, True))
    np.testing.assert_allclose(a.grad.numpy(), expected.numpy(), rtol=4e-3)


def test_tiny_concentrations_give_probabilities():
    draw = tt.distributions.Dirichlet(tt.full((1000, 3), 1e-4)).sample()
    assert bool(draw.isfinite().all())
    np.testing.assert_allclose(draw.sum(-1).numpy(), 1, rtol=1e-6)


@pytest.mark.parametrize("a", [1e-6, 1e-3, 1.0, 1e4, 1e7])
def test_extreme_concentrations_have_finite_gradients(a):
    tt.manual_seed(0)
    leaf = tt.full((200,), a, dtype=tt.float64, requires_grad=True)
    tt.distributions.Gamma(leaf, 1.0).rsample().sum().backward()
    assert bool(leaf.grad.isfinite().all()) and bool((leaf.grad >= 0).all())


def test_nan_gives_nan():
    a, x = np.array([np.nan, 2.0]), np.array([1.0, 1.5])
    assert np.isnan(standard_gamma_grad(a, x)).tolist() == [True, False]
    assert np.isnan(dirichlet_grad(x / 3, a, a + 1)).tolist() == [True, False]
    assert standard_gamma_grad(np.ones(0), np.ones(0)).shape == (0,)


def test_second_derivatives_are_refused():
    a = tt.tensor([1.5], requires_grad=True)
    (g,) = tt.autograd.grad(tt.distributions.Gamma(a, 1.0).rsample().sum(), a, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivative is not implemented"):
        g.sum().backward()


@pytest.mark.parametrize(
    "make",
    [
        lambda a: tt.distributions.Gamma(a, 2.0),
        lambda a: tt.distributions.Beta(a, a + 1),
        lambda a: tt.distributions.Dirichlet(a),
        lambda a: tt.distributions.StudentT(a),
        lambda a: tt.distributions.Normal(a, a),
        lambda a: tt.distributions.Laplace(a, a),
    ],
)
def test_a_draw_may_be_written_to(make):
    """A write into a draw does not reach the numbers that its gradient needs."""
    found = []
    for in_place in (False, True):
        tt.manual_seed(0)
        a = tt.tensor([0.7, 1.5, 4.0], dtype=tt.float64, requires_grad=True)
        draw = make(a).rsample()
        draw = draw.mul_(3).add_(1) if in_place else draw * 3 + 1
        draw.pow(2).sum().backward()
        found.append(a.grad.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", [tt.float32, tt.float64])
@pytest.mark.parametrize("a", [0.001, 0.01, 0.1])
def test_small_concentrations_have_gradients(a, dtype):
    """Most draws round to 0 or 1, where there is none: they stay just inside, as in PyTorch."""
    tt.manual_seed(0)
    for shape in ((200, 2), (200, 3)):
        concentration = tt.full(shape, a, dtype=dtype, requires_grad=True)
        drawn = tt.distributions.Dirichlet(concentration).rsample()
        assert bool(((drawn > 0) & (drawn < 1)).all())
        drawn[:, 0].sum().backward()
        assert concentration.grad is not None
        assert bool(concentration.grad.isfinite().all())
    for argument in range(2):
        pair = [tt.full((200,), a, dtype=dtype) for _ in range(2)]
        pair[argument].requires_grad_()
        tt.distributions.Beta(*pair).rsample().sum().backward()
        assert bool(pair[argument].grad.isfinite().all())
