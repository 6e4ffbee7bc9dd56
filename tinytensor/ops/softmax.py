"""Softmax and its logarithm, along any dimension.

They use exp(x − max x): the quotient is the same, and nothing overflows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.arguments import array_of, require_tensor
from ..autograd.op import Op
from ..autograd.site import warn
from ..autograd.variable import unwrap
from ..backend import Array, sum_over, xp
from ..create.generator import generator_for
from ..create.memory_errors import named_if_out_of_memory
from ..dtype import to_numpy_dtype
from ..kernels.machinery.route import accelerated
from ..out import takes_out
from .broadcast import atleast_1d
from .dims import accepts_axis, normalize_dim
from .pointwise import exp
from .promote import cast, require_float

if TYPE_CHECKING:
    from ..tensor import Tensor


@accelerated("softmax")
class Softmax(Op):
    """y = exp x / Σ exp x;  dx = y·(g − Σ g·y)"""

    saves = ("out",)

    def forward(self, x: Array, dim: int) -> Array:
        self.dim = dim
        if not x.size:
            return x.copy()
        y = x - x.max(axis=dim, keepdims=True)  # all steps write into this one array
        xp(x).exp(y, out=y)
        y /= sum_over(y, (dim,), keepdims=True)
        return y

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        return y * (g - sum_over(g * y, (self.dim,), keepdims=True))


@accelerated("softmax")
class LogSoftmax(Op):
    """y = x − log Σ exp x;  dx = g − exp(y)·Σ g"""

    saves = ("out",)

    def forward(self, x: Array, dim: int) -> Array:
        self.dim = dim
        if not x.size:
            return x.copy()
        y = x - x.max(axis=dim, keepdims=True)
        library = xp(x)
        y -= library.log(sum_over(library.exp(y), (dim,), keepdims=True))
        return y

    def backward(self, g: Any) -> Any:
        (y,) = self.saved
        return g - exp(y) * sum_over(g, (self.dim,), keepdims=True)


def _apply(op: Any, input: Tensor, dim: int | None, dtype: Any) -> Tensor:
    """Apply Softmax or LogSoftmax after normalising dim and dtype; 0-d tensors are allowed."""
    name = op.op_name
    if dtype is not None:
        require_tensor(name, input)
        input = cast(input, to_numpy_dtype(dtype))
    require_float(name, input)
    if dim is None:
        dim = 0 if input.ndim in (0, 1, 3) else 1
        warn(f"{name}: dim is not given, using {dim} as in old PyTorch; pass dim=")
    dim = normalize_dim(name, dim, input.ndim)
    y = op.apply(atleast_1d(input), dim)
    return y if input.ndim else y.reshape(())


@takes_out("same dtype")
@accepts_axis
def softmax(
    input: Tensor, dim: int | None = None, dtype: Any = None, _stacklevel: int = 3
) -> Tensor:
    """exp(input) / Σ exp(input) along `dim`: positive numbers that sum to 1.

    dtype: the input is converted to it first. A row that is all −inf gives NaN, as in PyTorch.
    """
    return _apply(Softmax, input, dim, dtype)


@takes_out("same dtype")
@accepts_axis
def log_softmax(
    input: Tensor, dim: int | None = None, dtype: Any = None, _stacklevel: int = 3
) -> Tensor:
    """log(softmax(input)) along `dim`, more precise than the two in turn."""
    return _apply(LogSoftmax, input, dim, dtype)


@accepts_axis
def softmin(
    input: Tensor, dim: int | None = None, dtype: Any = None, _stacklevel: int = 3
) -> Tensor:
    """softmax(−input) along `dim`."""
    require_tensor("softmin", input)
    return _apply(Softmax, -input, dim, dtype)


@named_if_out_of_memory("gumbel_softmax")
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A random, differentiable choice: softmax((logits + Gumbel noise) / tau) along `dim`.

    hard: one-hot in the forward pass, with the gradient of the soft choice. eps is not used.
    """
    array = array_of("gumbel_softmax", logits)
    library = xp(array)
    # −log of an exponential variable; 1 − u avoids log 0
    dtype = array.dtype if array.itemsize > 2 else np.dtype(np.float32)
    uniform = 1 - generator_for(array).uniform(array.shape, dtype)
    noise = -library.log(-library.log(uniform) + float(library.finfo(dtype).tiny))
    soft = softmax((logits + noise.astype(array.dtype, copy=False)) / tau, dim)
    if not hard:
        return soft
    chosen = unwrap(soft)
    axis = normalize_dim("gumbel_softmax", dim, array.ndim)
    place = library.arange(chosen.shape[axis]).reshape((-1,) + (1,) * (chosen.ndim - 1 - axis))
    one_hot = (place == chosen.argmax(axis=axis, keepdims=True)).astype(chosen.dtype)
    return soft + (one_hot - chosen)


__all__ = ["gumbel_softmax", "log_softmax", "softmax", "softmin"]
