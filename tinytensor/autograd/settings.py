"""Settings of the engine's mode: no_grad, enable_grad, inference_mode, detect_anomaly, scope.

Every change is undone in `finally`, even if Ctrl-C interrupts it. CPython handles signals when a
Python function starts, after calls, and at the end of a loop body. So there is no call between a
change and the `try` that undoes it, and undoing that needs calls is safe to run twice. One gap is
left, as in PyTorch: the start of a `with` block's `__exit__`. The engine's own changes therefore
avoid `with`: see `run_in_mode`.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Iterator
from contextlib import ContextDecorator
from typing import Any

from .inference import INFERENCE
from .mode import state


def _set(fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        setattr(state.mode, name, value)


class _Setting(ContextDecorator):
    """Set fields of this thread's Mode for a block or a function, then put them back.

    One object may be entered many times, also by several threads: the previous values are kept on
    a stack in the thread's own state.
    """

    fields: dict[str, Any] = {}

    def __enter__(self) -> _Setting:
        stacks = state.stacks
        stack = stacks.get(self, ())
        before = {name: getattr(state.mode, name) for name in self.fields}
        try:
            _set(self.fields)
            stacks[self] = (*stack, before)
            return self
        except BaseException:
            _set(before)
            raise

    def __exit__(self, *exc_info: object) -> None:
        stacks = state.stacks
        *stack, before = stacks[self]
        try:
            _set(before)
        except BaseException:
            _set(before)
            raise
        finally:
            if stack:
                stacks[self] = stack
            else:
                del stacks[self]

    def __call__(self, function: Any) -> Any:
        """Decorate a function (each call runs in this mode) or a generator function."""
        if inspect.isclass(function):  # as in PyTorch, only __init__ runs in this mode
            name = type(self).__name__
            message = f"{name}: decorating classes is deprecated; decorate functions or methods"
            warnings.warn(message, FutureWarning, stacklevel=2)
            function.__init__ = self(function.__init__)  # type: ignore[method-assign]
            return function
        if not inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                # Like `with self: …`, but without its gap.
                before = {name: getattr(state.mode, name) for name in self.fields}
                try:
                    _set(self.fields)
                    return function(*args, **kwargs)
                finally:
                    try:
                        _set(before)
                    except BaseException:  # Ctrl-C in the middle of it
                        _set(before)
                        raise

            return call

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
                except BaseException as error:  # thrown in by the caller: the generator handles it
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
    """Like `no_grad`; tensors made inside can never be saved for backward (`is_inference`).

    inference_mode(False) records again, as in PyTorch.
    """

    def __new__(cls, mode: Any = True) -> Any:
        """`@inference_mode` without parentheses works too."""
        if callable(mode):
            return cls()(mode)
        return super().__new__(cls)

    def __init__(self, mode: bool = True):
        self.fields = {"grad": not mode, "inference": INFERENCE if mode else None}


class _Switch(_Setting):
    """A setting that takes effect when called, or only for a block when used in `with`."""

    def __init__(self, **fields: Any):
        self.fields = fields
        self._before = {name: getattr(state.mode, name) for name in fields}
        for name, value in fields.items():
            setattr(state.mode, name, value)

    def _undo(self) -> None:
        """Undo the immediate effect, now that the setting is used as a block or decorator."""
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
    """Turn recording on or off: at once when called, or only for a block when used in `with`."""

    def __init__(self, mode: bool):
        super().__init__(grad=bool(mode))


def is_grad_enabled() -> bool:
    """Whether ops are being recorded in this thread."""
    return state.mode.grad


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return state.mode.inference is not None


class detect_anomaly(_Setting):
    """Stop at the first op whose value or gradient is NaN or inf although its inputs are finite.

    The error names the op, its module path, the shapes and the line that made it.
    """

    def __init__(self, check_nan: bool = True):
        self.fields = {"anomaly": check_nan}


class set_detect_anomaly(_Switch):
    """Turn `detect_anomaly` on or off: at once when called, or only for a `with` block."""

    def __init__(self, mode: bool, check_nan: bool = True):
        super().__init__(anomaly=bool(mode and check_nan))


def is_anomaly_enabled() -> bool:
    """Whether this thread checks for NaN and inf."""
    return state.mode.anomaly


class set_multithreading_enabled(ContextDecorator):
    """PyTorch's switch for backward in several threads. No effect: here it runs in the caller's.

    Only `is_multithreading_enabled` returns what was set.
    """

    def __init__(self, mode: bool):
        self._before = is_multithreading_enabled()
        _switch_multithreading(mode)

    def __enter__(self) -> set_multithreading_enabled:
        return self

    def __exit__(self, *exc_info: object) -> None:
        _switch_multithreading(self._before)


def _switch_multithreading(on: bool) -> None:
    if on:
        state.stacks.pop("one thread", None)
    else:
        state.stacks["one thread"] = True


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` set; True at first."""
    return "one thread" not in state.stacks


class scope(_Setting):
    """Append `name` to the module path of the ops made in this block."""

    def __init__(self, name: str):
        self.name = name

    @property
    def fields(self) -> dict[str, Any]:  # type: ignore[override]
        before = state.mode.scope
        return {"scope": f"{before}.{self.name}" if before else self.name}
