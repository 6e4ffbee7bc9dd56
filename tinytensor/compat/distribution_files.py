"""Import paths of torch.distributions, which has a file for each class."""

_FILES = {
    "beta": "continuous.dirichlet",
    "cauchy": "continuous.cauchy",
    "chi2": "continuous.gamma",
    "continuous_bernoulli": "continuous.continuous_bernoulli",
    "dirichlet": "continuous.dirichlet",
    "exponential": "continuous.exponential",
    "fishersnedecor": "continuous.fisher_snedecor",
    "gamma": "continuous.gamma",
    "generalized_pareto": "continuous.pareto",
    "gumbel": "continuous.extreme_value",
    "half_cauchy": "continuous.half",
    "half_normal": "continuous.half",
    "inverse_gamma": "continuous.gamma",
    "kumaraswamy": "continuous.kumaraswamy",
    "laplace": "continuous.laplace",
    "log_normal": "continuous.log_normal",
    "logistic_normal": "continuous.log_normal",
    "normal": "continuous.normal",
    "pareto": "continuous.pareto",
    "studentT": "continuous.student_t",
    "uniform": "continuous.uniform",
    "von_mises": "continuous.von_mises",
    "weibull": "continuous.extreme_value",
    "bernoulli": "discrete.bernoulli",
    "binomial": "discrete.counts",
    "categorical": "discrete.categorical",
    "geometric": "discrete.counts",
    "multinomial": "discrete.multinomial",
    "negative_binomial": "discrete.counts",
    "one_hot_categorical": "discrete.one_hot_categorical",
    "poisson": "discrete.poisson",
    "relaxed_bernoulli": "discrete.relaxed",
    "relaxed_categorical": "discrete.relaxed",
    "lkj_cholesky": "multivariate.lkj_cholesky",
}
PATHS = {
    f"tinytensor.distributions.{name}": f"tinytensor.distributions.{file}"
    for name, file in _FILES.items()
}
