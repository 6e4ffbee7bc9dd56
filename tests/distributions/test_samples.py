"""Samples: their moments, and the gradients of rsample."""

import numpy as np
import pytest

import tinytensor as tt

from .cases import CASES, Case

NO_MOMENTS = {"Cauchy", "LogisticNormal", "RelaxedBernoulli", "RelaxedOneHotCategorical",
              "LKJCholesky", "VonMises"}  # fmt: skip
REJECTION = {"Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT",
             "Wishart"}  # fmt: skip


def build(case, shift=None):
    """The float64 distribution and its leaves; shift adds to one element: (name, index, by)."""
    args, leaves = {}, {}
    for name, value in case.args.items():
        if isinstance(value, list):
            array = np.array(value, dtype=np.float64)
            if shift is not None and shift[0] == name:
                array.reshape(-1)[shift[1]] += shift[2]
            value = leaves[name] = tt.tensor(array, requires_grad=True)
        elif isinstance(value, np.ndarray):
            value = tt.tensor(value)
        args[name] = value
    return getattr(tt.distributions, case.name)(**args), leaves


@pytest.mark.parametrize("case", [c for c in CASES if c.name not in NO_MOMENTS], ids=str)
def test_moments(case: Case):
    tt.manual_seed(0)
    ours, _ = build(case)
    count = 20000
    x = ours.sample((count,)).numpy().astype(np.float64)
    mean, variance = (np.asarray(m.detach().numpy()) for m in (ours.mean, ours.variance))
    finite = np.isfinite(mean) & np.isfinite(variance) & (variance > 0)
    if finite.any():
        error = np.abs(x.mean(0) - mean) / np.sqrt(np.where(finite, variance, 1) / count)
        assert np.all(error[finite] < 5)
        kurtosis = np.mean((x - x.mean(0)) ** 4, 0)
        spread = np.sqrt(np.maximum(kurtosis - x.var(0) ** 2, 1e-12) / count)
        assert np.all((np.abs(x.var(0) - variance) < 6 * spread + 1e-9)[finite])


NAMES = ("Cauchy", "Laplace", "HalfCauchy", "Pareto", "Gumbel", "Weibull", "GeneralizedPareto",
         "Kumaraswamy", "InverseGamma", "LogNormal", "ContinuousBernoulli")  # fmt: skip
WITH_CDF = [c for c in CASES if c.name in NAMES]


@pytest.mark.parametrize("case", WITH_CDF, ids=str)
def test_the_cdf_of_samples_is_uniform(case: Case):
    tt.manual_seed(2)
    ours, _ = build(case)
    u = np.sort(ours.cdf(ours.sample((5000,))).detach().numpy(), axis=0)
    steps = np.arange(1, 5001)[:, None] / 5000
    assert np.abs(u - steps).max() < 1.95 / np.sqrt(5000)  # Kolmogorov and Smirnov, 0.1 %


SYMMETRIC = ("covariance", "precision")  # one element cannot move alone
WITH_RSAMPLE = [c for c in CASES if getattr(tt.distributions, c.name).has_rsample is not False]
PATHWISE = [c for c in WITH_RSAMPLE if c.name not in REJECTION and c.label not in SYMMETRIC]


@pytest.mark.parametrize("case", PATHWISE, ids=str)
def test_rsample_gradients_for_the_same_noise(case: Case):
    """With the same seed, a draw is a function of the parameters: compare with differences."""
    if case.name == "OneHotCategoricalStraightThrough":
        pytest.skip("its gradient is that of the probabilities")
    ours, leaves = build(case)
    if not ours.has_rsample:
        pytest.skip("no rsample")
    tt.manual_seed(3)
    x = ours.rsample((2,))
    weights = np.random.default_rng(0).uniform(0.5, 1.5, x.shape)

    def total(shift):
        tt.manual_seed(3)
        moved, _ = build(case, shift)
        return (moved.rsample((2,)).detach().numpy() * weights).sum()

    (x * tt.tensor(weights)).sum().backward()
    for name, leaf in leaves.items():
        for i, g in enumerate(leaf.grad.numpy().reshape(-1)):
            if case.name == "GeneralizedPareto" and leaf.reshape(-1)[i].item() == 0:
                continue  # a concentration of 0 has a formula, and no gradient, of its own
            if name == "scale_tril" and leaf.reshape(-1)[i].item() == 0:
                continue  # it must stay lower triangular
            step = 1e-6
            slope = (total((name, i, step)) - total((name, i, -step))) / (2 * step)
            assert abs(slope - g) <= 1e-5 * max(1, abs(g)), (name, i, slope, g)


