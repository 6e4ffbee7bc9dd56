"""Delays Ctrl-C while Numba is imported or compiles, which would leave it in a broken state."""

from __future__ import annotations

import signal
import threading
from typing import Any


class _Held:
    """State between `hold` and `free`, which may be nested."""

    depth = 0
    handler: Any = None
    pressed = False


def hold() -> None:
    """Only record Ctrl-C, until `free`."""
    if threading.current_thread() is not threading.main_thread():
        return  # signals interrupt the main thread only
    _Held.depth += 1
    if _Held.depth == 1 and callable(handler := signal.getsignal(signal.SIGINT)):
        _Held.handler = handler
        signal.signal(signal.SIGINT, _note)


def _note(number: int, frame: Any) -> None:
    _Held.pressed = True


def free() -> None:
    """End a `hold`; the outermost one interrupts if Ctrl-C was pressed meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        return
    _Held.depth -= 1
    if _Held.depth or _Held.handler is None:
        return
    handler, _Held.handler = _Held.handler, None
    pressed, _Held.pressed = _Held.pressed, False
    signal.signal(signal.SIGINT, handler)
    if pressed:
        signal.raise_signal(signal.SIGINT)
