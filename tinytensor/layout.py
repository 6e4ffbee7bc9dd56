"""How elements lie in memory, under PyTorch's names: there is one layout, strided.

`clone` and `contiguous` look at `contiguous_format`; elsewhere a format is accepted and changes
nothing, as every op works for every order of dimensions.
"""

from __future__ import annotations


class MemoryFormat:
    """`tinytensor.contiguous_format` and its kin; also the layout `tinytensor.strided`."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"tinytensor.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # pickle finds it again by its name in this module


contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last")
strided = MemoryFormat("strided")

__all__ = ["channels_last", "contiguous_format", "preserve_format", "strided"]
