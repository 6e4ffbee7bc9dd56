"""The distributions that the tests compare with PyTorch: parameters and values, as plain lists."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Case:
    """A distribution by name, with parameters (arrays become tensors) and values to score."""

    name: str
    args: dict[str, Any]
    values: Any
    label: str = ""
    at: Any = field(default=None)  # probabilities for icdf

    def __str__(self) -> str:
        return f"{self.name} {self.label}".strip()


REAL = [[-1.3, 0.2, 2.5], [0.7, -0.4, 0.05]]
POSITIVE = [[0.3, 1.7, 2.5], [0.05, 4.0, 9.0]]
UNIT = [[0.1, 0.5, 0.97], [0.3, 0.02, 0.8]]
COUNTS = [[0.0, 1.0, 4.0], [3.0, 2.0, 0.0]]
BITS = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
LOC, SCALE = [0.3, -1.0, 2.0], [0.5, 1.5, 3.0]
P = [0.2, 0.5, 0.9]
LOGITS = [-1.2, 0.3, 2.0]
SIMPLEX = [[0.2, 0.3, 0.5], [0.7, 0.1, 0.2]]

ONE_HOT = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
CORRELATION = [[1.0, 0.0], [0.6, 0.8]]
CORRELATION_3 = [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-0.48, 0.64, 0.6]]

LOWER = [[1.2, 0.0, 0.0], [0.3, 0.9, 0.0], [-0.2, 0.5, 0.7]]
COVARIANCE = [[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 0.8]]
FACTOR = [[0.5, 0.1], [0.2, -0.7], [1.0, 0.3]]

CASES = [
    Case("Normal", {"loc": LOC, "scale": SCALE}, REAL),
    Case("Laplace", {"loc": LOC, "scale": SCALE}, REAL),
    Case("Cauchy", {"loc": LOC, "scale": SCALE}, REAL),
    Case("StudentT", {"df": [0.8, 1.5, 4.0], "loc": LOC, "scale": SCALE}, REAL),
    Case("StudentT", {"df": [2.5, 3.5, 4.0]}, REAL, "defaults"),
    Case("Uniform", {"low": [-2.0, -1.0, -0.5], "high": [1.0, 2.0, 3.0]}, REAL),
    Case("Exponential", {"rate": SCALE}, POSITIVE),
    Case("Gamma", {"concentration": [0.3, 1.0, 7.0], "rate": SCALE}, POSITIVE),
    Case("Chi2", {"df": [0.8, 2.0, 7.0]}, POSITIVE),
    Case("Beta", {"concentration1": [0.3, 1.5, 7.0], "concentration0": [2.0, 3.5, 1.2]}, UNIT),
    Case("Dirichlet", {"concentration": [[0.3, 1.5, 7.0], [2.0, 3.0, 1.2]]}, SIMPLEX),
    Case("Dirichlet", {"concentration": [0.3, 0.5, 0.2]}, SIMPLEX, "corner"),
    Case("Poisson", {"rate": [0.3, 1.7, 6.0]}, COUNTS),
    Case("Geometric", {"probs": P}, COUNTS, "probs"),
    Case("Geometric", {"logits": LOGITS}, COUNTS, "logits"),
    Case("Binomial", {"total_count": 5, "probs": P}, COUNTS, "probs"),
    Case("Binomial", {"total_count": np.array([4, 5, 9]), "logits": LOGITS}, COUNTS, "logits"),
    Case("NegativeBinomial", {"total_count": 5, "probs": P}, COUNTS, "probs"),
    Case("NegativeBinomial", {"total_count": [0.5, 2.0, 3.0], "logits": LOGITS}, COUNTS, "logits"),
    Case("Bernoulli", {"probs": P}, BITS, "probs"),
    Case("Bernoulli", {"logits": LOGITS}, BITS, "logits"),
    Case("Categorical", {"probs": [[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]]}, [0, 2], "probs"),
    Case("Categorical", {"logits": [[0.2, 0.3, 0.5], [-1.0, 1.0, 2.0]]}, [1, 0], "logits"),
    # made from other distributions, or with functions of their own
    Case("HalfNormal", {"scale": SCALE}, POSITIVE),
    Case("HalfCauchy", {"scale": SCALE}, POSITIVE),
    Case("LogNormal", {"loc": LOC, "scale": [0.5, 0.8, 1.0]}, POSITIVE),
    Case("LogisticNormal", {"loc": [0.3, -1.0], "scale": [0.5, 1.5]}, SIMPLEX),
    Case("Gumbel", {"loc": LOC, "scale": SCALE}, REAL),
    Case("Weibull", {"scale": SCALE, "concentration": [0.7, 1.0, 3.0]}, POSITIVE),
    Case("Pareto", {"scale": [0.02, 0.5, 1.5], "alpha": [0.7, 1.5, 4.5]}, POSITIVE),
    Case(
        "GeneralizedPareto",
        {"loc": [0.0, -0.5, 0.01], "scale": SCALE, "concentration": [0.3, 0.0, -0.2]},
        POSITIVE,
    ),
    Case(
        "GeneralizedPareto",
        {"loc": [0.0], "scale": [12.0], "concentration": [-1.0]},
        POSITIVE,
        "uniform",
    ),
    Case("InverseGamma", {"concentration": [0.8, 1.5, 7.0], "rate": SCALE}, POSITIVE),
    Case(
        "Kumaraswamy", {"concentration1": [0.7, 1.5, 3.0], "concentration0": [2.0, 0.5, 1.2]}, UNIT
    ),
    Case("FisherSnedecor", {"df1": [1.5, 3.0, 7.0], "df2": [3.0, 9.0, 2.0]}, POSITIVE),
    Case("ContinuousBernoulli", {"probs": [0.2, 0.5004, 0.9]}, UNIT, "probs"),
    Case("ContinuousBernoulli", {"logits": LOGITS}, UNIT, "logits"),
    Case("VonMises", {"loc": LOC, "concentration": [0.3, 2.0, 50.0]}, REAL),
    Case("OneHotCategorical", {"probs": [[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]]}, ONE_HOT, "probs"),
    Case("OneHotCategorical", {"logits": [0.2, -0.3, 0.5]}, ONE_HOT, "logits"),
    Case("OneHotCategoricalStraightThrough", {"probs": [0.2, 0.3, 0.5]}, ONE_HOT),
    Case("Multinomial", {"total_count": 7, "probs": [0.2, 0.3, 0.5]}, [[4.0, 3.0, 0.0]], "probs"),
    Case(
        "Multinomial",
        {"total_count": 3, "logits": [[0.2, -0.3], [1.0, 0.0]]},
        [[1.0, 2.0], [3.0, 0.0]],
        "logits",
    ),
    Case("RelaxedBernoulli", {"temperature": [0.7], "probs": P}, UNIT, "probs"),
    Case("RelaxedBernoulli", {"temperature": [0.3], "logits": LOGITS}, UNIT, "logits"),
    Case(
        "RelaxedOneHotCategorical",
        {"temperature": [0.7], "probs": [0.2, 0.3, 0.5]},
        SIMPLEX,
        "probs",
    ),
    Case(
        "RelaxedOneHotCategorical",
        {"temperature": [0.7], "logits": [[0.2, -0.3, 0.5]] * 2},
        SIMPLEX,
        "logits",
    ),
    Case("LKJCholesky", {"dim": 2, "concentration": [0.5, 1.0]}, [CORRELATION], "2"),
    Case("LKJCholesky", {"dim": 3, "concentration": 1.5}, [CORRELATION_3], "3"),
    Case("MultivariateNormal", {"loc": LOC, "covariance_matrix": COVARIANCE}, REAL, "covariance"),
    Case(
        "MultivariateNormal",
        {"loc": [LOC, REAL[0]], "precision_matrix": COVARIANCE},
        REAL,
        "precision",
    ),
    Case(
        "MultivariateNormal", {"loc": LOC, "scale_tril": [LOWER, CORRELATION_3]}, REAL, "scale_tril"
    ),
    Case(
        "LowRankMultivariateNormal",
        {"loc": LOC, "cov_factor": [[0.5], [-0.3], [1.0]], "cov_diag": SCALE},
        REAL,
    ),
    Case(
        "LowRankMultivariateNormal",
        {"loc": LOC, "cov_factor": [FACTOR, FACTOR], "cov_diag": [SCALE, P]},
        REAL,
        "batch",
    ),
    Case(
        "Wishart", {"df": [3.5, 6.0], "covariance_matrix": COVARIANCE}, [COVARIANCE], "covariance"
    ),
    Case("Wishart", {"df": [4.0], "precision_matrix": COVARIANCE}, [COVARIANCE], "precision"),
    Case("Wishart", {"df": [5.0], "scale_tril": LOWER}, [COVARIANCE], "scale_tril"),
]
