"""PyTorch's profiler interface (torch.profiler, torch.autograd.profiler) over `profile()`.

    with profile(activities=[ProfilerActivity.CPU]) as prof:
        train()
    print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=10))

An event is an op in one direction ("matmul", "matmul backward"), an optimiser's step or a
`record_function` block. Sums of times exist, single events and traces over time do not.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ContextDecorator
from typing import Any, NoReturn

from .measure import profile as measure
from .times import BACKWARD, Times

_running: list[profile] = []  # of this process; the newest last


class ProfilerActivity(enum.Enum):
    """What to measure. Here it is always the time of the calling CPU threads."""

    CPU, XPU, MTIA, CUDA, HPU, PrivateUse1 = range(6)


class ProfilerAction(enum.Enum):
    """What to do in a step, by the schedule."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


class FunctionEvent:
    """The calls of one op or block: `key`, `count`, and µs in total and without what ran inside."""

    def __init__(self, key: str, count: int, self_seconds: float, seconds: float):
        self.key = self.name = key
        self.count = count
        self.self_cpu_time_total, self.cpu_time_total = self_seconds * 1e6, seconds * 1e6
        self.self_device_time_total = self.device_time_total = 0.0

    @property
    def cpu_time(self) -> float:
        """The mean of a call, in µs."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return f"<FunctionEvent key={self.key} count={self.count} cpu={self.cpu_time_total:.1f}us>"


class EventList(list):
    """The events of a profile, the longest first."""

    total = 0.0  # seconds of the whole block

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text, sorted by one of their attributes, the largest first."""
        rows = list(self)
        if sort_by is not None:
            attribute = sort_by.replace("cuda_time", "device_time")
            if rows and not hasattr(rows[0], attribute):
                raise AttributeError(
                    f"table: got sort_by={sort_by!r}, expected an event's attribute"
                )
            rows.sort(key=lambda event: -getattr(event, attribute))
        rows = rows[:row_limit] if row_limit >= 0 else rows
        width = max([4, *(min(len(row.key), max_name_column_width) for row in rows)])
        line = f"{{:<{width}}}  {{:>10}}  {{:>12}}  {{:>12}}  {{:>12}}  {{:>8}}"
        head = line.format("Name", "Self CPU %", "Self CPU", "CPU total", "CPU mean", "Calls")
        whole = sum(event.self_cpu_time_total for event in self) or 1.0
        out = [header] if header else []
        out += ["-" * len(head), head, "-" * len(head)]
        for row in rows:
            times = (row.self_cpu_time_total, row.cpu_time_total, row.cpu_time)
            share = f"{100 * row.self_cpu_time_total / whole:.2f}%"
            name = row.key[:max_name_column_width]
            out.append(line.format(name, share, *(f"{t / 1e3:.3f}ms" for t in times), row.count))
        total = sum(event.self_cpu_time_total for event in self)
        return "\n".join([*out, "-" * len(head), f"Self CPU time total: {total / 1e3:.3f}ms", ""])

    def __str__(self) -> str:
        return self.table()

    def total_average(self) -> FunctionEvent:
        """All events as one."""
        own = sum(event.self_cpu_time_total for event in self) / 1e6
        return FunctionEvent("Total", sum(event.count for event in self), own, own)


