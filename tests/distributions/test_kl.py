"""kl_divergence of every registered pair against PyTorch, values and gradients."""

import warnings

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")
KL = torch.distributions.kl._KL_REGISTRY

# Parameters of p and of q, of shapes that broadcast; some pairs give ∞
LOC_P, LOC_Q = [0.3, -1.0, 2.0], [[0.1], [-0.4]]
SCALE_P, SCALE_Q = [0.5, 1.5, 3.0], [[0.7], [2.0]]
MATRIX_P = [[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 0.8]]
MATRIX_Q = [[[1.0, 0.2, 0.0], [0.2, 1.1, 0.3], [0.0, 0.3, 2.0]]]
FACTOR_P, FACTOR_Q = [[0.5, 0.1], [0.2, -0.7], [1.0, 0.3]], [[[0.4], [0.9], [-0.2]]]
ARGS = {
    "Bernoulli": ({"probs": [0.2, 0.5, 0.9]}, {"logits": [[-0.3], [1.2]]}),
    "Beta": ({"concentration1": [0.8, 2.0, 3.0], "concentration0": [1.5, 0.7, 2.0]},
             {"concentration1": [[1.2], [0.6]], "concentration0": [[2.2], [0.9]]}),
    "Binomial": ({"total_count": 5, "probs": [0.2, 0.5, 0.9]},
                 {"total_count": 5, "probs": [[0.3], [0.6]]}),
    "Categorical": ({"probs": [[0.2, 0.3, 0.5]]}, {"logits": [[0.1, 0.5, -0.7], [1.0, 0.0, 0.2]]}),
    "Cauchy": ({"loc": LOC_P, "scale": SCALE_P}, {"loc": LOC_Q, "scale": SCALE_Q}),
    "ContinuousBernoulli": ({"probs": [0.2, 0.5003, 0.9]}, {"logits": [[-0.3], [1.2]]}),
    "Dirichlet": ({"concentration": [[0.3, 1.5, 7.0]]},
                  {"concentration": [[1.0, 0.6, 2.0], [3.0, 2.0, 2.5]]}),
    "Exponential": ({"rate": SCALE_P}, {"rate": SCALE_Q}),
    "Gamma": ({"concentration": [0.3, 1.0, 7.0], "rate": SCALE_P},
              {"concentration": [[1.3], [0.6]], "rate": SCALE_Q}),
    "Geometric": ({"probs": [0.2, 0.5, 0.9]}, {"logits": [[-0.3], [1.2]]}),
    "Gumbel": ({"loc": LOC_P, "scale": SCALE_P}, {"loc": LOC_Q, "scale": SCALE_Q}),
    "HalfNormal": ({"scale": SCALE_P}, {"scale": SCALE_Q}),
    "Laplace": ({"loc": LOC_P, "scale": SCALE_P}, {"loc": LOC_Q, "scale": SCALE_Q}),
    "LowRankMultivariateNormal": (
        {"loc": LOC_P, "cov_factor": FACTOR_P, "cov_diag": SCALE_P},
        {"loc": [LOC_P] * 2, "cov_factor": FACTOR_Q, "cov_diag": [SCALE_P]}),
    "MultivariateNormal": ({"loc": LOC_P, "covariance_matrix": MATRIX_P},
                           {"loc": [[0.0, 0.5, -0.5]] * 2, "covariance_matrix": MATRIX_Q}),
    "Normal": ({"loc": LOC_P, "scale": SCALE_P}, {"loc": LOC_Q, "scale": SCALE_Q}),
    "OneHotCategorical": ({"probs": [[0.2, 0.3, 0.5]]}, {"logits": [[0.1, 0.5, -0.7]]}),
    "Pareto": ({"scale": [0.4, 1.0, 2.0], "alpha": [2.5, 0.9, 1.5]},
               {"scale": [[0.2], [0.6]], "alpha": [[1.0], [2.0]]}),
    "Poisson": ({"rate": SCALE_P}, {"rate": SCALE_Q}),
    "Uniform": ({"low": [0.1, 0.3, -0.5], "high": [0.7, 0.9, 3.0]},
                {"low": [[-1.0], [0.2]], "high": [[2.0], [0.8]]}),
}  # fmt: skip
PAIRS = [(p.__name__, q.__name__) for p, q in KL if p.__name__ in ARGS and q.__name__ in ARGS]


