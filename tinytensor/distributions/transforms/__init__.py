"""Transforms: invertible functions of random variables, with their Jacobian determinants.

base         Transform, its inverse, ComposeTransform, IndependentTransform
elementwise  exp, power, sigmoid, softplus, tanh, abs, affine, a distribution's cdf
vectors      softmax, stick breaking, Cholesky factors, positive definite matrices
pieces       reshape; a transform for each piece of a tensor
"""

from .base import ComposeTransform, IndependentTransform, Transform, identity_transform
from .elementwise import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from .pieces import CatTransform, ReshapeTransform, StackTransform
from .vectors import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)

# fmt: off
__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform",
    "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform",
    "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]
# fmt: on
