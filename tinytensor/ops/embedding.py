"""embedding: rows of a table, looked up by index. one_hot: class numbers as vectors with one 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, check_given, check_ints
from ..autograd.inplace import assign
from ..autograd.op import Op
from ..autograd.settings import no_grad
from ..autograd.variable import Variable, unwrap
from ..backend import Array, xp
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from .accumulate import add_rows
from .clamp import where
from .parse_index import outside

if TYPE_CHECKING:
    from ..tensor import Tensor

# Up to this many rows, a product with a one-hot matrix beats sorting the indices by row.
SMALL_TABLE = 256


class Embedding(Op):
    """y = weight[index];  dweight[i] = Σ factor·g over the places where index is i

    factor, one number for each place or None for 1, weights gradients; where it is 0 or False none
    passes, not even NaN.
    """

    saves = ("index", "factor")
    fresh = True

    def forward(self, weight: Array, index: Array, factor: Array | None) -> Array:
        self.rows = weight.shape[0]
        return weight[index]

    def backward(self, g: Any) -> Any:
        index, factor = self.saved
        if factor is not None:
            g = where(factor != 0, g if factor.dtype == bool else g * factor, 0.0)
        return AddRows.apply(g, index, self.rows)


@accelerated("embedding")
class AddRows(Op):
    """y[i] = Σ x over the places where index is i;  dx = g[index]

    Embedding, transposed.
    """

    saves = ("index",)

    def forward(self, x: Array, index: Array, rows: int) -> Array:
        library = xp(x)
        y = library.zeros((rows, x.shape[-1]), dtype=x.dtype)
        if not x.size:
            return y
        x, index = x.reshape(-1, x.shape[-1]), index.reshape(-1)  # (…, D) → (M, D), (…) → (M)
        if rows <= SMALL_TABLE and library is np:
            one_hot = (np.arange(rows)[:, None] == index).astype(x.dtype)  # (rows, M)
            np.matmul(one_hot, x, out=y)
            if np.isfinite(y).all():
                return y
            y.fill(0)  # 0·∞ is NaN, also in rows that no ∞ or NaN was added to
        add_rows(y, index, x)
        return y

    def backward(self, g: Any) -> Any:
        (index,) = self.saved
        return Embedding.apply(g, index, None)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` (V, D) that the integers in `input` (…) name: (…, D).

    padding_idx: the row that gets no gradient. max_norm: rows looked up whose norm_type-norm is
    larger are first scaled down to it, in place. scale_grad_by_freq: gradients are divided by how
    often their row occurs in input. sparse: ignored, gradients are dense.
    """
    if not isinstance(weight, Variable):
        check_given("embedding", weight=weight)
    index = array_of("embedding", input)
    table = unwrap(weight)
    if index.dtype.kind not in "iu":
        raise RuntimeError(
            f"embedding: input has dtype {index.dtype}, expected integers; use .long()"
        )
    if table.ndim != 2:
        raise ShapeError(f"embedding: 'weight' must be 2-D, (rows, width), got shape {table.shape}")
    rows = table.shape[0]
    wrong = outside(index, 0, rows)
    if wrong is not None:
        raise IndexError(
            f"embedding: index {wrong} is out of range for a table of {rows} rows, expected 0 to "
            f"{rows - 1}"
        )
    padding_idx = row_number("embedding", padding_idx, rows)
    if max_norm is not None:
        renormalize(weight, index, max_norm, norm_type)
    factor = gradient_factor(table, index, padding_idx, scale_grad_by_freq)
    return Embedding.apply(weight, input, factor)


def row_number(
    name: str, padding_idx: int | None, rows: int, error: type = AssertionError
) -> int | None:
    """padding_idx, counted from 0."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise error(f"{name}: padding_idx {padding_idx} is not a row of a table of {rows} rows")
    return padding_idx % rows


def gradient_factor(
    table: Array, index: Array, padding_idx: int | None, by_frequency: bool
) -> Array | None:
    """The factor of each place's gradient, of shape (…, 1); None for 1 everywhere."""
    kept = None if padding_idx is None else index != padding_idx
    if not by_frequency:
        return None if kept is None else kept[..., None]
    library = xp(table)
    factor = library.ones(index.shape, dtype=table.dtype)
    if index.size:
        counts = library.bincount(index.reshape(-1), minlength=table.shape[0])
        factor /= counts[index].astype(table.dtype)
    if kept is not None:
        factor *= kept
    return factor[..., None]


def renormalize(weight: Tensor, index: Array, max_norm: float, norm_type: float) -> None:
    """Scale the rows of weight that index names, and that are too long, down to max_norm."""
    library = xp(index)
    used = library.unique(index)
    table = unwrap(weight)[used]  # (U, D)
    if norm_type == float("inf"):
        norms = abs(table).max(axis=1, keepdims=True)
    else:
        norms = (abs(table) ** norm_type).sum(axis=1, keepdims=True) ** (1 / norm_type)
    scale = library.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
    with no_grad():
        assign(weight, used, table * scale.astype(table.dtype), "embedding")


class OneHot(Op):
    """y[…, c] = 1 where x is c, else 0;  no gradient"""

    differentiable = False

    def forward(self, x: Array, num_classes: int) -> Array:
        return (x[..., None] == xp(x).arange(num_classes)).astype(np.int64)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Class numbers as vectors with a single 1: (…) → (…, num_classes), int64.

    num_classes=-1: one more than the largest number.
    """
    array = array_of("one_hot", tensor)
    if array.dtype.kind not in "iu":
        raise RuntimeError(f"one_hot: got dtype {array.dtype}, expected int64")
    check_ints("one_hot", num_classes=num_classes)
    if num_classes == -1:
        if not array.size:
            raise RuntimeError("one_hot: got an empty tensor, expected num_classes along with it")
        num_classes = int(array.max()) + 1
    # On a GPU, reading the values would wait for all pending work.
    wrong = outside(array, 0, num_classes) if xp(array) is np else None
    if wrong is not None:
        raise RuntimeError(
            f"one_hot: got class {wrong}, expected 0 to num_classes - 1 = {num_classes - 1}"
        )
    return OneHot.apply(tensor, num_classes)


__all__ = ["embedding", "one_hot"]