def made(lib, name, args, dtype):
    """The distribution and its parameters that take gradients."""
    leaves = {
        key: lib.tensor(value, dtype=getattr(lib, dtype), requires_grad=True)
        for key, value in args.items()
        if isinstance(value, list)
    }
    return getattr(lib.distributions, name)(**args | leaves), leaves


def check(ours, theirs, our_leaves, their_leaves, rtol):
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    a, b = ours.detach().numpy(), theirs.detach().numpy()
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
    assert ours.requires_grad == theirs.requires_grad
    if not theirs.requires_grad:
        return
    finite = np.isfinite(b)
    f = tt.autograd.grad(ours[tt.tensor(finite)].sum(), our_leaves, allow_unused=True)
    g = torch.autograd.grad(theirs[torch.tensor(finite)].sum(), their_leaves, allow_unused=True)
    for mine, other in zip(f, g, strict=True):
        mine = np.zeros(1) if mine is None else mine.numpy()
        other = np.zeros(1) if other is None else np.nan_to_num(other.numpy())
        scale = max(1.0, np.abs(other).max())
        np.testing.assert_allclose(np.nan_to_num(mine), other, rtol=max(rtol, 1e-8),
                                   atol=max(rtol, 1e-8) * scale)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("p, q", PAIRS)
def test_pair(p, q, dtype):
    ours_p, a = made(tt, p, ARGS[p][0], dtype)
    ours_q, b = made(tt, q, ARGS[q][1], dtype)
    theirs_p, c = made(torch, p, ARGS[p][0], dtype)
    theirs_q, d = made(torch, q, ARGS[q][1], dtype)
    ours = tt.distributions.kl_divergence(ours_p, ours_q)
    try:
        theirs = torch.distributions.kl_divergence(theirs_p, theirs_q)
    except IndexError:  # where it writes ∞ in place, PyTorch does not broadcast
        theirs_p, theirs_q = theirs_p.expand((2, 3)), theirs_q.expand((2, 3))
        theirs = torch.distributions.kl_divergence(theirs_p, theirs_q)
    rtol = 1e-9 if dtype == "float64" else 5e-4
    check(ours, theirs, [*a.values(), *b.values()], [*c.values(), *d.values()], rtol)


def test_every_pair_is_registered():
    from tinytensor.distributions.kl.registry import _RULES

    ours = {(p.__name__, q.__name__) for p, q in _RULES}
    # PyTorch has only the rule for all exponential families, which adds up the batches of Wisharts
    assert ours == {(p.__name__, q.__name__) for p, q in KL} | {("Wishart", "Wishart")}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_wishart(dtype):
    """PyTorch's value, one matrix at a time; the gradient by finite differences."""
    dfs, others = [3.5, 6.0], [[5.0], [3.25]]
    more = np.array(MATRIX_P) + 2 * np.eye(3)
    found = []
    for lib in (tt, torch):
        d, kind = lib.distributions, getattr(lib, dtype)
        p = [d.Wishart(lib.tensor(df, dtype=kind), lib.tensor(more, dtype=kind)) for df in dfs]
        q = [
            d.Wishart(lib.tensor(df[0], dtype=kind), lib.tensor(MATRIX_Q[0], dtype=kind))
            for df in others
        ]
        found.append([[float(d.kl_divergence(a, b).detach()) for a in p] for b in q])
    rtol = 1e-9 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(found[0], found[1], rtol=rtol, atol=rtol)
    d, kind = tt.distributions, getattr(tt, dtype)
    p = d.Wishart(tt.tensor(dfs, dtype=kind), tt.tensor(more, dtype=kind))
    q = d.Wishart(tt.tensor(others, dtype=kind), tt.tensor(MATRIX_Q, dtype=kind))
    together = d.kl_divergence(p, q)
    assert together.shape == (2, 2) and together.dtype == kind
    np.testing.assert_allclose(together.numpy(), found[0], rtol=rtol, atol=rtol)
    with pytest.raises(ValueError, match="different event shapes"):
        d.kl_divergence(p, d.Wishart(tt.tensor(3.0), tt.eye(2)))


