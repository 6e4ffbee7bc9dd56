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
])  # fmt: skip
def test_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


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
