"""Complex numbers and their parts: complex, polar, real, imag, view_as_real, angle, conj.

A complex tensor holds pairs of floats. `real`, `imag`, `view_as_real` and `view_as_complex` are
views of that memory; `conj` is a copy. autograd/complex_rules.py defines gradients.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of
from ..autograd.op import Op
from ..autograd.variable import wrap_like
from ..backend import Array, xp
from ..dtype import complex_dtype
from ..out import takes_out
from .autocast import in_float32
from .convert import contiguous
from .promote import as_float, not_zero, zeros_for
from .shape import matrix_transpose, t
from .trigonometry import cos, sin

if TYPE_CHECKING:
    from ..tensor import Tensor


# ------------------------------------------------------------------------------------------
# From real numbers
# ------------------------------------------------------------------------------------------


class Complex(Op):
    """y = a + ib;  da = Re g, db = Im g"""

    complex_rule = True

    def forward(self, a: Array, b: Array) -> Array:
        library = xp(a)
        shape = np.broadcast_shapes(a.shape, b.shape)
        y = library.empty(shape, dtype=complex_dtype(a.dtype))
        y.real, y.imag = a, b
        return y

    def backward(self, g: Any) -> Any:
        return g.real if self.needs(0) else None, g.imag if self.needs(1) else None


class Polar(Op):
    """y = r·exp(i·angle);  dr = Re(conj(exp(i·angle))·g), dangle = r·Im(conj(exp(i·angle))·g)"""

    saves = ("r", "angle")
    complex_rule = True

    def forward(self, r: Array, angle: Array) -> Array:
        return Complex.apply(r * xp(r).cos(angle), r * xp(r).sin(angle))

    def backward(self, g: Any) -> Any:
        r, angle = self.saved
        c, s = cos(angle), sin(angle)
        dr = g.real * c + g.imag * s if self.needs(0) else None
        dangle = (g.imag * c - g.real * s) * r if self.needs(1) else None
        return dr, dangle


def _parts(name: str, first: Any, second: Any) -> None:
    """Check two real tensors of one dtype, float32 or float64."""
    a, b = array_of(name, first).dtype, array_of(name, second).dtype
    if a != b or a.kind != "f" or a.itemsize < 4:
        raise RuntimeError(f"{name}: got dtypes {a} and {b}, expected both float32 or both float64")


@takes_out("same dtype")
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """real + i·imag, elementwise: complex64 of two float32 tensors, complex128 of float64."""
    _parts("complex", real, imag)
    return Complex.apply(real, imag)


@takes_out("same dtype")
@in_float32
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """abs·(cos angle + i·sin angle), elementwise."""
    _parts("polar", abs, angle)
    return Polar.apply(abs, angle)


# ------------------------------------------------------------------------------------------
# Views of the parts
# ------------------------------------------------------------------------------------------


class Real(Op):
    """y = Re x, a view;  dx = g"""

    view = True

    def forward(self, x: Array) -> Array:
        return x.real

    def backward(self, g: Any) -> Any:
        return g  # the engine makes it complex


class Imag(Op):
    """y = Im x, a view;  dx = i·g"""

    view = True

    def forward(self, x: Array) -> Array:
        return x.imag

    def backward(self, g: Any) -> Any:
        return Complex.apply(zeros_for(g), g)


class ViewAsReal(Op):
    """y[…, 0] = Re x, y[…, 1] = Im x, a view;  dx = g[…, 0] + i·g[…, 1]"""

    view = True

    def forward(self, x: Array) -> Array:
        part = x.real
        shape, strides = (*x.shape, 2), (*x.strides, part.itemsize)
        return xp(x).lib.stride_tricks.as_strided(part, shape, strides)

    def backward(self, g: Any) -> Any:
        return ViewAsComplex.apply(contiguous(g))


class ViewAsComplex(Op):
    """y = x[…, 0] + i·x[…, 1], a view;  dx[…, 0] = Re g, dx[…, 1] = Im g"""

    view = True
    complex_rule = True

    def forward(self, x: Array) -> Array:
        dtype = complex_dtype(x.dtype)
        if not x.size:
            return x.reshape(-1).view(dtype).reshape(x.shape[:-1])
        return x.view(dtype)[..., 0]  # (…, 2) real → (…, 1) complex → (…)

    def backward(self, g: Any) -> Any:
        return ViewAsReal.apply(g)


def real(input: Tensor) -> Tensor:
    """The real part, a view; a real tensor itself."""
    return Real.apply(input) if array_of("real", input).dtype.kind == "c" else input


def imag(input: Tensor) -> Tensor:
    """The imaginary part, a view."""
    _require_complex("imag", input)
    return Imag.apply(input)


def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor (…) seen as a real one (…, 2): the real and the imaginary parts."""
    _require_complex("view_as_real", input)
    return ViewAsReal.apply(input)