def test_gradient_of_wishart():
    lower = np.linalg.cholesky(np.array(MATRIX_P) + np.eye(3))

    def divergence(a, b, s, t):
        d = tt.distributions
        p = d.Wishart(a, scale_tril=s.tril(), validate_args=False)
        return d.kl_divergence(p, d.Wishart(b, scale_tril=t.tril(), validate_args=False))

    leaves = [
        tt.tensor(value, dtype=tt.float64, requires_grad=True)
        for value in (4.5, [3.5, 6.0], lower, np.eye(3) + 0.1)
    ]
    assert tt.autograd.gradcheck(divergence, leaves)


def test_composed():
    """Independent, transformed and base classes, and exponential families by their base rule."""
    d, e = tt.distributions, torch.distributions
    for lib, out in ((d, []), (e, [])):
        t = tt if lib is d else torch
        loc = t.tensor([[0.3, 1.0], [0.2, -0.5]])
        one = lib.Normal(loc, 1.5)
        two = lib.Normal(0.0, t.tensor(1.0)).expand((2, 2))
        out.append(lib.kl_divergence(lib.Independent(one, 1), lib.Independent(two, 1)))
        out.append(lib.kl_divergence(lib.LogNormal(loc, 1.5), lib.LogNormal(loc * 2, 0.5)))
        steps = [lib.AffineTransform(1.0, 2.0), lib.ExpTransform()]
        out.append(lib.kl_divergence(lib.TransformedDistribution(one, steps),
                                     lib.TransformedDistribution(two, list(steps))))  # fmt: skip
        out.append(lib.kl_divergence(lib.Chi2(t.tensor(3.0)), lib.Gamma(t.tensor(2.0), 1.0)))
        base = t.distributions.kl
        rule = base._kl_expfamily_expfamily if lib is e else base.same._exponential_family
        gammas = [lib.Gamma(t.tensor([2.0, a]), t.tensor([1.0, 0.5])) for a in (0.5, 3.0)]
        out.append(rule(*gammas))
        results = out if lib is d else None
        if results is not None:
            ours = results
        else:
            theirs = out
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5)


def test_impossible_values():
    d = tt.distributions
    sure, never = d.Categorical(probs=tt.tensor([1.0, 0.0])), d.Categorical(tt.tensor([0.0, 1.0]))
    half = d.Categorical(tt.tensor([0.5, 0.5]))
    assert float(d.kl_divergence(half, never)) == np.inf
    np.testing.assert_allclose(float(d.kl_divergence(sure, half)), np.log(2), rtol=1e-6)
    one, zero = d.Bernoulli(tt.tensor(1.0)), d.Bernoulli(tt.tensor(0.0))
    assert float(d.kl_divergence(d.Bernoulli(tt.tensor(0.5)), zero)) == np.inf
    assert float(d.kl_divergence(one, one)) == 0


def test_errors():
    d = tt.distributions
    normal, poisson = d.Normal(0.0, 1.0), d.Poisson(1.0)
    with pytest.raises(NotImplementedError, match="VonMises and q type Normal"):
        d.kl_divergence(d.VonMises(0.0, 1.0), normal)
    with pytest.raises(NotImplementedError, match="different exponential families"):
        d.kl_divergence(normal, poisson)
    with pytest.raises(NotImplementedError, match="total_count"):
        d.kl_divergence(d.Binomial(2, tt.tensor(0.5)), d.Binomial(3, tt.tensor(0.5)))
    with pytest.raises(NotImplementedError, match="event dimensions"):
        wide = d.Normal(tt.zeros(2, 2), 1.0)
        d.kl_divergence(d.Independent(wide, 1), d.Independent(wide, 2))
    with pytest.raises(TypeError, match="register_kl"):
        d.register_kl(int, d.Normal)


def test_own_rules():
    d = tt.distributions

    class Mine(d.Normal):
        pass

    @d.register_kl(Mine, d.Normal)
    def rule(p, q):
        return tt.tensor(7.0)

    assert float(d.kl_divergence(Mine(0.0, 1.0), d.Normal(0.0, 1.0))) == 7
    assert float(d.kl_divergence(d.Normal(0.0, 1.0), Mine(0.0, 1.0))) == 0

    @d.register_kl(d.Normal, Mine)
    def other(p, q):
        return tt.tensor(8.0)

    with pytest.warns(RuntimeWarning, match="Ambiguous"):
        assert float(d.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0))) == 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d.kl_divergence(d.Normal(0.0, 1.0), Mine(0.0, 1.0))
