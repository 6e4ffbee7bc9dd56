"""Show the progress of a training run, and end it cleanly on Ctrl-C or SIGTERM."""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import Any

from ..text import clean, one_line

SECONDS_BETWEEN_LINES = 5.0
LONGEST = 40  # the most characters of a figure with its name


class Progress:
    """A tqdm bar with the latest figures on a terminal; otherwise a line every few seconds.

    Both go to stderr, which leaves stdout to the script's results.
    """

    def __init__(self, shown: bool, step: int, total: int | None):
        self.shown, self.total = shown, total
        self.last_line = time.monotonic()
        self.text = self.printed = ""
        self.bar: Any = None
        if shown and sys.stderr.isatty():
            try:
                from tqdm import tqdm
            except ImportError:
                return  # print lines instead
            self.bar = tqdm(initial=step, total=total, unit="step", dynamic_ncols=True)

    def update(self, step: int, figures: dict[str, Any]) -> None:
        """Show the step and the latest figures."""
        if not self.shown:
            return
        if self.bar is not None:
            self.bar.set_postfix_str("  ".join(_texts(figures)), refresh=False)
            self.bar.update(step - self.bar.n)
            return
        of_total = f"/{self.total}" if self.total else ""
        self.text = "  ".join([f"step {step}{of_total}", *_texts(figures)])
        if time.monotonic() - self.last_line > SECONDS_BETWEEN_LINES:
            self._print_line()

    def _print_line(self) -> None:
        if self.text != self.printed:
            print(self.text, file=sys.stderr, flush=True)
        self.printed, self.last_line = self.text, time.monotonic()

    def say(self, text: str) -> None:
        """Print a line of text, above the bar if there is one."""
        text = clean(text)
        if self.bar is not None:
            self.bar.write(text, file=sys.stderr)
        elif self.shown:
            print(text, file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: Any) -> None:
        if self.bar is not None:
            self.bar.close()
        else:
            self._print_line()


def _texts(figures: dict[str, Any]) -> list[str]:
    pairs = {name: value for name, value in figures.items() if value is not None}
    texts = [f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in pairs.items()]
    return [one_line(text, LONGEST) for text in texts]


class Stop:
    """Inside `with Stop() as stop:` the first Ctrl-C or SIGTERM only sets `stop.signal`.

    So the current step completes, and the checkpoint saved after it is consistent. A second signal
    acts at once. A program's own handlers for these signals are left in place.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.replaced: dict[int, Any] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():  # only it may set handlers
            usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
            self.replaced = {n: h for n, h in usual.items() if signal.getsignal(n) is h}
            for number in self.replaced:
                signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        if self.signal is not None:
            self._restore()
            signal.raise_signal(number)
        self.signal = number

    def _restore(self) -> None:
        for number, handler in self.replaced.items():
            signal.signal(number, handler)

    def __exit__(self, *error: Any) -> None:
        self._restore()
