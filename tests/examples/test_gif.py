"""Animated GIFs: what a reader of the format gets back is what was written."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import tinytensor as tt

from .test_plots import load

gif = load("gif")


def unpacked(data: bytes) -> bytes:
    """Lempel-Ziv-Welch undone, as a reader does it: codes of 9 to 12 bits → pixels."""
    held, count, bits, place = 0, 0, 9, 0
    runs: list[bytes] = []
    before, pixels = b"", bytearray()
    while True:
        while count < bits:
            held, count, place = held | data[place] << count, count + 8, place + 1
        code, held, count = held & (1 << bits) - 1, held >> bits, count - bits
        if code == 257:
            assert place == len(data)
            return bytes(pixels)
        if code == 256:
            runs, bits, before = [bytes([value]) for value in range(256)] + [b"", b""], 9, b""
            continue
        run = runs[code] if code < len(runs) else before + before[:1]
        if before:
            runs.append(before + run[:1])
        if len(runs) == 1 << bits and bits < 12:
            bits += 1
        pixels += run
        before = run


def read(path: Path) -> tuple[np.ndarray, list[int]]:
    """The frames (frames, H, W, 3) of a GIF in bytes, and for how long each is shown."""
    data = path.read_bytes()
    width, height = struct.unpack("<HH", data[6:10])
    assert data[:6] == b"GIF89a" and data[10] == 0xF7
    palette = np.frombuffer(data[13 : 13 + 768], np.uint8).reshape(256, 3)
    at, frames, times = 13 + 768, [], []
    while data[at : at + 1] != b";":
        head, at = data[at : at + 11], at + (2 if data[at] == 0x21 else 11)
        content, at = joined_blocks(data, at)
        if head[0] == 0x2C:
            assert head == b"\x2c\0\0\0\0" + struct.pack("<HH", width, height) + b"\0\x08"
            numbers = np.frombuffer(unpacked(content), np.uint8).reshape(height, width)
            frames.append(palette[numbers])
        elif head[1] == 0xF9:
            times.append(struct.unpack("<H", content[1:3])[0])
    assert at == len(data) - 1
    return np.stack(frames), times


def joined_blocks(data: bytes, at: int) -> tuple[bytes, int]:
    """Blocks, each after its length, up to an empty one; and where the next part begins."""
    content = b""
    while data[at]:
        content, at = content + data[at + 1 : at + 1 + data[at]], at + 1 + data[at]
    return content, at + 1


def test_a_reader_sees_the_videos(tmp_path: Path) -> None:
    path = tmp_path / "videos.gif"
    videos = (np.arange(3 * 2 * 3 * 4 * 5).reshape(3, 2, 3, 4, 5) * 7 % 64) / 63
    gif.animation(path, [tt.from_numpy(video) for video in videos], columns=2, scale=3)
    frames, times = read(path)
    assert frames.shape == (2, 2 * 6 * 3, 2 * 7 * 3, 3)
    assert len(times) == 2 and times[0] < times[1]
    small = frames[:, ::3, ::3]
    assert (small.repeat(3, axis=1).repeat(3, axis=2) == frames).all()
    for number, video in enumerate(videos):
        top, left = number // 2 * 6, number % 2 * 7
        tile = small[:, top : top + 6, left : left + 7]
        assert (tile[:, 0] == 255).all() and (tile[:, :, -1] == 255).all()
        expected = (255 * video).round().astype(np.uint8).transpose(0, 2, 3, 1)
        assert tile[:, 1:-1, 1:-1].tolist() == expected.tolist()
    assert (small[:, 6:, 7:] == 255).all()  # the place that no video has


def test_many_colours_are_rounded(tmp_path: Path) -> None:
    tt.manual_seed(0)
    video = tt.rand(2, 3, 40, 40)
    gif.animation(tmp_path / "noise.gif", [video], columns=1, scale=1)
    frames, _ = read(tmp_path / "noise.gif")
    shown = frames[:, 1:-1, 1:-1].transpose(0, 3, 1, 2) / 255
    assert np.abs(shown - video.numpy()).max() <= 0.1 + 1e-6  # half of a fifth


LENGTHS = [1, 2, 254, 255, 256, 257, 767, 3000, 60000]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", ["one colour", "all different", "noise"])
def test_codes_are_undone(kind: str, length: int) -> None:
    """At lengths where codes get a bit longer, and where they are used up."""
    rng = np.random.default_rng(length)
    pixels = {
        "one colour": bytes(length),
        "all different": bytes(i % 256 for i in range(length)),
        "noise": rng.integers(0, 256, length, dtype=np.uint8).tobytes(),
    }[kind]
    packed = gif.packed(gif.codes(pixels))
    assert unpacked(packed) == pixels
    if kind == "one colour" and length == 60000:
        assert len(packed) < 600


def test_a_wrong_shape(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"gif: got shape \(1, 2, 1, 4, 4\), expected \(N, frames"):
        gif.animation(tmp_path / "videos.gif", [np.zeros((2, 1, 4, 4))], columns=1)
