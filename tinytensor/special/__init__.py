"""Special functions with the names of torch.special, elementwise.

    normal          the normal distribution (ndtr, erfcx), entropy, sinc, zeta
    bessel          Bessel and Airy functions
    polynomials     Chebyshev, Hermite, Laguerre, Legendre
    scipy_functions how SciPy is called

erf, lgamma, softmax and others are those of `ops`, under their second names. SciPy computes erfcx,
ndtri, log_ndtr, zeta, and the Bessel and Airy functions; it is imported when one is first called.
"""

from ..ops.erf import erf, erfc
from ..ops.gamma import digamma, erfinv, lgamma, mvlgamma, polygamma
from ..ops.incomplete_gamma import igamma, igammac
from ..ops.pointwise import exp2, expm1, log1p, logit, sigmoid, xlogy
from ..ops.reduce import logsumexp
from ..ops.rounding import round
from ..ops.softmax import log_softmax, softmax
from .bessel import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    i0,
    i0e,
    i1,
    i1e,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
)
from .normal import entr, erfcx, log_ndtr, ndtr, ndtri, sinc, xlog1py, zeta
from .polynomials import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)

expit, gammaln, psi, multigammaln = sigmoid, lgamma, digamma, mvlgamma
gammainc, gammaincc = igamma, igammac

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma",
    "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc",
    "gammaln",
    "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e",
    "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax", "logit",
    "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "sinc", "softmax", "spherical_bessel_j0", "xlog1py", "xlogy",
    "zeta",
]  # fmt: skip
