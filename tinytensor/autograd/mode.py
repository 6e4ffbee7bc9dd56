"""What the engine should do now, per thread: record or not, look for NaN or not, which module.

Every change is a context manager that restores what it found in `finally`.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from typing import Any


class Mode:
    """One thread's settings."""

    __slots__ = ("grad", "inference", "scope", "module", "watched", "_anomaly", "_recording")

    def __init__(self) -> None:
        self.grad = True
        self.inference = False
        self.scope = ""  # path of the module whose forward is running, "" outside
        self.module: Any = None  # the nn.Module whose forward is running
        self.watched = False  # whether somebody looks at what ops give: the one test in Op.apply
        self._anomaly = False
        self._recording: Any = None

    @property
    def anomaly(self) -> bool:
        """Whether NaN and inf are looked for."""
        return self._anomaly

    @anomaly.setter
    def anomaly(self, on: bool) -> None:
        self._anomaly = on
        self.watched = on or self._recording is not None

    @property
    def recording(self) -> Any:
        """Takes down every op with its values, for pictures (`graph.record`); None: nobody."""
        return self._recording

    @recording.setter
    def recording(self, recording: Any) -> None:
        self._recording = recording
        self.watched = self._anomaly or recording is not None


class _ThreadState(threading.local):
    """Each thread finds a Mode of its own here."""

    def __init__(self) -> None:  # runs once in each thread that looks
        self.mode = Mode()
        self.level = 0  # how many walks and checkpoints are nested in this thread (nesting.py)


state = _ThreadState()


class _Setting(ContextDecorator):
    """Set fields of this thread's Mode for a block or a function, then put them back.

    One object may be entered many times, also by several threads: what was found is kept on a
    stack in the thread's own state.
    """

    fields: dict[str, Any] = {}

    def __enter__(self) -> _Setting:
        mode = state.mode
        before = {name: getattr(mode, name) for name in self.fields}
        stacks = state.__dict__.setdefault("stacks", {})
        stacks.setdefault(id(self), []).append(before)
        for name, value in self.fields.items():
            setattr(mode, name, value)
        return self

    def __exit__(self, *exc_info: object) -> None:
        stacks = state.__dict__["stacks"]
        for name, value in stacks[id(self)].pop().items():
            setattr(state.mode, name, value)
        if not stacks[id(self)]:
            del stacks[id(self)]

    def __call__(self, function: Any) -> Any:
        """Decorate a function (each call runs in this mode) or a generator function."""
        if inspect.isclass(function):
            raise TypeError(f"{type(self).__name__}: decorate a function or a method, not a class")
        if not inspect.isgeneratorfunction(function):
            return super().__call__(function)

        @functools.wraps(function)
        def steps(*args: Any, **kwargs: Any) -> Iterator:
            # The mode holds while the generator runs, not while its caller does.
            generator = function(*args, **kwargs)
            resume, argument = generator.send, None
            while True:
                try:
                    with self:
                        item = resume(argument)
                except StopIteration as stop:
                    return stop.value
                try:
                    resume, argument = generator.send, (yield item)
                except GeneratorExit:
                    with self:
                        generator.close()
                    raise
                except BaseException as error:  # thrown in by the caller: the generator's to handle
                    resume, argument = generator.throw, error

        return steps


class no_grad(_Setting):
    """Record nothing: `with no_grad(): …` or `@no_grad()`."""

    fields = {"grad": False}

    def __new__(cls, function: Any = None) -> Any:
        """`@no_grad` without parentheses works too, as in PyTorch."""
        setting = super().__new__(cls)
        return setting if function is None else setting(function)


class enable_grad(no_grad):
    """Record again inside a `no_grad` block."""

    fields = {"grad": True}


class inference_mode(_Setting):
    """As `no_grad`; `is_inference_mode_enabled()` tells that it is on.

    inference_mode(False) records again, as in PyTorch.
    """

    def __new__(cls, mode: Any = True) -> Any:
        """`@inference_mode` without parentheses works too."""
        if callable(mode):
            return cls()(mode)
        return super().__new__(cls)

    def __init__(self, mode: bool = True):
        self.fields = {"grad": not mode, "inference": bool(mode)}


class _Switch(_Setting):
    """A setting that holds at once when called, and only for a block when used in `with`."""

    def __init__(self, **fields: Any):
        self.fields = fields
        self._before = {name: getattr(state.mode, name) for name in fields}
        for name, value in fields.items():
            setattr(state.mode, name, value)

    def _undo(self) -> None:
        """Take back what the call itself did; once, as it turns out to be a block or decorator."""
        for name, value in self._before.items():
            setattr(state.mode, name, value)
        self._before = {}

    def __enter__(self) -> _Setting:
        self._undo()
        return super().__enter__()

    def __call__(self, function: Any) -> Any:
        self._undo()
        return super().__call__(function)


class set_grad_enabled(_Switch):
    """Turn recording on or off: at once when called, and for a block when used in `with`."""

    def __init__(self, mode: bool):
        super().__init__(grad=bool(mode))


def is_grad_enabled() -> bool:
    """Whether ops are being recorded in this thread."""
    return state.mode.grad


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return state.mode.inference


class detect_anomaly(_Setting):
    """Stop at the first op whose value or gradient is NaN or inf although its inputs are finite.

    The error names the op, its module path, the shapes and the line that made it.
    """

    def __init__(self, check_nan: bool = True):
        self.fields = {"anomaly": check_nan}


class set_detect_anomaly(_Switch):
    """`detect_anomaly`, on or off: at once when called, and for a block when used in `with`."""

    def __init__(self, mode: bool, check_nan: bool = True):
        super().__init__(anomaly=bool(mode and check_nan))


def is_anomaly_enabled() -> bool:
    """Whether this thread looks for NaN and inf."""
    return state.mode.anomaly


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Ops made in this block carry `name`, below the scope they are in, as their module path."""
    mode = state.mode
    before = mode.scope
    mode.scope = f"{before}.{name}" if before else name
    try:
        yield
    finally:
        mode.scope = before
