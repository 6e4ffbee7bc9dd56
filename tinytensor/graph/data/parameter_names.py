"""Names of parameters and buffers, from the modules that own them.

`nn` is built on this package, so its Module is looked up only where `nn` is already loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any


def _loaded() -> Any:
    """nn/module.py; its name has a longer path where a user's own nn.py hides `nn`."""
    nn = sys.modules.get("tinytensor.nn") or sys.modules.get("nn")
    return sys.modules.get(f"{nn.__name__}.module") if nn else None


def module_class() -> Any:
    """nn.Module, or None if `nn` was not imported."""
    return getattr(_loaded(), "Module", None)


def called_modules(wanted: set[str]) -> list[Any]:
    """The living modules of the wanted classes that were called from outside any module."""
    loaded: Any = _loaded()
    if loaded is None or not wanted:
        return []
    called = [reference() for reference in list(loaded.outermost.values())]
    return [module for module in called if type(module).__name__ in wanted]


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
