"""Streams and events of a GPU. All work is on one stream, in the order of the calls.

Without a GPU a Stream or an Event cannot be made, as in PyTorch; `stream(None)` has no effect.
"""

from __future__ import annotations

from typing import Any

from .. import devices
from ..compat import cpu
from ..devices import device


def _wait() -> None:
    devices.gpu().cuda.Stream.null.synchronize()


def _require(name: str) -> None:
    if not devices.gpu_count():
        raise RuntimeError(f"cuda.{name}: there is no GPU; ask cuda.is_available()")


class Stream(cpu.Stream):
    """The stream that all work is on; one made by the program stands for the same."""

    def __init__(self, device: Any = None, priority: int = 0, **options: Any):
        _require("Stream")
        self.device_index = 0 if device is None else devices.device(device).index or 0

    @property
    def device(self) -> device:
        return device("cuda", self.device_index)

    def synchronize(self) -> None:
        """Wait until the GPU has finished all its work."""
        _wait()

    def record_event(self, event: Any = None) -> Event:
        """An event of the moment when the work before it is done."""
        event = Event() if event is None else event
        event.record(self)
        return event


class Event(cpu.Event):
    """The moment when the GPU has done the work before it: `record` waits for that."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False,
        external: bool = False,
    ):  # fmt: skip
        _require("Event")
        super().__init__()

    def record(self, stream: Any = None) -> None:
        """Wait for the work before this event, and store the moment."""
        _wait()
        super().record(stream)


def current_stream(device: Any = None) -> Stream:
    """The stream that all work is on."""
    return Stream(device)


def default_stream(device: Any = None) -> Stream:
    """The stream that all work is on."""
    return Stream(device)


def set_stream(stream: Any) -> None:
    """No effect: there is one stream."""


StreamContext, stream = cpu.StreamContext, cpu.stream

__all__ = [
    "Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream",
]  # fmt: skip
