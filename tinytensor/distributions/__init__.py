"""Probability distributions with learnable parameters.

`sample` draws without a gradient. `rsample` draws as a function of the parameters, so that
gradients flow to them. `log_prob` is differentiable in the parameters and in the value.

continuous/    numbers: normal, laplace, cauchy, student_t, uniform, exponential, gamma (also Chi2,
               InverseGamma), dirichlet (also Beta), half (HalfNormal, HalfCauchy), log_normal
               (also LogisticNormal), extreme_value (Gumbel, Weibull), pareto (also
               GeneralizedPareto), kumaraswamy, fisher_snedecor, von_mises, continuous_bernoulli
discrete/      integers and classes: bernoulli, categorical, one_hot_categorical, multinomial,
               poisson, counts (Geometric, Binomial, NegativeBinomial), relaxed (RelaxedBernoulli,
               RelaxedOneHotCategorical)
multivariate/  vectors and matrices: multivariate_normal, low_rank_normal, wishart, lkj_cholesky
independent, transformed_distribution, mixture_same_family
               distributions made from other distributions
distribution, exp_family
               the base classes
constraints/   the sets of parameters and values
transforms/    invertible functions with their Jacobians
constraint_registry
               a transform into each constraint
kl/            kl_divergence and its rules
utils          parameters: broadcasting, logits and probabilities
draws          gamma, Poisson and binomial numbers
implicit       gradients of gamma and Dirichlet draws
"""

import importlib
from typing import Any

from ..compat.distribution_files import PATHS
from . import constraint_registry, constraints, kl, transforms, utils
from .constraint_registry import biject_to, transform_to
from .continuous.cauchy import Cauchy
from .continuous.continuous_bernoulli import ContinuousBernoulli
from .continuous.dirichlet import Beta, Dirichlet
from .continuous.exponential import Exponential
from .continuous.extreme_value import Gumbel, Weibull
from .continuous.fisher_snedecor import FisherSnedecor
from .continuous.gamma import Chi2, Gamma, InverseGamma
from .continuous.half import HalfCauchy, HalfNormal
from .continuous.kumaraswamy import Kumaraswamy
from .continuous.laplace import Laplace
from .continuous.log_normal import LogisticNormal, LogNormal
from .continuous.normal import Normal
from .continuous.pareto import GeneralizedPareto, Pareto
from .continuous.student_t import StudentT
from .continuous.uniform import Uniform
from .continuous.von_mises import VonMises
from .discrete.bernoulli import Bernoulli
from .discrete.categorical import Categorical
from .discrete.counts import Binomial, Geometric, NegativeBinomial
from .discrete.multinomial import Multinomial
from .discrete.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from .discrete.poisson import Poisson
from .discrete.relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .independent import Independent
from .kl import kl_divergence, register_kl
from .mixture_same_family import MixtureSameFamily
from .multivariate.lkj_cholesky import LKJCholesky
from .multivariate.low_rank_normal import LowRankMultivariateNormal
from .multivariate.multivariate_normal import MultivariateNormal
from .multivariate.wishart import Wishart
from .transformed_distribution import TransformedDistribution
from .transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

# fmt: off
__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform",
    "Categorical", "Cauchy", "Chi2", "ComposeTransform", "ContinuousBernoulli",
    "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet", "Distribution",
    "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma",
    "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "IndependentTransform", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal",
    "LogisticNormal", "LowRankMultivariateNormal", "LowerCholeskyTransform", "MixtureSameFamily",
    "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PositiveDefiniteTransform",
    "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform",
    "StickBreakingTransform", "StudentT", "TanhTransform", "Transform", "TransformedDistribution",
    "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "constraint_registry", "constraints",
    "identity_transform", "kl", "kl_divergence", "register_kl", "transform_to", "transforms",
    "utils",
]
# fmt: on


def __getattr__(name: str) -> Any:
    """`distributions.binomial`: PyTorch has a file, and so a module, for each class."""
    if f"{__name__}.{name}" in PATHS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
