"""The log of a training: one JSON object on each line of a file."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any


class Log:
    """Records, in memory and, if there is a path, in a file.

    Each line is written out at once, so a killed process leaves whole lines, but for the last. The
    number of bytes written, `size`, goes into the checkpoint: a training that goes on from there
    cuts off what came after it, and writes those lines anew.
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

    def write(self, record: dict[str, Any]) -> None:
        """Add a record; nan and inf, which JSON does not know, become null."""
        record = _as_json(record)
        self.records.append(record)
        if self.path is not None:
            self._waiting += json.dumps(record).encode() + b"\n"
            self._flush()

    def _flush(self) -> None:
        assert self.path is not None
        try:
            with open(self.path, "ab") as file:
                file.write(self._waiting)
        except OSError:
            os.truncate(self.path, self.size)  # not half of it: all of it comes with the next line
            raise
        self.size += len(self._waiting)
        self._waiting = b""

    def sync(self) -> None:
        """See to it that what was written is on the disk."""
        if self.path is not None:
            self._flush()
            with open(self.path, "ab") as file:
                os.fsync(file.fileno())


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
