"""`tinytensor.cuda.amp`: mixed precision under its older names; see amp.py."""

from __future__ import annotations

from typing import Any

from . import amp
from .amp import GradScaler


class autocast(amp.autocast):
    """`tinytensor.amp.autocast` for "cuda"."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True):
        super().__init__("cuda", dtype, enabled, cache_enabled)


__all__ = ["GradScaler", "autocast"]
