"""Variable: a tensor as the engine sees it, with its array, its gradient and its node.

`tinytensor.Tensor` adds the operators and methods; the engine needs only this.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backend import Array, is_array, xp
from .mode import outside, state

_new = object.__new__


class Variable:
    """An array that may be tracked. Variable(data, requires_grad) is PyTorch's old form of a leaf.

    array     the raw NumPy or CuPy array
    _grad     the accumulated gradient, a tensor, or None
    _tracked  whether gradients flow to it (`requires_grad`)
    _node     the Op that made it; None for a leaf (made by the user)
    _writes   [version, storage]: the number of writes to its memory, and the array that owns it.
              Tensors that share memory share this list. None until first used (inference.py)
    _view     how it was made as a view of another tensor (a View), or None
    _hooks    functions to call with its gradient, or None (a non-leaf's are on its node)
    """

    __slots__ = ("array", "_grad", "_tracked", "_node", "_writes", "_view", "_hooks",
                 "__dict__", "__weakref__")  # fmt: skip

    array: Any
    _grad: Any
    _tracked: bool
    _node: Any
    _writes: Any
    _view: Any
    _hooks: dict | None

    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:
        """A leaf that shares data's memory; `wrap` is how the engine makes a tensor."""
        return data.detach().requires_grad_(requires_grad)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Attributes that Tensor adds."""

    # An edge of the graph ends at an Op or at a tracked leaf. So a leaf has an order, before that
    # of every op, and no edges.
    _order = 0
    _edges: tuple = ()

    # The walk reads shape and dtype at the end of an edge, under the names they have on an Op.
    _shape = property(attrgetter("array.shape"))
    _dtype = property(attrgetter("array.dtype"))


def wrap(array: Array) -> Any:
    """A fresh untracked tensor around a raw array."""
    tensor: Any = _new(outside.tensor)
    tensor.array, tensor._writes = array, state.mode.inference
    tensor._tracked = False
    tensor._grad = tensor._node = tensor._view = tensor._hooks = None
    return tensor


def unwrap(value: Any) -> Any:
    """The raw array of a tensor; anything else unchanged."""
    return value.array if isinstance(value, Variable) else value


def wrap_like(array: Array, like: Any) -> Any:
    """`array` wrapped in a tensor if `like` is one; otherwise the raw array."""
    return wrap(array) if isinstance(like, Variable) else array


def as_array(value: Any) -> Array:
    """A raw result as an array: NumPy returns 0-d results as scalars."""
    return value if is_array(value) else np.asarray(value)


def made_by(node: Any, array: Array) -> Any:
    """A tensor around `array` that is an output of `node`."""
    tensor = wrap(array)
    tensor._tracked, tensor._node = True, node
    return tensor


def writes_of(variable: Variable) -> list[Any]:
    """The variable's [version, storage], created on first use."""
    writes = variable._writes
    if not writes:
        writes = variable._writes = [0, variable.array] if writes is None else writes.of(variable)
    return writes


def edge_of(variable: Variable) -> Any:
    """Where a gradient for `variable` goes: its node, the leaf itself, or None."""
    if variable._view is not None:
        outside.refresh(variable)
    return variable._node or variable if variable._tracked else None


def own_copy(array: Array) -> Array:
    """A writable, contiguous copy of `array`."""
    return xp(array).array(array, order="C")


outside.tensor = Variable  # until tensor.py replaces it with Tensor
