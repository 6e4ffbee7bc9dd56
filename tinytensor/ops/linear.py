"""A product plus a tensor: linear, bilinear, addmm and its variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of, check_given, check_numbers, check_tensors
from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, sum_over
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from ..out import takes_out
from .arithmetic import add
from .autocast import without_autocast
from .broadcast import expands_to
from .einsum import einsum
from .matmul import (
    are_floats,
    check_operands,
    check_ranks,
    matmul,
    product,
    product_gradients,
    rows,
)
from .older_forms import older_form
from .promote import require_same_dtype

if TYPE_CHECKING:
    from ..tensor import Tensor


@accelerated("linear", product=lambda x, weight, bias: x.size * weight.shape[0])
class Linear(Op):
    """y = x·Wᵀ + b;  dx = g·W, dW = gᵀ·x, db = Σ g

    The leading dimensions of x are rows of one large matrix, in both directions.
    """

    saves = {"x": "weight", "weight": "x"}
    fresh = True

    def forward(self, x: Array, weight: Array, bias: Array | None) -> Array:
        y = product(x, weight.T)  # (…, in) times (in, out) → (…, out)
        if bias is not None:
            y += bias
        self.shape = x.shape
        self.bias_shape = None if bias is None else bias.shape
        return y

    def backward(self, g: Any) -> Any:
        x, weight = self.saved
        g_rows = rows(g)  # (…, out) → (N, out)
        dx = dw = db = None
        if weight is not None:
            dx = g_rows @ weight
            if len(self.shape) != 2:
                dx = dx.reshape(self.shape)  # (N, in) → (…, in)
        if x is not None:
            dw = g_rows.swapaxes(0, 1) @ rows(x)
        if self.needs(2):
            # A bias of another shape than (out,) was broadcast: the engine undoes that.
            db = sum_over(g_rows, (0,)) if self.bias_shape == (g.shape[-1],) else g
        return dx, dw, db


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input·weightᵀ + bias.

    input (…, in), weight (out, in), bias (out,) give (…, out); without the last dimension for a
    weight of shape (in,).
    """
    x, w, b = unwrap(input), unwrap(weight), unwrap(bias)
    if not (are_floats(x, w) and (b is None or are_floats(x, b))):
        check_operands("linear", *(x, w) if b is None else (x, w, b))
    if not x.ndim or w.ndim not in (1, 2):
        raise ShapeError(
            f"linear: got input of shape {x.shape} and weight of shape {w.shape}, expected "
            "(…, in) and (out, in)"
        )
    if x.shape[-1] != w.shape[-1]:
        raise ShapeError(
            f"linear: input has {x.shape[-1]} features (shape {x.shape}), weight {w.shape} "
            f"expects {w.shape[-1]}"
        )
    if w.ndim == 1:
        if b is not None and b.ndim and x.ndim > 1:
            raise ShapeError(
                f"linear: got a weight of shape {w.shape} and a bias of shape {b.shape}, expected "
                "(out, in) and (out,)"
            )
        y = matmul(input, weight)
        return y if bias is None else add(y, bias)
    if b is not None and b.shape != w.shape[:1]:
        check_expands("linear", "bias", b.shape, x.shape[:-1] + w.shape[:1])
    return Linear.apply(input, weight, bias)


@without_autocast
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """yₒ = input1ᵀ·weightₒ·input2 + biasₒ.

    input1 (…, in1), input2 (…, in2), weight (out, in1, in2), bias (out,) give (…, out).
    """
    check_given("bilinear", input2=input2, weight=weight)
    check_tensors("bilinear", bias=bias)
    a, b, w = array_of("bilinear", input1).shape, tuple(input2.shape), tuple(weight.shape)
    if len(w) != 3 or a[:-1] != b[:-1] or (a[-1:], b[-1:]) != (w[1:2], w[2:]):
        raise ShapeError(
            f"bilinear: got inputs of shapes {a} and {b} and weight of shape {w}, expected "
            "(…, in1), (…, in2) and (out, in1, in2)"
        )
    if bias is not None:
        if tuple(bias.shape) != w[:1]:
            raise ShapeError(f"bilinear: bias has shape {tuple(bias.shape)}, expected {w[:1]}")
        require_same_dtype("bilinear", "bias", bias, input1)
    y = einsum("...i,oij,...j->...o", input1, weight, input2)
    return y if bias is None else add(y, bias)


# ------------------------------------------------------------------------------------------
# Products added to a tensor
# ------------------------------------------------------------------------------------------


class Addmm(Op):
    """y = β·x + α·(a·b);  dx = β·g, da = α·g·bᵀ, db = α·aᵀ·g

    With β = 0, x is not looked at, even if it is NaN.
    """

    saves = {"a": "b", "b": "a"}

    def forward(self, x: Array, a: Array, b: Array, beta: float, alpha: float) -> Array:
        y = product(a, b)
        if y.dtype.kind not in "fc":
            beta, alpha = int(beta), int(alpha)
        if alpha != 1:
            y *= alpha
        if beta:
            y += x if beta == 1 else beta * x
        self.shapes = a.shape, b.shape
        self.beta, self.alpha = beta, alpha
        return y

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        scaled = g if self.alpha == 1 else g * self.alpha
        da, db = product_gradients(scaled, a, b, *self.shapes)
        dx = None
        if self.needs(0):
            dx = g if self.beta == 1 else g * self.beta
        return dx, da, db


