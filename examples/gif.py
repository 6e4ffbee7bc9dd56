"""Writes videos as an animated GIF, without an image library.

animation("videos.gif", [first, second], columns=2)  # each (frames, 3, H, W), from 0 to 1
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tinytensor as tt
from tinytensor.serialize import write_whole

CLEAR, STOP = 256, 257  # the two codes that are not pixels
FOR_EVER = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"


def animation(
    path: str | os.PathLike[str], videos: Sequence[Any], columns: int, scale: int = 6
) -> None:
    """Write videos side by side, `columns` in a row; they loop, with a pause at the last frame.

    videos: each (frames, 3, H, W), from 0 to 1. scale: the size of a drawn pixel.
    """
    frames = side_by_side(tt.stack([tt.as_tensor(video) for video in videos]).numpy(), columns)
    palette, pixels = with_palette(frames.clip(0, 1))
    pixels = pixels.repeat(scale, axis=1).repeat(scale, axis=2)
    count, height, width = pixels.shape
    size = struct.pack("<HH", width, height)
    parts = [b"GIF89a", size, b"\xf7\x00\x00", palette, FOR_EVER]  # f7: 256 colours for all frames
    for number, frame in enumerate(pixels, 1):
        hundredths = 12 if number < count else 80
        parts.append(b"\x21\xf9\x04\x04" + struct.pack("<H", hundredths) + b"\x00\x00")
        parts.append(b"\x2c\x00\x00\x00\x00" + size + b"\x00\x08")  # at 0, 0; pixels of 8 bits
        data = packed(codes(frame.tobytes()))
        blocks = [data[i : i + 255] for i in range(0, len(data), 255)]
        parts += [bytes([len(block)]) + block for block in [*blocks, b""]]
    write_whole(path, b"".join(parts) + b";", "gif")


def side_by_side(videos: np.ndarray, columns: int) -> np.ndarray:
    """(N, frames, 3, H, W) → (frames, rows·H, columns·W, 3), with a white line around each."""
    if videos.ndim != 5 or videos.shape[2] != 3:
        raise ValueError(f"gif: got shape {videos.shape}, expected (N, frames, 3, H, W)")
    around, none = (1, 1), (0, 0)
    videos = np.pad(videos, (none, none, none, around, around), constant_values=1.0)
    empty = (0, -len(videos) % columns)  # empty places in the last row
    videos = np.pad(videos, (empty, none, none, none, none), constant_values=1.0)
    _, frames, _, height, width = videos.shape
    # (rows·columns, frames, 3, H, W) → (rows, columns, frames, 3, H, W), then in display order
    table = videos.reshape(-1, columns, frames, 3, height, width).transpose(2, 0, 4, 1, 5, 3)
    return table.reshape(frames, -1, columns * width, 3)


def with_palette(frames: np.ndarray) -> tuple[bytes, np.ndarray]:
    """(256 colours, the index of each pixel's colour), in the finest levels that still fit."""
    for levels in (63, 31, 15, 11, 7, 5):
        rounded = (levels * frames).round().astype(np.uint8).reshape(-1, 3)  # (…, 3) → (pixels, 3)
        colours, numbers = np.unique(rounded, axis=0, return_inverse=True)
        if len(colours) <= 256:
            break
    palette = (255 / levels * colours).round().astype(np.uint8).tobytes()
    return palette.ljust(3 * 256, b"\x00"), numbers.reshape(frames.shape[:-1]).astype(np.uint8)


def codes(pixels: bytes) -> Iterator[tuple[int, int]]:
    """Lempel-Ziv-Welch compression, as (code, bits): each code is the longest run in the table.

    That run plus the next pixel gets the next free code. At 4096 codes the table starts afresh.
    """
    single = {bytes([value]): value for value in range(256)}
    table, bits, run = dict(single), 9, b""
    yield CLEAR, bits
    for value in pixels:
        longer = run + bytes([value])
        if longer in table:
            run = longer
            continue
        yield table[run], bits
        table[longer] = len(table) + 2  # after CLEAR and STOP
        run = longer[-1:]
        if table[longer] == 4096:
            yield CLEAR, bits
            table, bits = dict(single), 9
        elif table[longer] == 1 << bits:
            bits += 1
    yield table[run], bits
    last = len(table) + 2  # a decoder has added one more run by now
    yield STOP, min(12, max(bits, last.bit_length()))


def packed(codes: Iterator[tuple[int, int]]) -> bytes:
    """Pack the codes into bytes, lowest bit first."""
    written, held, count = bytearray(), 0, 0
    for code, bits in codes:
        held, count = held | code << count, count + bits
        while count >= 8:
            written.append(held & 255)
            held, count = held >> 8, count - 8
    return bytes([*written, held] if count else written)


__all__ = ["animation"]
