"""TensorBoard's event files, written by hand: protobuf messages in TFRecords.

A message is a sequence of fields, each its number, its wire type and its value. The few messages
that a writer needs are built here from such fields, so that nothing has to be installed to write a
log; `pip install tensorboard` is for looking at it.
"""

from __future__ import annotations

import os
import socket
import struct
import time
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

# ------------------------------------------------------------------------------------------
# Fields of a message
# ------------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    """An integer in groups of 7 bits, the lowest first; negative ones as 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def integer(number: int, value: int) -> bytes:
    """An int, bool or enum field."""
    return varint(number << 3) + varint(int(value))


def double(number: int, value: float) -> bytes:
    """A double field."""
    return varint(number << 3 | 1) + struct.pack("<d", value)


def single(number: int, value: float) -> bytes:
    """A float field; numbers too large become inf."""
    with np.errstate(over="ignore"):
        return varint(number << 3 | 5) + np.float32(value).astype("<f4").tobytes()


def block(number: int, value: bytes | str) -> bytes:
    """A string, bytes or message field."""
    content = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def doubles(number: int, values: Iterable[float]) -> bytes:
    """A repeated double field."""
    return block(number, np.asarray(values, dtype="<f8").tobytes())


# ------------------------------------------------------------------------------------------
# Messages
# ------------------------------------------------------------------------------------------


def plugin(name: str, content: bytes = b"") -> bytes:
    """The metadata field of a summary value: the plugin that shows it."""
    return block(9, block(1, block(1, name) + (block(2, content) if content else b"")))


def png_image(height: int, width: int, png: bytes) -> bytes:
    """The image field of a summary value."""
    return block(4, integer(1, height) + integer(2, width) + integer(3, 3) + block(4, png))


def png(pixels: np.ndarray) -> bytes:
    """Encode uint8 pixels (H, W, 3) as PNG."""
    height, width, _ = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
    body = zlib.compress(rows.tobytes())
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


# ------------------------------------------------------------------------------------------
# Records
# ------------------------------------------------------------------------------------------


def _crc_table() -> list[int]:
    """CRC-32C (Castagnoli) of each byte."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def masked_crc(content: bytes) -> bytes:
    """The checksum of a record, rotated and shifted as TFRecord asks for."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = _TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(content: bytes) -> bytes:
    """Length, its checksum, content, its checksum."""
    length = struct.pack("<Q", len(content))
    return length + masked_crc(length) + content + masked_crc(content)


class EventFile:
    """An event file in a folder; each event has a time and a step."""

    count = 0  # of files of this process, for distinct names

    def __init__(self, folder: str | os.PathLike, suffix: str, queue: int, seconds: float):
        self.queue, self.seconds = queue, seconds
        self.waiting = 0
        Path(folder).mkdir(parents=True, exist_ok=True)
        now = time.time()
        host = socket.gethostname()
        name = f"events.out.tfevents.{int(now):010d}.{host}.{os.getpid()}.{EventFile.count}{suffix}"
        EventFile.count += 1
        self.file = open(Path(folder) / name, "ab")  # noqa: SIM115
        self.flushed = now
        self.write(block(3, "brain.Event:2"))
        self.flush()

    def write(self, what: bytes, step: int | None = None, walltime: float | None = None) -> None:
        """Append an event; `what` is its field. Flush if many wait or the last flush is old."""
        event = double(1, time.time() if walltime is None else walltime)
        event += b"" if step is None else integer(2, step)
        self.file.write(record(event + what))
        self.waiting += 1
        if self.waiting >= self.queue or time.time() - self.flushed >= self.seconds:
            self.flush()

    def flush(self) -> None:
        self.file.flush()
        self.waiting, self.flushed = 0, time.time()

    def close(self) -> None:
        self.file.close()


__all__ = ["EventFile"]
