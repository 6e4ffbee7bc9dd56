"""Names for what a graph shows: variables of the user's code, parameters and modules of a model.

`nn` builds on this package, so its Module is looked for only where it is already loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from ...autograd.site import is_internal
from ...autograd.variable import Variable


def module_class() -> Any:
    """nn.Module, or None if nobody has imported `nn`."""
    loaded = sys.modules.get("nn.module")
    return getattr(loaded, "Module", None)


def frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    """The frame and its callers, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def module_calls(frames: Iterable[FrameType]) -> list[FrameType]:
    """The frames in which a Module is called."""
    module = module_class()
    call = None if module is None else module.__call__.__code__
    return [frame for frame in frames if frame.f_code is call]


def path_of_call(call: FrameType) -> str:
    """The path of the module that is called in such a frame."""
    local = call.f_locals
    return local["self"]._path_below(local["caller"], local["scope"])


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
        elif not is_internal(caller.f_code.co_filename):
            for key, value in list(caller.f_locals.items()):
                held = value.array if isinstance(value, Variable) else value
                if held is array and not key.startswith("_"):
                    name, outside = key, True
                    break
    return name, outside


def local_names(frames: Iterable[FrameType]) -> dict[int, str]:
    """{id of a tensor: name} of the variables where the user's code calls this package.

    Arguments of a function are left out: there a tensor has the name that it goes by inside.
    """
    for frame in frames:
        code = frame.f_code
        if not is_internal(code.co_filename):
            given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            return {
                id(value): name
                for name, value in list(frame.f_locals.items())
                if isinstance(value, Variable) and name not in given and not name.startswith("_")
            }
    return {}


def models_in(frame: FrameType | None, wanted: set[str]) -> dict[str, Any]:
    """{class name: module} for the modules among the user's variables whose class is wanted."""
    module = module_class()
    found: dict[str, Any] = {}
    if module is None or not wanted:
        return found
    for caller in frames_from(frame):
        if is_internal(caller.f_code.co_filename):
            continue
        for value in list(caller.f_locals.values()):
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