def view_as_complex(input: Tensor) -> Tensor:
    """A float32 or float64 tensor (…, 2) seen as a complex one (…), without a copy."""
    x = array_of("view_as_complex", input)
    if x.dtype.kind != "f" or x.itemsize < 4:
        raise RuntimeError(f"view_as_complex: got {x.dtype}, expected float32 or float64")
    strides = [s // x.itemsize for s in x.strides]
    if not x.ndim or x.shape[-1] != 2:
        raise RuntimeError(
            f"view_as_complex: got shape {x.shape}, expected a last dimension of size 2"
        )
    if x.size and (strides[-1] != 1 or any(s % 2 for s in strides[:-1])):
        raise RuntimeError(
            f"view_as_complex: got strides {tuple(strides)}, expected 1 for the last dimension and "
            "even ones for the others; use contiguous() first"
        )
    return ViewAsComplex.apply(input)


def _require_complex(name: str, input: Any) -> None:
    dtype = array_of(name, input).dtype
    if dtype.kind != "c":
        raise RuntimeError(f"{name}: got dtype {dtype}, expected complex64 or complex128")


# ------------------------------------------------------------------------------------------
# Angle and conjugate
# ------------------------------------------------------------------------------------------


class Angle(Op):
    """y = the angle of x, −π to π;  dx = i·g·x/|x|², and 0 at 0"""

    saves = ("x",)

    def forward(self, x: Array) -> Array:
        return xp(x).arctan2(x.imag, x.real)

    def backward(self, g: Any) -> Any:
        (x,) = self.saved
        scaled = g / not_zero(x.real * x.real + x.imag * x.imag)
        return Complex.apply(-scaled * x.imag, scaled * x.real)


class RealAngle(Op):
    """y = π for x < 0, else 0; NaN for NaN;  flat: dx = 0"""

    op_name = "angle"

    def forward(self, x: Array) -> Array:
        y = xp(x).where(x < 0, math.pi, 0.0).astype(x.dtype)
        return xp(x).where(x == x, y, x)

    def backward(self, g: Any) -> Any:
        return zeros_for(g)


class Conj(Op):
    """y = conj x;  dx = conj g"""

    complex_rule = True

    def forward(self, x: Array) -> Array:
        return x.conj()

    def backward(self, g: Any) -> Any:
        return g.conj()


def angle(input: Tensor) -> Tensor:
    """The angle of a complex number, −π to π, elementwise; 0 or π for real numbers."""
    x = array_of("angle", input)
    if x.dtype.kind == "c":
        return Angle.apply(input)
    return RealAngle.apply(as_float("angle", input))


def conj(input: Tensor) -> Tensor:
    """real − i·imag, elementwise, a copy; a real tensor itself."""
    return Conj.apply(input) if array_of("conj", input).dtype.kind == "c" else input


@takes_out("same dtype", elementwise=True)
def conj_physical(input: Tensor) -> Tensor:
    """As `conj`, which copies too."""
    return conj(input)


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are computed at once."""
    array_of("resolve_conj", input)
    return input


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negatives are computed at once."""
    array_of("resolve_neg", input)
    return input


def adjoint(input: Tensor) -> Tensor:
    """The conjugate with the last two dimensions exchanged."""
    array_of("adjoint", input)
    return conj(matrix_transpose(input))


def conjugate_transpose(input: Tensor) -> Tensor:
    """x.H: the conjugate of a matrix with its two dimensions exchanged."""
    if input.ndim not in (0, 2):
        raise RuntimeError(f"H: got a tensor of {input.ndim} dimensions, expected 2; use mH")
    return conj(t(input))


def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0, elementwise."""
    x = array_of("isreal", input)
    return wrap_like(xp(x).ones(x.shape, dtype=bool) if x.dtype.kind != "c" else x.imag == 0, input)


__all__ = [
    "adjoint", "angle", "complex", "conj", "conj_physical", "imag", "isreal", "polar", "real",
    "resolve_conj", "resolve_neg", "view_as_complex", "view_as_real",
]  # fmt: skip
