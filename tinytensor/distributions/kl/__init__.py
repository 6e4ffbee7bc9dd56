"""The Kullback-Leibler divergence of two distributions: KL(p ‖ q) = E_p[log p − log q].

registry      kl_divergence, register_kl
same          rules for two distributions of one class
different     rules for two classes
multivariate  rules for normal vectors
"""

from . import different as different
from . import multivariate as multivariate
from . import same as same
from .registry import kl_divergence, register_kl

__all__ = ["kl_divergence", "register_kl"]