class Addmv(Addmm):
    """y = β·x + α·(a·b), b a vector;  dx, da, db = as in Addmm"""


class Baddbmm(Addmm):
    """y = β·x + α·(a·b), batches of matrices;  dx, da, db = as in Addmm"""


def check_expands(name: str, what: str, shape: tuple, target: tuple) -> None:
    """Refuse a shape that does not broadcast to exactly `target`."""
    if not expands_to(shape, target):
        raise ShapeError(f"{name}: {what} has shape {shape}, which does not expand to {target}")


def check_added(name: str, input: Any, a: Any, b: Any, shape: tuple) -> None:
    """Check that `input` can be added to the product of a and b, which has `shape`."""
    x = unwrap(input)
    check_operands(name, x, unwrap(a), unwrap(b))
    check_expands(name, "input", x.shape, tuple(shape))


def _check_factors(name: str, beta: Any, alpha: Any) -> None:
    if type(beta) not in (int, float) or type(alpha) not in (int, float):
        check_numbers(name, beta=beta, alpha=alpha)


@takes_out("same dtype")
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *older: Tensor, beta: float = 1, alpha: float = 1
) -> Tensor:
    """β·input + α·(mat1·mat2), for matrices; input expands to the product's shape."""
    if older:
        return older_form(addmm, input, mat1, mat2, *older)
    check_ranks("addmm", mat1, mat2, (2, 2))
    _check_factors("addmm", beta, alpha)
    check_added("addmm", input, mat1, mat2, (mat1.shape[0], mat2.shape[1]))
    return Addmm.apply(input, mat1, mat2, beta, alpha)


@takes_out("same dtype")
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *older: Tensor, beta: float = 1, alpha: float = 1
) -> Tensor:
    """β·input + α·(mat·vec), matrix times vector."""
    if older:
        return older_form(addmv, input, mat, vec, *older)
    check_ranks("addmv", mat, vec, (2, 1))
    _check_factors("addmv", beta, alpha)
    check_added("addmv", input, mat, vec, (mat.shape[0],))
    return Addmv.apply(input, mat, vec, beta, alpha)


@takes_out("same dtype")
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *older: Tensor, beta: float = 1, alpha: float = 1
) -> Tensor:
    """β·input + α·outer(vec1, vec2)."""
    if older:
        return older_form(addr, input, vec1, vec2, *older)
    check_given("addr", vec1=vec1, vec2=vec2)
    _check_factors("addr", beta, alpha)
    if vec1.ndim != 1 or vec2.ndim != 1:
        raise ShapeError(
            f"addr: got shapes {tuple(vec1.shape)} and {tuple(vec2.shape)}, expected two vectors"
        )
    m, n = vec1.shape[0], vec2.shape[0]
    dtypes = {array_of("addr", x).dtype for x in (input, vec1, vec2)}
    if len(dtypes) > 1 or any(dtype.kind == "b" for dtype in dtypes):
        return _addr_promoted(input, vec1.reshape((m, 1)), vec2.reshape((1, n)), beta, alpha)
    check_added("addr", input, vec1, vec2, (m, n))
    return Addmm.apply(input, vec1.reshape((m, 1)), vec2.reshape((1, n)), beta, alpha)


def _addr_promoted(input: Any, column: Any, row: Any, beta: Any, alpha: Any) -> Any:
    """`addr` of several dtypes, or of bools, for which · and + are "and" and "or"."""
    outer = column * row  # (m, 1)·(1, n) → (m, n)
    if not expands_to(tuple(input.shape), tuple(outer.shape)):
        raise ShapeError(
            f"addr: input has shape {tuple(input.shape)}, expected one that expands to "
            f"{tuple(outer.shape)}"
        )
    if unwrap(input).dtype.kind == unwrap(outer).dtype.kind == "b":
        return input * bool(beta) | outer * bool(alpha)
    return input * beta + outer * alpha


@takes_out("same dtype")
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *older: Tensor, beta: float = 1, alpha: float = 1
) -> Tensor:
    """β·input + α·(batch1·batch2), for batches of matrices (B, M, K) and (B, K, N)."""
    if older:
        return older_form(baddbmm, input, batch1, batch2, *older)
    check_ranks("baddbmm", batch1, batch2, (3, 3))
    _check_factors("baddbmm", beta, alpha)
    shape = (*batch1.shape[:2], batch2.shape[2])
    check_added("baddbmm", input, batch1, batch2, shape)
    return Baddbmm.apply(input, batch1, batch2, beta, alpha)


@takes_out("same dtype")
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *older: Tensor, beta: float = 1, alpha: float = 1
) -> Tensor:
    """β·input + α·Σ batch1·batch2, summed over the batch: (B, M, K) and (B, K, N) give (M, N)."""
    if older:
        return older_form(addbmm, input, batch1, batch2, *older)
    check_ranks("addbmm", batch1, batch2, (3, 3))
    _check_factors("addbmm", beta, alpha)
    b, m, k = batch1.shape
    n = batch2.shape[2]
    check_added("addbmm", input, batch1, batch2, (m, n))
    # The sum over the batch is part of one product: (B, M, K) → (M, B·K), (B, K, N) → (B·K, N)
    wide = batch1.swapaxes(0, 1).reshape((m, b * k))
    return Addmm.apply(input, wide, batch2.reshape((b * k, n)), beta, alpha)


__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm", "bilinear", "linear"]