@pytest.mark.parametrize("case", [c for c in CASES if c.name in REJECTION - {"Wishart"}],
                         ids=str)  # fmt: skip
def test_gradients_of_the_mean(case: Case):
    """The mean of the draws' gradients is the gradient of the mean, within the sampling error."""
    tt.manual_seed(0)
    count = 4000
    ours, leaves = build(case)
    many = {
        name: tt.tensor(np.tile(leaf.detach().numpy(), (count, *[1] * leaf.dim())))
        for name, leaf in leaves.items()
    }
    draws = type(ours)(**case.args | {k: v.requires_grad_() for k, v in many.items()}).rsample()
    variance = ours.variance.detach().numpy()
    sure = np.isfinite(variance) & (variance < 50)
    for index in np.argwhere(sure):
        at = tuple(int(i) for i in index)
        for name, leaf in leaves.items():
            exact = np.zeros(leaf.shape)
            if ours.mean.requires_grad:
                (g,) = tt.autograd.grad(ours.mean[at], leaf, retain_graph=True, allow_unused=True)
                exact = exact if g is None else g.numpy()
            (g,) = tt.autograd.grad(draws[(slice(None), *at)].sum(), many[name], retain_graph=True)
            error = g.numpy().std(0) / np.sqrt(count)
            assert np.all(np.abs(g.numpy().mean(0) - exact) <= 5.5 * error + 1e-9), (name, at)


def test_wishart_gradients():
    """E[X] = df·Σ, so the gradients of tr X are tr Σ, and df·2·L for the factor L of Σ."""
    tt.manual_seed(0)
    lower = tt.tensor([[1.2, 0.0], [0.3, 0.9]], dtype=tt.float64, requires_grad=True)
    df = tt.tensor(4.0, dtype=tt.float64, requires_grad=True)
    draws = tt.distributions.Wishart(df, scale_tril=lower).rsample((20000,))
    draws.diagonal(dim1=-2, dim2=-1).sum(-1).mean().backward()
    np.testing.assert_allclose(float(df.grad), 1.2**2 + 0.3**2 + 0.9**2, rtol=0.03)
    np.testing.assert_allclose(lower.grad.tril().numpy(), (8 * lower).detach().numpy(), rtol=0.05)


def test_straight_through():
    logits = tt.tensor([0.3, -0.5, 1.0], requires_grad=True)
    draw = tt.distributions.OneHotCategoricalStraightThrough(logits=logits).rsample()
    assert sorted(draw.detach().numpy().round(5)) == [0, 0, 1]
    (draw * tt.tensor([1.0, 2.0, 3.0])).sum().backward()
    again = logits.detach().requires_grad_()
    (again.softmax(-1) * tt.tensor([1.0, 2.0, 3.0])).sum().backward()
    np.testing.assert_allclose(logits.grad.numpy(), again.grad.numpy(), rtol=1e-6)


@pytest.mark.parametrize("kappa", [1e-6, 0.5, 3.0, 200.0])
def test_von_mises_angles(kappa):
    tt.manual_seed(0)
    d = tt.distributions.VonMises(tt.tensor(1.0), tt.tensor(kappa))
    x = d.sample((20000,)).numpy().astype(np.float64)
    assert np.all(np.abs(x) <= np.pi + 1e-6)
    cos = np.cos(x - 1)
    assert abs(cos.mean() - (1 - float(d.variance))) < 5 * cos.std() / np.sqrt(20000) + 1e-7
    assert abs(np.sin(x - 1).mean()) < 5 * np.sin(x - 1).std() / np.sqrt(20000)


def test_lkj_correlations():
    tt.manual_seed(0)
    lower = tt.distributions.LKJCholesky(3, tt.tensor(2.0)).sample((20000,)).numpy()
    matrix = (lower @ lower.swapaxes(-1, -2)).astype(np.float64)
    np.testing.assert_allclose(np.diagonal(matrix, axis1=1, axis2=2), 1, rtol=1e-5)
    # (r + 1) / 2 of a correlation r is from Beta(a, a), a = η + (dim − 2)/2; its variance follows
    for i, j in ((1, 0), (2, 0), (2, 1)):
        r = matrix[:, i, j]
        assert abs(r.mean()) < 0.02 and abs(r.var() - 1 / 6) < 0.01


def test_a_sample_leaves_the_gradients_of_what_is_cached():
    """probs is computed in sample, under no_grad, and used for the entropy."""
    logits = tt.tensor([0.3, -0.5], requires_grad=True)
    d = tt.distributions.Bernoulli(logits=logits)
    d.sample()
    d.entropy().sum().backward()
    assert bool((logits.grad != 0).all())
