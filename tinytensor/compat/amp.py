"""Mixed precision, in name only: every op runs in the dtype of its tensors.

A training loop with `autocast` and a `GradScaler` runs unchanged, in full precision.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from ..dtype import bfloat16, float16


class autocast(ContextDecorator):
    """A context manager and decorator without effect."""

    def __init__(self, device_type: str = "cpu", dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None):  # fmt: skip
        self.device_type, self.dtype, self.enabled = device_type, dtype, enabled

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass


class GradScaler:
    """Scales nothing: losses and gradients keep the dtype of their tensors."""

    def __init__(self, device: Any = "cuda", *args: Any, enabled: bool = True, **options: Any):
        self._enabled = enabled

    def is_enabled(self) -> bool:
        return False

    def scale(self, outputs: Any) -> Any:
        return outputs

    def unscale_(self, optimizer: Any) -> None:
        pass

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        pass

    def get_scale(self) -> float:
        return 1.0

    def state_dict(self) -> dict:
        return {}

    def load_state_dict(self, state_dict: dict) -> None:
        pass


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """False: `autocast` has no effect."""
    return False


def is_autocast_cpu_enabled() -> bool:
    """False: `autocast` has no effect."""
    return False


def get_autocast_dtype(device_type: str) -> Any:
    """PyTorch's default for the device, which no op uses: float16 on a GPU, bfloat16 elsewhere."""
    return float16 if device_type == "cuda" else bfloat16


def get_autocast_gpu_dtype() -> Any:
    """float16, which no op uses."""
    return float16


def get_autocast_cpu_dtype() -> Any:
    """bfloat16, which no op uses."""
    return bfloat16


__all__ = [
    "GradScaler", "autocast", "get_autocast_cpu_dtype", "get_autocast_dtype",
    "get_autocast_gpu_dtype", "is_autocast_cpu_enabled", "is_autocast_enabled",
]  # fmt: skip
