"""Dropout: random elements, or whole channels, set to zero while training.

What is kept is scaled up by 1 / (1 − p), so that the expected value stays as it is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_flags, require_tensor
from ..autograd.inplace import write
from ..autograd.op import Op
from ..autograd.site import warn
from ..autograd.variable import unwrap
from ..backend import Array, xp
from ..create.generator import generator_for
from ..create.memory_errors import named_if_out_of_memory
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from .activation import SELU_ALPHA, SELU_SCALE
from .promote import refuse_complex, require_float

if TYPE_CHECKING:
    from ..tensor import Tensor


@accelerated("dropout")
class Dropout(Op):
    """y = x·mask·scale;  dx = g·mask·scale"""

    saves = ("mask",)

    def forward(self, x: Array, mask: Array, scale: float) -> Array:
        self.scale = scale
        y = x * mask
        y *= scale
        return y

    def backward(self, g: Any) -> Any:
        (mask,) = self.saved
        return g * mask * self.scale


def masked_scale(input: Tensor, mask: Tensor, scale: float) -> Tensor:
    """input·mask·scale: dropout with a given mask.

    mask: booleans, in a shape that broadcasts to the input's.
    """
    require_tensor("masked_scale", input)
    return Dropout.apply(input, mask, scale)


@named_if_out_of_memory("dropout")
def random_mask(like: Array, shape: tuple, p: float) -> Array:
    """Random booleans on the device of `like`, each False with probability p."""
    generator = generator_for(like)
    bound = round(p * 2**16)
    if xp(like) is np and abs(bound / 2**16 - p) <= 1e-4 * min(p, 1 - p):
        # 16 random bits represent a p such as 0.1 to 4 digits, and are much faster to draw.
        bits = np.frombuffer(generator.stream.bytes(2 * math.prod(shape)), dtype=np.uint16)
        return (bits >= bound).reshape(shape)
    return generator.uniform(shape, np.dtype(np.float32)) >= p


def scale_of_kept(p: float) -> float:
    """The scale 1 / (1 − p) of what is kept; with p = 1 nothing is kept, and any number will do."""
    return 0.0 if p == 1 else 1 / (1 - p)


def check_probability(name: str, p: float) -> None:
    """Refuse a p outside 0 … 1."""
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")


def _dropout(name: str, input: Tensor, p: float, training: bool, inplace: bool,
             mask_shape: tuple) -> Tensor:  # fmt: skip
    """Dropout with one random number for each element of mask_shape."""
    check_probability(name, p)
    array = unwrap(input)
    if not training or p == 0:
        return input
    require_float(name, input)
    mask = random_mask(array, mask_shape, p)
    if inplace:
        return write(input, masked_scale, mask, scale_of_kept(p))
    return masked_scale(input, mask, scale_of_kept(p))


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set elements to zero with probability p and scale the others by 1 / (1 − p).

    training=False: the input itself. inplace: written into the input.
    """
    if type(training) is not bool:
        check_flags("dropout", training=training)
    return _dropout("dropout", input, p, training, inplace, array_of("dropout", input).shape)


# ------------------------------------------------------------------------------------------
# Whole channels
# ------------------------------------------------------------------------------------------


def _channels(name: str, input: Tensor, p: float, batched: bool = True) -> tuple:
    """The shape of a mask with one number for each channel of (N, C, …): (N, C, 1, …).

    Not batched, for each channel of (C, …): (C, 1, …). Without channels everything is dropped, p =
    1, or it is an error.
    """
    everything = p == 1
    shape = array_of(name, input).shape
    if len(shape) < 2 and not everything:
        raise ShapeError(f"{name}: got shape {shape}, expected at least 2 dimensions, (N, C, …)")
    lead = shape[:2] if batched else shape[:1]
    return lead + (1,) * (len(shape) - len(lead))


