"""Timer: run a statement many times and measure each run, as Python's timeit does."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from typing import Any

from ... import cuda
from ...kernels import get_num_threads, set_num_threads
from .measurement import Measurement, TaskSpec


def timer() -> float:
    """Seconds, after the GPU, if there is one, has finished its work."""
    if cuda.is_available():
        cuda.synchronize()
    return timeit.default_timer()


class Timer:
    """Measures `stmt`, a string of Python code.

    setup runs once before. globals: the names that the code sees. label, sub_label and description
    are for tables. num_threads: those of the ops while it runs.
    """

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
        timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None,
        label: str | None = None, sub_label: str | None = None, description: str | None = None,
        env: str | None = None, num_threads: int = 1, language: Any = "python",
    ):  # fmt: skip
        if not isinstance(stmt, str):
            raise ValueError(f"Timer: got stmt of type {type(stmt).__name__}, expected a string")
        if str(language).lower() not in ("python", "py", "language.python"):
            raise NotImplementedError(f"Timer: got language {language!r}, expected 'python'")
        scope = dict(globals or {})
        if "torch" not in scope:
            scope["torch"] = __import__("tinytensor")
        self._globals, self._timer = scope, timeit.Timer(stmt, setup, timer, scope)
        self._task = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _run(self, number: int) -> float:
        before = get_num_threads()
        set_num_threads(self._task.num_threads)
        try:
            return self._timer.timeit(number)
        finally:
            set_num_threads(before)

    def timeit(self, number: int = 1000000) -> Measurement:
        """`number` calls in one run, after a few to warm up."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self._task)

    def _calls_per_run(self, seconds: float) -> int:
        """So many calls that a run takes that long."""
        number = 1
        while True:
            taken = self._run(number)
            if taken >= seconds:
                return number
            number = max(number * 2, int(number * seconds / max(taken, 1e-9)) // 2)

    def blocked_autorange(
        self, callback: Callable | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Runs of about a hundredth of min_run_time each, until they took that long."""
        number = self._calls_per_run(min_run_time / 1000)
        times: list[float] = []
        while sum(times) < min_run_time or not times:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
        callback: Callable | None = None,
    ) -> Measurement:  # fmt: skip
        """Runs until the distance of the quartiles is below threshold·median, or time is up."""
        number = self._calls_per_run(0.05 * min_run_time)
        times: list[float] = []
        while sum(times) < max_run_time:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
            found = Measurement(number, times, self._task)
            if (
                len(times) > 3
                and sum(times) >= min_run_time
                and found.iqr / found.median < threshold
            ):
                break
        return Measurement(number, times, self._task)


__all__ = ["Timer", "timer"]
