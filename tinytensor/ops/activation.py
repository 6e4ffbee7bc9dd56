"""Smooth activations: gelu, silu, mish, softplus, logsigmoid, the elu family, softsign, glu.

Piecewise linear ones (relu and its variants) are in rectifier.py, sigmoid in pointwise.py and tanh
in trigonometry.py.
"""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of
from ..autograd.inplace import write
from ..autograd.op import Op
from ..backend import Array, xp
from ..errors import ShapeError
from ..kernels.machinery.constants import (
    ONE_OVER_SQRT_2_PI,
    SQRT_HALF,
    TANH_CUBIC,
    TANH_SCALE,
)
from ..kernels.machinery.route import accelerated
from .blockwise import blockwise
from .clamp import clamp, where
from .dims import existing_dim
from .erf import erf
from .join import cat
from .parse_index import along
from .pointwise import exp, sigmoid
from .promote import apply_wide, as_float
from .trigonometry import tanh

if TYPE_CHECKING:
    from ..tensor import Tensor

# The fixed point of "zero mean, unit variance in and out" (Klambauer et al. 2017)
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


# ------------------------------------------------------------------------------------------
# x times a gate: gelu, silu, mish
# ------------------------------------------------------------------------------------------


def normal_cdf(x: Any) -> Any:
    """Φ(x): the share of the standard normal distribution below x."""
    return erf(x * SQRT_HALF) * 0.5 + 0.5


@accelerated("activation")
class Gelu(Op):
    """y = x·Φ(x);  dx = g·(Φ(x) + x·φ(x)), φ(x) = exp(−x²/2)/√(2π)"""

    saves = ("x",)
    fresh = True

    def forward(self, x: Array) -> Array:
        return blockwise(mul, x, self.keep(blockwise, normal_cdf, x))

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return blockwise(gelu_gradient, g, x, self.recall(blockwise, normal_cdf, x))


def gelu_gradient(g: Any, x: Any, below: Any) -> Any:
    """g·(Φ(x) + x·φ(x))"""
    density = exp(x * x * -0.5) * ONE_OVER_SQRT_2_PI
    return g * (below + x * density)


def gelu_gate(x: Any) -> Any:
    """s = σ(2u) = ½·(1 + tanh u), without cancellation where tanh u is near −1."""
    return sigmoid(x * (x * x * (2 * TANH_CUBIC) + 2 * TANH_SCALE))


@accelerated("activation")
class GeluTanh(Op):
    """y = ½·x·(1 + tanh u) = x·s, s = σ(2u), u = √(2/π)·(x + 0.044715·x³);
    dx = g·(s + x·s·(1 − s)·2·du/dx)
    """

    saves = ("x",)
    fresh = True

    def forward(self, x: Array) -> Array:
        return blockwise(mul, x, self.keep(blockwise, gelu_gate, x))

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return blockwise(gelu_tanh_gradient, g, x, self.recall(blockwise, gelu_gate, x))


def gelu_tanh_gradient(g: Any, x: Any, s: Any) -> Any:
    """g·(s + x·s·(1 − s)·2·du/dx)"""
    # x² is clamped so that it cannot overflow: where s or 1 − s is 0, 0·∞ would be NaN.
    slope = clamp(x * x, max=1e4) * (6 * TANH_CUBIC) + 2 * TANH_SCALE
    return g * s * (x * (1 - s) * slope + 1)


