"""The log of a training: one JSON object on each line of a file."""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..serialize import sync_folder


class Log:
    """Records, in memory and, if there is a path, in a file.

    Each line is written out at once, so a killed process leaves whole lines, but for the last. The
    number of bytes written, `size`, goes into the checkpoint: a training that goes on from there
    cuts off what came after it, and writes those lines anew. Lines are always written at `size`, so
    that a write which failed or was interrupted is simply done again.
    """

    def __init__(self, path: Path | None):
        self.path = path
        self.records: list[dict[str, Any]] = []
        self.size = 0
        self._waiting = b""  # lines that could not be written, say as the disk was full

    def begin(self, size: int = 0) -> None:
        """Keep the first `size` bytes of the file, without a half line at their end."""
        self.records, self.size, self._waiting = [], 0, b""
        if self.path is None:
            return
        try:
            content = self.path.read_bytes()[:size] if size else b""
            content = content[: content.rfind(b"\n") + 1]
            self.records = [json.loads(line) for line in content.splitlines()]
        except FileNotFoundError:
            content = b""
        except ValueError as error:
            raise RuntimeError(f"Trainer: {self.path} is damaged ({error})") from None
        self.size = len(content)
        with open(self.path, "ab") as file:
            file.truncate(self.size)
        sync_folder(self.path.parent)

    def write(self, record: dict[str, Any]) -> None:
        """Add a record; nan and inf, which JSON does not know, become null."""
        record = _as_json(record)
        line = json.dumps(record).encode() + b"\n"
        self._waiting += line
        self.records.append(record)
        self._flush()

    def _flush(self) -> None:
        if self.path is None or not self._waiting:
            self._waiting = b""
            return
        end = self.size + len(self._waiting)
        try:
            with open(self.path, "r+b" if self.path.exists() else "xb") as file:
                file.seek(self.size)
                file.write(self._waiting)
                file.truncate()
        except OSError:
            with suppress(OSError):  # not half of it: all of it comes with the next line
                os.truncate(self.path, self.size)
            raise
        self.size, self._waiting = end, b""

    def sync(self) -> None:
        """See to it that what was written is on the disk."""
        self._flush()
        if self.path is not None and self.path.exists():
            with open(self.path, "ab") as file:
                os.fsync(file.fileno())


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
