"""TorchScript, in name only: every decorator and function returns its argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    return func


def script_if_tracing(fn: Callable) -> Callable:
    return fn


def ignore(fn: Callable) -> Callable:
    return fn


def unused(fn: Callable) -> Callable:
    return fn


def export(fn: Callable) -> Callable:
    return fn


def is_scripting() -> bool:
    return False


def is_tracing() -> bool:
    return False
