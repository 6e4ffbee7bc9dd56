"""`tinytensor.cuda.amp`: mixed precision under its older names; see amp.py."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import amp
from .amp import GradScaler


class autocast(amp.autocast):
    """`tinytensor.amp.autocast` for "cuda"."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True):
        super().__init__("cuda", dtype, enabled, cache_enabled)


def custom_fwd(fwd: Callable | None = None, *, cast_inputs: Any = None) -> Callable:
    """`tinytensor.amp.custom_fwd` for "cuda"."""
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


custom_bwd = functools.partial(amp.custom_bwd, device_type="cuda")

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
