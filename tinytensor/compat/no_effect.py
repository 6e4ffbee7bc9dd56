"""Functions of PyTorch that are accepted and have no effect.

There is one way to run an op, in the dtype of its tensors, so there is nothing to choose.
`_assert` and `_check`, which symbolic tracing needs, are ordinary assertions.
"""

from __future__ import annotations

from typing import Any


def compile(model: Any = None, **options: Any) -> Any:
    """Return `model` unchanged; `@compile(…)` returns the decorated function unchanged."""
    return (lambda function: function) if model is None else model


_matmul_precision = "highest"


def set_float32_matmul_precision(precision: str) -> None:
    """Store the setting, which has no effect: matrix products run in full precision."""
    global _matmul_precision
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"set_float32_matmul_precision: got {precision!r}, "
            "expected 'highest', 'high' or 'medium'"
        )
    _matmul_precision = precision


def get_float32_matmul_precision() -> str:
    """The setting that was stored last; "highest" at first."""
    return _matmul_precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """No effect: on a CPU every op is deterministic."""


def are_deterministic_algorithms_enabled() -> bool:
    """True."""
    return True


def _check(cond: bool, message: Any = None) -> None:
    """Raise RuntimeError(message()) unless the condition holds."""
    if not cond:
        raise RuntimeError("expected cond to be True" if message is None else message())


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError(message) unless the condition holds, also under `python -O`."""
    if not condition:
        raise AssertionError(message)


__all__ = [
    "are_deterministic_algorithms_enabled",
    "compile",
    "get_float32_matmul_precision",
    "set_float32_matmul_precision",
    "use_deterministic_algorithms",
]