def _channel_dropout(
    name: str, input: Tensor, p: float, training: bool, inplace: bool, batched: bool
) -> Tensor:
    """Dropout of whole channels of (N, C, …), or of (C, …) if not batched."""
    if not array_of(name, input).size or not training or p == 0:
        return _dropout(name, input, p, training, inplace, unwrap(input).shape)
    return _dropout(name, input, p, training, inplace, _channels(name, input, p, batched))


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Set whole channels of (N, C, …) to zero with probability p, scale the others."""
    if type(train) is not bool:
        check_flags("feature_dropout", train=train)
    return _channel_dropout("feature_dropout", input, p, train, False, True)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set whole channels of (N, C, L) or (C, L) to zero with probability p, scale the others."""
    if type(training) is not bool:
        check_flags("dropout1d", training=training)
    ndim = array_of("dropout1d", input).ndim
    if ndim not in (2, 3):
        raise ShapeError(f"dropout1d: got {ndim} dimensions, expected 2, (C, L), or 3, (N, C, L)")
    return _channel_dropout("dropout1d", input, p, training, inplace, batched=ndim == 3)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set whole channels of (N, C, H, W) to zero with probability p, scale the others.

    Three dimensions are taken for (N, C, L), with a warning, as PyTorch does.
    """
    if type(training) is not bool:
        check_flags("dropout2d", training=training)
    ndim = array_of("dropout2d", input).ndim
    if ndim != 4:
        warn(
            f"dropout2d: got {ndim} dimensions, expected 4, (N, C, H, W); the first two are taken "
            "for N and C. Use dropout1d for (N, C, L), dropout for other shapes",
        )
    return _channel_dropout("dropout2d", input, p, training, inplace, batched=True)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set whole channels of (N, C, D, H, W) or (C, D, H, W) to zero with probability p."""
    if type(training) is not bool:
        check_flags("dropout3d", training=training)
    ndim = array_of("dropout3d", input).ndim
    if ndim not in (4, 5):
        warn(
            f"dropout3d: got {ndim} dimensions, expected 4, (C, D, H, W), or 5, (N, C, D, H, W); "
            "the first is taken for C. Use dropout for other shapes",
        )
    return _channel_dropout("dropout3d", input, p, training, inplace, batched=ndim == 5)


# ------------------------------------------------------------------------------------------
# For self-normalising networks
# ------------------------------------------------------------------------------------------

SELU_FLOOR = SELU_ALPHA * SELU_SCALE  # −(the least value of selu)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Set elements to the least value of selu with probability p; mean 0 and variance 1 stay."""
    if type(training) is not bool:
        check_flags("alpha_dropout", training=training)
    return _alpha_dropout(
        "alpha_dropout", input, p, training, inplace, array_of("alpha_dropout", input).shape
    )


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, …)."""
    if type(training) is not bool:
        check_flags("feature_alpha_dropout", training=training)
    name = "feature_alpha_dropout"
    if not array_of(name, input).size or not training or p == 0:
        return _alpha_dropout(name, input, p, training, inplace, unwrap(input).shape)
    return _alpha_dropout(name, input, p, training, inplace, _channels(name, input, p))


def _alpha_dropout(name: str, input: Tensor, p: float, training: bool, inplace: bool,
                   mask_shape: tuple) -> Tensor:  # fmt: skip
    """Alpha dropout with one random number for each element of mask_shape."""
    refuse_complex(name, input)
    check_probability(name, p)
    if not training or p == 0:
        return input
    array = unwrap(input)
    mask = random_mask(array, mask_shape, p)
    # y = a·x where kept, a·(−floor) elsewhere, and a shift b; a, b bring back mean 0, variance 1
    a = 0.0 if p == 1 else 1 / math.sqrt((SELU_FLOOR**2 * p + 1) * (1 - p))
    shift = (~mask * -(SELU_FLOOR * a) + SELU_FLOOR * a * p).astype(array.dtype)

    def drop(x: Tensor) -> Tensor:
        return masked_scale(x, mask, a) + shift

    return write(input, drop) if inplace else drop(input)


__all__ = [
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
    "feature_dropout", "masked_scale",
]  # fmt: skip
