"""Helpers around training: `data` makes batches, `checkpoint` recomputes values to save memory."""

from . import checkpoint, data

__all__ = ["checkpoint", "data"]
