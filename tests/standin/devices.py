"""The part of cupy.cuda that is modelled: one device, one stream, a pool that counts bytes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .ndarray import Device, Usage


class Stream:
    """Everything is done at once, so there is nothing to wait for."""

    null: Stream

    def synchronize(self) -> None:
        pass


Stream.null = Stream()


class MemoryPool:
    def used_bytes(self) -> int:
        return Usage.bytes

    def total_bytes(self) -> int:
        return Usage.bytes

    def free_bytes(self) -> int:
        return 0

    def free_all_blocks(self, stream: Any = None) -> None:
        pass


_pool = MemoryPool()


def get_default_memory_pool() -> MemoryPool:
    return _pool


cuda = SimpleNamespace(
    Device=Device,
    Stream=Stream,
    MemoryPool=MemoryPool,
    is_available=lambda: True,
    runtime=SimpleNamespace(
        getDeviceCount=lambda: 1,
        getDevice=lambda: 0,
        deviceSynchronize=lambda: None,
        getDeviceProperties=lambda device: {"name": b"stand-in"},
    ),
)
