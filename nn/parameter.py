"""Parameter: a tensor that a module learns."""

from __future__ import annotations

from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor, fill

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    """A tensor that a Module lists among its parameters when it is set as an attribute.

    data is shared, not copied; without it the parameter is empty.
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        source = tt.empty(0) if data is None else tt.as_tensor(data)
        parameter = fill(object.__new__(cls), source.array.view())
        return parameter.requires_grad_(requires_grad)


class Buffer(Tensor):
    """A tensor that is part of a module's state but is not learned."""

    __slots__ = ()
    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        source = tt.empty(0) if data is None else tt.as_tensor(data)
        buffer = fill(object.__new__(cls), source.array.view())
        buffer.persistent = persistent
        return buffer
