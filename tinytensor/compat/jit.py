"""TorchScript, in name only: every decorator and function returns its argument."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final, NoReturn

__path__: list[str] = []  # a package to importlib: compat.PATHS has modules below it

__all__ = [
    "Final",
    "ScriptFunction",
    "annotate",
    "export",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "load",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "unused",
]


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    return func


def freeze(mod: Any, *args: Any, **kwargs: Any) -> Any:
    return mod


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value; the type was a hint for the compiler."""
    return the_value


def ignore(drop: Any = False, **kwargs: Any) -> Callable:
    """`@ignore` and `@ignore(drop=…)` return the function."""
    return drop if callable(drop) else _same


def _same(fn: Any) -> Any:
    return fn


script_if_tracing = script_method = unused = export = interface = _same
# torch.jit.annotations: a list, or one number for all its items
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = List = list
_overload = _overload_method = _script_if_tracing = _same


class ScriptFunction:
    """A compiled function. There are no instances, so isinstance(f, ScriptFunction) is False."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError("jit.ScriptFunction: functions are not compiled here")


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Raise NotImplementedError: there are no scripted modules to save."""
    raise NotImplementedError(
        "jit.save: there are no TorchScript files here; save(model.state_dict(), f) instead"
    )


def load(f: Any, map_location: Any = None, _extra_files: Any = None) -> NoReturn:
    """Raise NotImplementedError: TorchScript files are not read."""
    raise NotImplementedError(
        "jit.load: TorchScript files are not read here; load the state_dict into a model instead"
    )


def is_scripting() -> bool:
    return False


def is_tracing() -> bool:
    return False


def __getattr__(name: str) -> Any:
    """`ScriptModule` is nn.Module, imported on first use: this package is below nn."""
    if name == "ScriptModule":
        return importlib.import_module("tinytensor.nn").Module
    raise AttributeError(f"module 'tinytensor.jit' has no attribute {name!r}")
