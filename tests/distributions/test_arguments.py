"""Parameters and values that are refused, with PyTorch's kind of error."""

import pytest

import tinytensor as tt

D = tt.distributions
NAN = float("nan")


@pytest.mark.parametrize("make, message", [
    (lambda: D.Normal(0.0, -1.0), "parameter scale .* constraint GreaterThan"),
    (lambda: D.Laplace(NAN, 1.0), "parameter loc .* constraint Real"),
    (lambda: D.Cauchy(0.0, 0.0), "parameter scale .* constraint GreaterThan"),
    (lambda: D.StudentT(-1.0), "parameter df .* constraint GreaterThan"),
    (lambda: D.Exponential(tt.tensor([1.0, -1.0])), "parameter rate .* shape \\(2,\\)"),
    (lambda: D.Gamma(1.0, 0.0), "parameter rate .* constraint GreaterThan"),
    (lambda: D.Chi2(0.0), "parameter df .* constraint GreaterThan"),
    (lambda: D.Beta(1.0, -1.0), "parameter concentration .* constraint IndependentConstraint"),
    (lambda: D.Dirichlet(tt.tensor(1.0)), "at least one-dimensional"),
    (lambda: D.Poisson(-1.0), "parameter rate .* constraint GreaterThanEq"),
    (lambda: D.Geometric(probs=0.0), "to be positive"),
    (lambda: D.Geometric(), "Either `probs` or `logits` must be specified, but not both"),
    (lambda: D.Binomial(-1, probs=0.5), "parameter total_count"),
    (lambda: D.NegativeBinomial(2, probs=1.0), "constraint HalfOpenInterval"),
    (lambda: D.Bernoulli(probs=1.5), "parameter probs .* constraint Interval"),
    (lambda: D.Uniform(2.0, 1.0), "Uniform is not defined when low>= high"),
    (lambda: D.Normal("a", 1.0), "got a parameter of type str"),
    (lambda: D.Exponential(1.0).log_prob(tt.tensor(-1.0)), "within the support"),
    (lambda: D.Poisson(1.0).log_prob(tt.tensor(0.5)), "within the support"),
    (lambda: D.Beta(1.0, 1.0).log_prob(tt.tensor(1.5)), "within the support"),
    (lambda: D.Dirichlet(tt.ones(2)).log_prob(tt.ones(2)), "within the support"),
    (lambda: D.Dirichlet(tt.ones(2)).log_prob(tt.ones(3)), "right-most size of value"),
    (lambda: D.Normal(tt.zeros(2), 1.0).log_prob(tt.zeros(3)), "not broadcastable"),
    (lambda: D.Normal(0.0, 1.0).log_prob(1.0), "must be a Tensor"),
    (lambda: D.ContinuousBernoulli(tt.tensor(1.5), validate_args=True), "invalid values"),
    (lambda: D.LKJCholesky(1), "greater than or equal to 2"),
    (lambda: D.MultivariateNormal(tt.zeros(()), tt.eye(2)), "loc must be at least one-dim"),
    (lambda: D.MultivariateNormal(tt.zeros(2)), "Exactly one of covariance_matrix"),
    (lambda: D.MultivariateNormal(tt.zeros(2), tt.zeros(2)), "at least two-dimensional"),
    (lambda: D.MultivariateNormal(tt.zeros(2), tt.eye(3)), r"expected \(…, 2, 2\)"),
    (lambda: D.MultivariateNormal(tt.zeros(2), -tt.eye(2)), "constraint PositiveDefinite"),
    (lambda: D.MultivariateNormal(tt.zeros(2), scale_tril=tt.ones(2, 2)), "LowerCholesky"),
    (lambda: D.LowRankMultivariateNormal(tt.zeros(2), tt.ones(3, 1), tt.ones(2)), "2 x m"),
    (lambda: D.LowRankMultivariateNormal(tt.zeros(2), tt.ones(2, 1), tt.ones(3)), "cov_diag must"),
    (lambda: D.LowRankMultivariateNormal(tt.zeros(3, 2), tt.ones(2, 2, 1), tt.ones(2)),
     "Incompatible batch shapes"),
    (lambda: D.Wishart(0.5, tt.eye(2)), "greater than ndim - 1"),
    (lambda: D.Wishart(3.0), "Exactly one of"),
    (lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(0.0, 1.0)), "expected Categorical"),
    (lambda: D.MixtureSameFamily(D.Categorical(tt.ones(2)), 3), "expected a Distribution"),
    (lambda: D.MixtureSameFamily(D.Categorical(tt.ones(2)), D.Normal(tt.zeros(3), 1.0)),
     "got 2 weights"),
    (lambda: D.MixtureSameFamily(D.Categorical(tt.ones(4, 2)), D.Normal(tt.zeros(3, 2), 1.0)),
     "not compatible"),
    (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "reinterpreted_batch_ndims=1"),
    (lambda: D.RelaxedBernoulli(tt.tensor(0.5)), "Either `probs` or `logits`"),
    (lambda: D.OneHotCategorical(tt.ones(3)).log_prob(tt.ones(3)), "within the support"),
    (lambda: D.Pareto(1.0, 2.0).log_prob(tt.tensor(0.5)), "within the support"),
    (lambda: D.Weibull(1.0, -2.0), "parameter concentration"),
])  # fmt: skip
def test_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_own_classes_define_expand():
    class Own(D.Distribution):
        arg_constraints = {}

        def __init__(self):
            super().__init__(validate_args=False)

    with pytest.raises(NotImplementedError, match="must define expand"):
        Own().expand((2,))

    class Mine(D.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    with pytest.raises(NotImplementedError, match="must define expand"):
        Mine(0.0).expand((2,))
    assert D.Normal(0.0, 1.0).expand(()).batch_shape == ()


def test_inhomogeneous_counts_are_refused():
    with pytest.raises(NotImplementedError, match="inhomogeneous total_count"):
        D.Multinomial(tt.tensor([1, 2]), tt.ones(2, 3))


def test_validation_can_be_turned_off():
    D.Normal(0.0, -1.0, validate_args=False)
    try:
        D.Distribution.set_default_validate_args(False)
        D.Exponential(1.0).log_prob(tt.tensor(-1.0))
    finally:
        D.Distribution.set_default_validate_args(True)


def test_numbers_and_empty_parameters():
    assert D.Gamma(2.0, 3.0).sample().shape == ()
    assert D.Gamma(tt.ones(0), tt.ones(0)).log_prob(tt.ones(0)).shape == (0,)
    assert D.Dirichlet(tt.ones(0, 3)).rsample((2,)).shape == (2, 0, 3)
