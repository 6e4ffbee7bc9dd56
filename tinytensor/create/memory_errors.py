"""Out of memory while a tensor is made: the error that ops raise, with the function's name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..autograd.anomaly import out_of_memory
from ..errors import OutOfMemoryError

F = TypeVar("F", bound=Callable)


def named_if_out_of_memory(name: str) -> Callable[[F], F]:
    """Decorator: a MemoryError becomes an OutOfMemoryError that names the function.

    Ops need none, `Op.apply` does the same. It is for functions that make arrays without an op.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except OutOfMemoryError:
                raise
            except MemoryError as error:
                raise out_of_memory(name, error) from None

        return call  # type: ignore[return-value]

    return decorate
