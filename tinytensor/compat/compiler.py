"""torch.compiler and torch._dynamo, in name only: nothing is compiled, so nothing is excluded.

`tinytensor.compile` returns its argument.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

__path__: list[str] = []  # a package to importlib: compat.PATHS has modules below it


def is_compiling() -> bool:
    """False: every op runs when its line does."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def is_compile_supported(device_type: str) -> bool:
    """False, for every device."""
    return False


def disable(fn: Any = None, recursive: bool = True, **options: Any) -> Any:
    """Return `fn`; `@disable()` returns the decorated function."""
    return _same if fn is None else fn


def _same(fn: Any) -> Any:
    return fn


allow_in_graph = assume_constant_result = disallow_in_graph = _same


def graph_break(msg: str = "") -> None:
    """No effect: there is no graph to break."""


def mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """No effect: no shape is assumed to be constant."""


mark_static = maybe_mark_dynamic = mark_dynamic


def reset() -> None:
    """No effect: nothing was compiled."""


def cudagraph_mark_step_begin() -> None:
    """No effect: there are no CUDA graphs."""


def list_backends(exclude_tags: Any = None) -> list[str]:
    """[]: there is no compiler."""
    return []


# Settings such as `torch._dynamo.config.suppress_errors = True` are stored and not read.
config = SimpleNamespace(cache_size_limit=8, suppress_errors=False, verbose=False)

__all__ = [
    "allow_in_graph", "assume_constant_result", "cudagraph_mark_step_begin", "disable",
    "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset",
]  # fmt: skip
