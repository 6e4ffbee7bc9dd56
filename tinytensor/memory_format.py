"""PyTorch's memory formats, and its layouts: `strided`, `sparse_coo` and `sparse_csr`.

`clone` and `contiguous` honour `contiguous_format`. Elsewhere a format is accepted and has no
effect: every op works for every order of dimensions in memory.
"""

from __future__ import annotations


class MemoryFormat:
    """The class of `tinytensor.contiguous_format`, `channels_last` …, and of the layouts."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"tinytensor.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # pickle looks the name up in this module


contiguous_format = MemoryFormat("contiguous_format")
legacy_contiguous_format = contiguous_format
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last")
channels_last_3d = MemoryFormat("channels_last_3d")
strided = MemoryFormat("strided")
sparse_coo = MemoryFormat("sparse_coo")
sparse_csr = MemoryFormat("sparse_csr")

__all__ = [
    "channels_last", "channels_last_3d", "contiguous_format", "legacy_contiguous_format",
    "preserve_format", "sparse_coo", "sparse_csr", "strided",
]  # fmt: skip
