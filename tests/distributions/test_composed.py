"""Mixtures, Independent and TransformedDistribution against PyTorch, and training by rsample."""

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")
RANDOM = np.random.default_rng(0)
LOC, SCALE = RANDOM.normal(size=(2, 3)), np.exp(RANDOM.normal(size=(2, 3)))
WEIGHTS = RANDOM.normal(size=(2, 3))


def mixture(lib, loc, scale, weights):
    D = lib.distributions
    return D.MixtureSameFamily(D.Categorical(logits=weights), D.Normal(loc, scale))


def mixture_of_vectors(lib, loc, scale, weights):
    D = lib.distributions
    return D.MixtureSameFamily(
        D.Categorical(logits=weights[0, :2]), D.Independent(D.Normal(loc, scale), 1)
    )


def mixture_of_uniforms(lib, loc, scale, weights):
    D = lib.distributions
    return D.MixtureSameFamily(D.Categorical(logits=weights), D.Uniform(loc - 9, loc + 9 * scale))


def independent(lib, loc, scale, weights):
    D = lib.distributions
    return D.Independent(D.Laplace(loc, scale), 1)


def flow(lib, loc, scale, weights):
    D = lib.distributions
    steps = [D.AffineTransform(weights, -scale), D.TanhTransform(), D.AffineTransform(0.5, 3.0)]
    return D.TransformedDistribution(D.Normal(loc, 1.0), steps)


def decreasing(lib, loc, scale, weights):
    D = lib.distributions
    steps = [D.ExpTransform(), D.AffineTransform(0.0, -2.0)]
    return D.TransformedDistribution(D.Normal(loc, scale), steps)


def broadcast(lib, loc, scale, weights):
    """The transform's parameters have more elements than the base distribution."""
    D = lib.distributions
    return D.TransformedDistribution(D.Normal(loc[0, 0], 1.0), D.AffineTransform(weights, scale))


def coupled(lib, loc, scale, weights):
    D = lib.distributions
    return D.TransformedDistribution(D.Normal(loc, scale), D.StickBreakingTransform())


def reshaped(lib, loc, scale, weights):
    D = lib.distributions
    return D.TransformedDistribution(
        D.Independent(D.Normal(loc, scale), 1), [D.ReshapeTransform((3,), (3, 1)), D.ExpTransform()]
    )


REAL = RANDOM.normal(size=(4, 2, 3))
CASES = [
    (mixture, REAL[..., 0]),
    (mixture_of_vectors, REAL),
    (mixture_of_uniforms, REAL[..., 0]),
    (independent, REAL),
    (flow, np.tanh(REAL) * 2 + 0.5),
    (decreasing, -np.exp(REAL)),
    (broadcast, REAL),
    (coupled, np.full((2, 4), 0.25)),
    (reshaped, np.exp(REAL)[..., None]),
]


@pytest.mark.parametrize("make, value", CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_composed(make, value):
    results = []
    for lib in (tt, torch):
        leaves = [lib.tensor(v, requires_grad=True) for v in (LOC, SCALE, WEIGHTS, value)]
        d = make(lib, *leaves[:3])
        found = {"shapes": (tuple(d.batch_shape), tuple(d.event_shape), d.support.event_dim)}
        for name in ("log_prob", "cdf"):
            try:
                y = getattr(make(lib, *leaves[:3]), name)(leaves[3])
            except NotImplementedError:
                found[name] = None
                continue
            g = lib.autograd.grad(y.sum(), leaves, allow_unused=True)
            zeros = [np.zeros(leaf.shape) for leaf in leaves]
            g = [z if x is None else x.numpy() for x, z in zip(g, zeros, strict=True)]
            found[name] = [y.detach().numpy(), *g]
        for name in ("mean", "variance", "entropy"):
            try:
                y = getattr(d, name)
                found[name] = [(y() if callable(y) else y).detach().numpy()]
            except NotImplementedError:
                found[name] = None
        wide = d.expand((5, *d.batch_shape))
        one = leaves[3].detach()
        while one.dim() > len(d.batch_shape + d.event_shape):
            one = one[-1]
        found["expand"] = [wide.log_prob(one).detach().numpy()]
        found["samples"] = tuple(wide.sample((2,)).shape)
        results.append(found)
    ours, theirs = results
    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        if isinstance(expected, list):
            for a, b in zip(ours[name], expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=name)
        else:
            assert ours[name] == expected, name


@pytest.mark.parametrize("make", [flow, decreasing, broadcast])
def test_icdf(make):
    p = np.array([[0.1, 0.5, 0.9], [0.3, 0.7, 0.99]])
    ours, theirs = (
        make(lib, *(lib.tensor(v) for v in (LOC, SCALE, WEIGHTS))).icdf(lib.tensor(p)).numpy()
        for lib in (tt, torch)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-7)


def test_mixture_samples():
    tt.manual_seed(0)
    d = mixture(tt, *(tt.tensor(v) for v in (LOC, SCALE, WEIGHTS)))
    x = d.sample((20000,)).numpy()
    error = np.sqrt(d.variance.numpy() / 20000)
    assert np.all(np.abs(x.mean(0) - d.mean.numpy()) < 5 * error)
    np.testing.assert_allclose(x.var(0), d.variance.numpy(), rtol=0.1)
    d = mixture_of_vectors(tt, *(tt.tensor(v) for v in (LOC, SCALE, WEIGHTS)))
    assert d.sample((6,)).shape == (6, 3)


def test_a_posterior_is_found_by_rsample():
    """Variational inference: the ELBO leads Normal(m, s) to the known posterior."""
    D = tt.distributions
    tt.manual_seed(0)
    data = tt.tensor([1.2, 0.7, 1.9, 1.4])
    m, s = tt.zeros(1, requires_grad=True), tt.zeros(1, requires_grad=True)
    optimizer = tt.optim.Adam([m, s], lr=0.05)
    for _ in range(300):
        q = D.Normal(m, s.exp())
        z = q.rsample((16,))
        likelihood = D.Normal(z, 1.0).log_prob(data).sum(-1)
        loss = (D.kl_divergence(q, D.Normal(0.0, 1.0)) - likelihood.mean()).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    np.testing.assert_allclose(float(m), float(data.sum()) / 5, atol=0.08)
    np.testing.assert_allclose(float(s.exp()), 5**-0.5, atol=0.06)


def test_a_gamma_is_fitted_by_rsample():
    """Implicit gradients: match the first two moments of a target by draws."""
    D = tt.distributions
    tt.manual_seed(0)
    a, b = tt.zeros(1, requires_grad=True), tt.zeros(1, requires_grad=True)
    optimizer = tt.optim.Adam([a, b], lr=0.05)
    for _ in range(200):
        x = D.Gamma(a.exp(), b.exp()).rsample((400,))
        loss = (x.mean() - 3.0) ** 2 + (x.var() - 1.5) ** 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    np.testing.assert_allclose([float(a.exp()), float(b.exp())], [6.0, 2.0], rtol=0.12)
