"""Helpers around training: `checkpoint` recomputes intermediate values to save memory."""

from . import checkpoint

__all__ = ["checkpoint"]
