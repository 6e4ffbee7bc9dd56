"""Probability distributions with learnable parameters.

`sample` draws without a gradient. `rsample` draws as a function of the parameters, so that
gradients flow to them. `log_prob` is differentiable in the parameters and in the value.
"""

from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .independent import Independent
from .kl import kl_divergence, register_kl
from .normal import Normal
from .uniform import Uniform

__all__ = [
    "Bernoulli",
    "Categorical",
    "Distribution",
    "Independent",
    "Normal",
    "Uniform",
    "kl_divergence",
    "register_kl",
]
