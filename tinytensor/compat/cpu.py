"""torch.cpu: the CPU under the names of torch.cuda. Work on it is done when a call returns."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

from ..devices import device


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


def set_device(device: Any) -> None:
    """No effect: there is one CPU."""


def synchronize(device: Any = None) -> None:
    """Return at once."""


class Stream:
    """A queue of work that is always empty."""

    def __init__(self, device: Any = None, priority: int = -1):
        self.device_index = -1

    @property
    def device(self) -> device:
        return device("cpu")

    def synchronize(self) -> None:
        """Return at once."""

    def query(self) -> bool:
        return True

    def wait_stream(self, stream: Any) -> None:
        """Return at once."""

    def wait_event(self, event: Any) -> None:
        """Return at once."""

    def record_event(self, event: Any = None) -> Event:
        """An event of this moment."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: Any) -> None:
        pass


class Event:
    """A moment of the program, for `elapsed_time`."""

    def __init__(self, device: Any = None, enable_timing: bool = False, **options: Any):
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        """Store this moment."""
        self._time = time.perf_counter()

    def query(self) -> bool:
        return True

    def wait(self, stream: Any = None) -> None:
        """Return at once."""

    def synchronize(self) -> None:
        """Return at once."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another one."""
        if self._time is None or end_event._time is None:
            raise RuntimeError("Event.elapsed_time: record() both events first")
        return 1000 * (end_event._time - self._time)


def current_stream(device: Any = None) -> Stream:
    """The only stream."""
    return _STREAM


def default_stream(device: Any = None) -> Stream:
    """The only stream."""
    return _STREAM


class StreamContext(nullcontext):
    """`with stream(s):`, without effect."""

    def __init__(self, stream: Any):
        super().__init__(stream)


def stream(stream: Any) -> StreamContext:
    """A context manager without effect."""
    return StreamContext(stream)


_STREAM = Stream()

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "default_stream",
    "device_count", "is_available", "is_initialized", "set_device", "stream", "synchronize",
]  # fmt: skip
