"""The public face of an op's function: what it says when it is given something else than a tensor.

Inside the package the bare functions are used, and methods need no such check.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from ..autograd.variable import unwrap
from ..backend import is_array

_NAMES_ITS_OP = re.compile(r"\w+: ")


def checked(function: Callable) -> Callable:
    """`function`, with a TypeError that names it for a first argument that is not a tensor."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (AttributeError, TypeError) as error:
            first = args[0] if args else kwargs.get("input")
            if is_array(unwrap(first)) or _NAMES_ITS_OP.match(str(error)):
                raise
            kind = type(first).__name__
            message = f"{function.__name__}: got a {kind} as its first argument, expected a tensor"
            raise TypeError(message) from error

    return call
