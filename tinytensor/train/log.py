"""The log of a training run: one JSON object on each line of a file."""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..serialize import sync_folder


class Log:
    """Keeps records in memory and, with a path, in a file.

    Each line is written at once, so a killed process leaves whole lines except perhaps the last.
    The checkpoint holds `size`, the number of bytes written: a run that resumes from it truncates
    the file there and writes later lines again. Writes always start at `size`, so that one that
    failed or was interrupted is simply repeated.
    """

    def __init__(self, path: Path | None):
        self.path = path
        self.records: list[dict[str, Any]] = []
        self.size = 0
        self._waiting = b""  # lines that could not be written, for example on a full disk

    def begin(self, size: int = 0) -> None:
        """Keep the first `size` bytes of the file, without an incomplete last line."""
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
        """Add a record; nan and inf, which JSON lacks, become null."""
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
            with suppress(OSError):  # leave no partial line; the next write repeats it
                os.truncate(self.path, self.size)
            raise
        self.size, self._waiting = end, b""

    def sync(self) -> None:
        """Flush the file to the disk."""
        self._flush()
        if self.path is not None and self.path.exists():
            with open(self.path, "ab") as file:
                os.fsync(file.fileno())


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
