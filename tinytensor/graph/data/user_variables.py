"""Names that tensors have in the user's code, so that pictures say `hidden = relu(…)`.

Python keeps the name of a variable only in the frame of the function that owns it. So this
file reads frames, and only those of the user's code. A tensor that no variable holds is shown
without a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from ...autograd.site import is_internal
from ...autograd.variable import Variable
from .parameter_names import module_class


def frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    """The frame and its callers, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def variables(frame: FrameType) -> list[tuple[str, Any]]:
    """(name, value) of the variables in a frame of the user's code; [] for this package's own."""
    if is_internal(frame.f_code.co_filename):
        return []
    return list(frame.f_locals.items())


def names_of(tensor: Variable, frames: Iterable[FrameType]) -> Iterator[str]:
    """The names of the user's local and global variables that hold `tensor`, innermost first."""
    for frame in frames:
        if not is_internal(frame.f_code.co_filename):
            known = [*frame.f_locals.items(), *frame.f_globals.items()]
            yield from (name for name, value in known if value is tensor)


def variable_name(array: Any, frames: Iterable[FrameType]) -> tuple[str, bool]:
    """(name, whether a frame outside all modules knows it) of the variable that holds `array`.

    frames: innermost first. The outermost name wins, since that is the one in the script.
    ("", False) if there is none.
    """
    name, outside = "", False
    module = module_class()
    call = None if module is None else module.__call__.__code__
    for caller in frames:
        if caller.f_code is call:
            outside = False
        for key, value in variables(caller):
            held = value.array if isinstance(value, Variable) else value
            if held is array and not key.startswith("_"):
                name, outside = key, True
                break
    return name, outside


def local_names(frames: Iterable[FrameType]) -> dict[int, str]:
    """{id of a tensor: name} of the variables where the user's code calls this package.

    Arguments of a function are left out: a tensor keeps the name that it has in the caller.
    """
    for frame in frames:
        code = frame.f_code
        if not is_internal(code.co_filename):
            given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            return {
                id(value): name
                for name, value in variables(frame)
                if isinstance(value, Variable) and name not in given and not name.startswith("_")
            }
    return {}
