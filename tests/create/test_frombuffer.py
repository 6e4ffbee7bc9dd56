"""frombuffer, compared with PyTorch."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

CASES: dict[str, Any] = {
    "int8": lambda t: t.frombuffer(bytearray(b"\x01\xff\x03"), dtype=t.int8),
    "int32 of bytes": lambda t: t.frombuffer(bytearray(range(8)), dtype=t.int32),
    "array": lambda t: t.frombuffer(array("d", [1.5, -2.5]), dtype=t.float64),
    "numpy": lambda t: t.frombuffer(np.arange(6, dtype=np.float32), dtype=t.float32),
    "2-D numpy": lambda t: t.frombuffer(np.ones((2, 3), dtype=np.float32), dtype=t.float32),
    "count": lambda t: t.frombuffer(bytearray(range(8)), dtype=t.int16, count=2),
    "offset": lambda t: t.frombuffer(bytearray(range(8)), dtype=t.int16, offset=2),
    "count and offset": lambda t: t.frombuffer(
        bytearray(range(9)), dtype=t.int16, count=2, offset=3
    ),
    "bool": lambda t: t.frombuffer(bytearray(b"\x00\x01"), dtype=t.bool),
}
WRONG: dict[str, Any] = {
    "no buffer": lambda t: t.frombuffer([1, 2], dtype=t.int8),
    "empty": lambda t: t.frombuffer(bytearray(), dtype=t.int8),
    "count 0": lambda t: t.frombuffer(bytearray(4), dtype=t.int8, count=0),
    "offset too large": lambda t: t.frombuffer(bytearray(4), dtype=t.int8, offset=4),
    "offset negative": lambda t: t.frombuffer(bytearray(4), dtype=t.int8, offset=-1),
    "part of an element": lambda t: t.frombuffer(bytearray(5), dtype=t.int32),
    "too many": lambda t: t.frombuffer(bytearray(4), dtype=t.int16, count=3),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = CASES[name](tt), CASES[name](torch)
    assert ours.tolist() == theirs.tolist() and ours.shape == theirs.shape
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name: str) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError):
        WRONG[name](torch)
    with pytest.raises(ValueError, match="frombuffer: got"):
        WRONG[name](tt)


def test_memory_is_shared() -> None:
    buffer = bytearray(4)
    x = tt.frombuffer(buffer, dtype=tt.int8)
    x[1] = 7
    buffer[2] = 9
    assert buffer == bytearray([0, 7, 9, 0]) and x.tolist() == [0, 7, 9, 0]


def test_gradients() -> None:
    x = tt.frombuffer(bytearray(8), dtype=tt.float32, requires_grad=True)
    x.exp().sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_read_only_buffer_warns() -> None:
    with pytest.warns(UserWarning, match="not writable"):
        x = tt.frombuffer(b"abc", dtype=tt.uint8)
    assert x.tolist() == [97, 98, 99]
    with pytest.raises(RuntimeError, match="read-only"):
        x.add_(1)
