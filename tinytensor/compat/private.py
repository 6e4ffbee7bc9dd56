"""torch._C, torch._ops and torch._utils: the few private names that public programs use.

Switches of PyTorch's compiler have no effect. There is no tracing, so the tracing state is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from ..errors import LinAlgError as _LinAlgError
from ..ops import cat
from ..tensor import Tensor


def _log_api_usage_once(*args: Any) -> None:
    """No effect: nothing is logged."""


def _get_tracing_state() -> None:
    """None: nothing is traced."""


class _Ops:
    """torch.ops: operators registered in C++, of which there are none."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"torch.ops has no attribute {name!r}: operators registered in C++ do not exist here"
        )


ops = _Ops()


class DisableTorchFunctionSubclass(nullcontext):
    """A context manager without effect: no subclass of Tensor overrides functions here."""


def __getattr__(name: str) -> Callable[..., None]:
    """`_jit_set_profiling_mode(False)` and its like: functions without effect."""
    if name.startswith(("_jit_set_", "_jit_override_")):
        return _log_api_usage_once
    raise AttributeError(
        f"module 'tinytensor._C' has no attribute {name!r}: PyTorch's C++ part does not exist here"
    )


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements of the tensors, one after the other, as one 1-d tensor."""
    return cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of the 1-d tensor `flat`, in the shapes of `tensors`."""
    total = sum(t.numel() for t in tensors)
    if flat.numel() < total:
        raise RuntimeError(
            f"_unflatten_dense_tensors: got {flat.numel()} elements, expected at least {total}"
        )
    views, start = [], 0
    for t in tensors:
        views.append(flat.narrow(0, start, t.numel()).view(t.shape))
        start += t.numel()
    return tuple(views)


__all__ = ["_LinAlgError"]