class profile:
    """Measure a block, as a context or between start() and stop().

    `schedule(step)` says which steps count; step() ends one. `on_trace_ready(self)` is called after
    each step that it marks RECORD_AND_SAVE, and at the end of a profile without a schedule. The
    other arguments ask for what PyTorch can record besides times; they have no effect.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        activities: Any = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        **unused: Any,
    ):
        unknown = sorted(set(unused) - _NO_EFFECT)
        if unknown:
            raise TypeError(f"profile: got an unexpected argument {unknown[0]!r}")
        self.enabled, self.schedule, self.on_trace_ready = enabled, schedule, on_trace_ready
        self.step_num = 0
        self._times = Times()
        self._blocks: dict[str, list[float]] = {}  # {name: [calls, seconds]} of record_function
        self._open: AbstractContextManager[Times] | None = None

    def start(self) -> None:
        """Begin with step 0."""
        if self.enabled:
            _running.append(self)
            self._begin()

    def stop(self) -> None:
        """End. What was measured since the last save is handed to `on_trace_ready`."""
        if self in _running:
            _running.remove(self)
            recorded = self._end()
            if self.on_trace_ready is not None and recorded:
                self.on_trace_ready(self)

    def step(self) -> None:
        """End one step and begin the next."""
        saving = self._action() is ProfilerAction.RECORD_AND_SAVE
        self._end()
        if saving and self.on_trace_ready is not None:
            self.on_trace_ready(self)
        if saving:
            self._saved = self._times, self._blocks
        self.step_num += 1
        self._begin(fresh=saving)

    def key_averages(self, *args: Any, **kwargs: Any) -> EventList:
        """One event for each op and direction, optimiser and block, the longest first."""
        times, blocks = self._times, self._blocks
        if not times.entries and not blocks:
            times, blocks = getattr(self, "_saved", (times, blocks))
        events = EventList()
        for op, directions in times.by_op().items():
            for direction, entry in directions.items():
                key = f"{op} backward" if direction == BACKWARD else op
                events.append(FunctionEvent(key, entry.calls, entry.seconds, entry.seconds))
        events += [FunctionEvent(key, int(n), 0.0, seconds) for key, (n, seconds) in blocks.items()]
        events.sort(key=lambda event: -event.cpu_time_total)
        return events

    events = key_averages

    def total_average(self) -> FunctionEvent:
        """All events as one."""
        return self.key_averages().total_average()

    def export_chrome_trace(self, path: str) -> NoReturn:
        """Raise NotImplementedError: only sums of times are kept."""
        _missing("export_chrome_trace")

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> NoReturn:
        """Raise NotImplementedError: only sums of times are kept."""
        _missing("export_stacks")

    def _action(self) -> ProfilerAction:
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)

    def _begin(self, fresh: bool = False) -> None:
        if fresh:
            self._times, self._blocks = Times(), {}
        if self._action() in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._open = measure(self._times)
            self._open.__enter__()

    def _end(self) -> bool:
        recorded = self._open is not None
        if self._open is not None:
            self._open.__exit__(None, None, None)
            self._open = None
        return recorded

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def __str__(self) -> str:
        return self.key_averages().table()


class record_function(ContextDecorator):
    """A block, or a decorated function, whose time appears in the profile under `name`."""

    def __init__(self, name: str, args: str | None = None):
        self.name = name
        self._starts: list[float] = []

    def __enter__(self) -> record_function:
        self._starts.append(time.perf_counter())
        return self

    def __exit__(self, *error: Any) -> None:
        seconds = time.perf_counter() - self._starts.pop()
        for running in _running:
            if running._open is not None:
                block = running._blocks.setdefault(self.name, [0, 0.0])
                block[0] += 1
                block[1] += seconds


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """step → action: after skip_first steps, cycles of wait, warmup and active steps.

    The last active step of a cycle is saved. repeat = 0 repeats without end; with skip_first_wait
    the first cycle has no wait.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise ValueError(
            f"schedule: got wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, "
            f"skip_first={skip_first}, expected active ≥ 1 and the others ≥ 0"
        )

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"schedule: got step {step}, expected 0 or more")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle = wait + warmup + active
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        at = step % cycle
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> NoReturn:
    """Raise NotImplementedError: only sums of times are kept."""
    _missing("tensorboard_trace_handler")


def supported_activities() -> set[ProfilerActivity]:
    """{ProfilerActivity.CPU}"""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """False: that is PyTorch's own library."""
    return False


def _missing(name: str) -> NoReturn:
    raise NotImplementedError(
        f"profiler.{name}: there is no trace over time, only sums; key_averages().table() prints "
        "them, and tinytensor.profile.profile() draws a flame graph"
    )


_NO_EFFECT = {
    "record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules", "use_cuda",
    "use_device", "use_kineto", "use_cpu", "experimental_config", "execution_trace_observer",
    "acc_events", "custom_trace_id_callback", "post_processing_timeout_s", "activity_filters",
}  # fmt: skip

__all__ = [
    "EventList", "FunctionEvent", "ProfilerAction", "ProfilerActivity", "kineto_available",
    "profile", "record_function", "schedule", "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
