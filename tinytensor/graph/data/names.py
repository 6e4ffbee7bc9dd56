"""Names for what a graph shows: variables of the user's code, parameters and modules of a model.

A variable's name is known to the frame of its function alone, so `variables` reads the frames of
the user's code; it is the only function here that reads frames, and reads none of this package.
`nn` builds on this package, so its Module is looked up only where it is already loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from ...autograd.site import is_internal
from ...autograd.variable import Variable


def module_class() -> Any:
    """nn.Module, or None if `nn` was not imported."""
    loaded = sys.modules.get("nn.module")
    return getattr(loaded, "Module", None)


# ------------------------------------------------------------------------------------------
# Variables
# ------------------------------------------------------------------------------------------


def frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    """The frame and its callers, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def variables(frame: FrameType) -> list[tuple[str, Any]]:
    """(name, value) of the variables in a frame of the user's code; none of this package's own."""
    if is_internal(frame.f_code.co_filename):
        return []
    return list(frame.f_locals.items())


def variable_name(array: Any, frames: Iterable[FrameType]) -> tuple[str, bool]:
    """(name, whether it is known outside of all modules) of the user's variable with this array.

    frames: innermost first. The outermost name is the one that a reader of the script knows.
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


# ------------------------------------------------------------------------------------------
# Models and parameters
# ------------------------------------------------------------------------------------------


def models_in(frame: FrameType | None, wanted: set[str]) -> dict[str, Any]:
    """{class name: module} for the modules among the user's variables whose class is wanted."""
    module = module_class()
    found: dict[str, Any] = {}
    if module is None or not wanted:
        return found
    for caller in frames_from(frame):
        for _, value in variables(caller):
            if isinstance(value, module) and type(value).__name__ in wanted:
                found.setdefault(type(value).__name__, value)
    return found


def runs_itself(module: Any) -> bool:
    """Whether a module has a forward; lists of modules have none and never appear in paths."""
    return type(module).forward is not module_class().forward


def named_tensors(path: str, module: Any) -> Iterator[tuple[Any, str, str]]:
    """(tensor, name, path of its module) for the parameters and buffers of a model at `path`."""
    for below, part in module.named_modules():
        owner = f"{path}.{below}" if below else path
        for registry in (part._parameters, part._buffers):
            for name, tensor in registry.items():
                if tensor is not None:
                    yield tensor, f"{below}.{name}" if below else name, owner
