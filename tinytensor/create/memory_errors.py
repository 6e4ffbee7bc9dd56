"""Out of memory while a tensor is made: the error that ops raise, with the function's name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..autograd.anomaly import out_of_memory
from ..errors import OutOfMemoryError

F = TypeVar("F", bound=Callable)


def too_large(name: str, error: ValueError) -> Exception:
    """A RuntimeError if NumPy refused a size that no machine can have, else the same error."""
    if "array is too big" in str(error) or "Maximum allowed" in str(error):
        return RuntimeError(f"{name}: the sizes give more bytes than 64 bits can count")
    return error


def named_if_out_of_memory(name: str) -> Callable[[F], F]:
    """Decorator: a MemoryError becomes an OutOfMemoryError that names the function.

    A size that no machine can have becomes a RuntimeError.

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
            except ValueError as error:
                raise too_large(name, error) from None

        return call  # type: ignore[return-value]

    return decorate
