"""PyTorch's memory formats, and its layout `strided`, the only one there is.

`clone` and `contiguous` honour `contiguous_format`. Elsewhere a format is accepted and has no
effect: every op works for every order of dimensions in memory.
"""

from __future__ import annotations


class MemoryFormat:
    """The class of `tinytensor.contiguous_format`, `channels_last` …, and of `strided`."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"tinytensor.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # pickle looks the name up in this module


contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last")
strided = MemoryFormat("strided")

__all__ = ["channels_last", "contiguous_format", "preserve_format", "strided"]
