"""Ctrl-C between `hold` and `free` comes after the outermost `free`, once."""

from __future__ import annotations

import signal
import threading

import pytest

from tinytensor.kernels.machinery.hold_signals import _Held, free, hold


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_nothing_is_pressed() -> None:
    before = signal.getsignal(signal.SIGINT)
    for depth in (1, 2, 3):
        for _ in range(depth):
            hold()
        assert signal.getsignal(signal.SIGINT) is not before and _Held.depth == depth
        for _ in range(depth):
            free()
        assert signal.getsignal(signal.SIGINT) is before and _Held.depth == 0
    with pytest.raises(KeyboardInterrupt):
        press()


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_it_waits_for_the_outermost(depth: int, times: int) -> None:
    before = signal.getsignal(signal.SIGINT)
    for _ in range(depth):
        hold()
    for _ in range(times):
        press()
    for _ in range(depth - 1):
        free()
    with pytest.raises(KeyboardInterrupt):
        free()
    assert signal.getsignal(signal.SIGINT) is before and not _Held.pressed and _Held.depth == 0
    hold()
    free()  # an old Ctrl-C does not come again


def test_other_threads_hold_nothing() -> None:
    before = signal.getsignal(signal.SIGINT)
    found: list[bool] = []

    def run() -> None:
        hold()
        found.append(_Held.depth == 0 and signal.getsignal(signal.SIGINT) is before)
        free()
        found.append(_Held.depth == 0)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [True, True]


def test_a_handler_that_ignores_it_stays() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        hold()
        press()
        free()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN and _Held.depth == 0
    finally:
        signal.signal(signal.SIGINT, before)