@accelerated("activation")
class Silu(Op):
    """y = x·s, s = σ(x);  dx = g·s·(1 + x·(1 − s))"""

    saves = ("x",)
    fresh = True

    def forward(self, x: Array) -> Array:
        return x * self.keep(sigmoid, x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        s = self.recall(sigmoid, x)
        return g * (s * (x * (1 - s) + 1))


def tanh_softplus(x: Any) -> Any:
    """mish's gate."""
    return tanh(softplus(x))


class Mish(Op):
    """y = x·t, t = tanh(softplus x);  dx = g·(t + x·(1 − t²)·σ(x))"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return x * self.keep(tanh_softplus, x)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        t = self.recall(tanh_softplus, x)
        return g * (x * (1 - t * t) * sigmoid(x) + t)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x·Φ(x), elementwise, where Φ(x) is the share of a standard normal distribution below x.

    approximate: "none" for Φ itself, "tanh" for ½·(1 + tanh(√(2/π)·(x + 0.044715·x³))).
    """
    if approximate == "none":
        return apply_wide("gelu", Gelu, input)
    if approximate == "tanh":
        return apply_wide("gelu", GeluTanh, input)
    raise RuntimeError(f"gelu: got approximate={approximate!r}, expected 'none' or 'tanh'")


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x·sigmoid(x), elementwise; also known as swish."""
    return write(input, silu) if inplace else apply_wide("silu", Silu, input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x·tanh(softplus(x)), elementwise."""
    return write(input, mish) if inplace else apply_wide("mish", Mish, input)


# ------------------------------------------------------------------------------------------
# Softened corners: softplus, logsigmoid, the elu family, softsign, tanhshrink
# ------------------------------------------------------------------------------------------


class Softplus(Op):
    """y = ln(1 + e^z)/β, z = β·x, and x itself where z > threshold;
    dx = g·σ(z), and g where z > threshold
    """

    saves = ("x",)

    def forward(self, x: Array, beta: float, threshold: float) -> Array:
        self.beta, self.threshold = beta, threshold
        library = xp(x)
        y = library.empty_like(x)  # most steps are written into this one array
        library.multiply(x, beta, out=y)
        linear = y > threshold
        library.exp(y, out=y)
        library.log1p(y, out=y)
        y /= beta
        return library.where(linear, x, y)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        z = x * self.beta
        return where(z > self.threshold, g, g * sigmoid(z))


class LogSigmoid(Op):
    """y = ln σ(x) = min(x, 0) − ln(1 + e^−|x|);  dx = g·σ(−x)"""

    op_name = "logsigmoid"
    saves = ("x",)

    def forward(self, x: Array) -> Array:
        library = xp(x)
        y = library.empty_like(x)  # most steps are written into this one array
        library.abs(x, out=y)
        library.negative(y, out=y)
        library.exp(y, out=y)
        library.log1p(y, out=y)
        return library.subtract(library.minimum(x, 0), y, out=y)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        return g * sigmoid(-x)


class Elu(Op):
    """y = scale·x for x > 0, else scale·α·(e^(r·x) − 1);
    dx = g·scale for x > 0, else g·scale·α·r·e^(r·x)
    """

    saves = ("x",)

    def forward(self, x: Array, alpha: float, scale: float, rate: float) -> Array:
        self.alpha, self.scale, self.rate = alpha, scale, rate
        library = xp(x)
        # One of the two terms is 0.
        negative = library.expm1(library.minimum(x, 0) * rate) * (alpha * scale)
        return library.maximum(x, 0) * scale + negative

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        # exp is not taken of positive x: it would overflow, and 0·inf is NaN at second order.
        negative = where(x < 0, x, 0.0)
        slope = exp(negative * self.rate) * (self.alpha * self.scale * self.rate)
        return g * where(x <= 0, slope, self.scale)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta·x))/beta, elementwise: a smooth relu.

    threshold: where beta·x is above it, the result is x itself, to which it is then almost equal.
    """
    return apply_wide("softplus", Softplus, input, float(beta), float(threshold))


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), elementwise, finite for every finite x."""
    return apply_wide("logsigmoid", LogSigmoid, input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x for x > 0, else alpha·(exp(x) − 1), elementwise."""
    if inplace:
        return write(input, elu, alpha)
    return apply_wide("elu", Elu, input, float(alpha), 1.0, 1.0)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """scale·elu(x, alpha), elementwise, with the two numbers that keep zero mean and unit variance
    through the layers of a network: scale = 1.0507…, alpha = 1.6733….
    """
    if inplace:
        return write(input, selu)
    return apply_wide("selu", Elu, input, SELU_ALPHA, SELU_SCALE, 1.0)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x for x > 0, else alpha·(exp(x/alpha) − 1), elementwise: an elu without a corner."""
    if alpha == 0:
        raise RuntimeError("celu: got alpha=0, expected another number, as x is divided by it")
    if inplace:
        return write(input, celu, alpha)
    return apply_wide("celu", Elu, input, float(alpha), 1.0, 1 / float(alpha))


def softsign(input: Tensor) -> Tensor:
    """x/(1 + |x|), elementwise: from −1 to 1."""
    x = as_float("softsign", input)
    return x / (abs(x) + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """x − tanh(x), elementwise."""
    x = as_float("tanhshrink", input)
    return x - tanh(x)


# ------------------------------------------------------------------------------------------
# Gated linear unit
# ------------------------------------------------------------------------------------------


def _half(x: Any, dim: int, which: int) -> Any:
    """The first (which = 0) or second (1) half of x along dim."""
    n = x.shape[dim] // 2
    return x[along(dim, slice(which * n, (which + 1) * n))]


def glu_gate(x: Any, dim: int) -> Any:
    return sigmoid(_half(x, dim, 1))


class Glu(Op):
    """y = a·s, s = σ(b), with a and b the halves of x along dim;  da = g·s, db = g·a·s·(1 − s)"""

    saves = ("x",)

    def forward(self, x: Array, dim: int) -> Array:
        self.dim = dim
        return _half(x, dim, 0) * self.keep(glu_gate, x, dim)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        s = self.recall(glu_gate, x, self.dim)
        da = g * s
        return cat([da, da * _half(x, self.dim, 0) * (1 - s)], self.dim)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a·sigmoid(b), where a and b are the first and the second half of input along dim.

    (…, 2·n, …) → (…, n, …)
    """
    dim = existing_dim("glu", dim, array_of("glu", input).ndim)
    if input.shape[dim] % 2:
        raise ShapeError(
            f"glu: dim {dim} has size {input.shape[dim]}, expected an even size to halve, "
            f"the shape is {tuple(input.shape)}"
        )
    return apply_wide("glu", Glu, input, dim)


__all__ = [
    "celu", "elu", "gelu", "glu", "logsigmoid", "mish", "selu", "silu", "softplus", "softsign",
    "tanhshrink",
]  # fmt: skip
