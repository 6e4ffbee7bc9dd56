"""Write the files of pictures, pages and graphs: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from ..serialize import write_whole


def write_text(path: str | os.PathLike, text: str) -> Path:
    """Write a UTF-8 text file. An error names the file, and leaves an existing one unchanged."""
    # A lone surrogate, such as a broken file name in a label, becomes a question mark.
    return write_bytes(path, text.encode("utf-8", errors="replace"))


def write_bytes(path: str | os.PathLike, content: bytes) -> Path:
    """Write a file. An error names the file, and leaves an existing one unchanged."""
    write_whole(path, content, "graph")
    return Path(path)


__all__ = ["write_bytes", "write_text"]
