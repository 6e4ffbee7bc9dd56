"""Ctrl-C at a chosen moment: raises an error where CPython would look for signals.

CPython runs signal handlers, and so raises KeyboardInterrupt, in three places only: at the start of
a Python function (and where a generator goes on), after a call, and at the end of a loop's body.
`Injector` finds these places in the frames of this package, and raises the error at any of them.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
TRACED = (str(ROOT / "tinytensor"), str(ROOT / "nn"), sys.modules["contextlib"].__file__ or "")
CHECKS = {"CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD"}
Moment = tuple[int, int]  # (the number of the call of a function, the moment in it)


class Injector:
    """Run a function, and raise `error` at one moment where a signal may strike.

    `lost` counts errors that Python could only print, as they struck in a `__del__` or a weak
    reference's callback.
    """

    def __init__(self, error: type[BaseException] = KeyboardInterrupt):
        self.error = error
        self.known: dict[CodeType, dict[int, tuple[bool, Any]]] = {}
        self.places: dict[tuple[CodeType, int], Moment] = {}  # → the first moment at each
        self.all_moments: list[Moment] = []
        self.lost = 0
        self.where = ""  # the place of the error

    def find(self, function: Callable[[], Any]) -> list[Moment]:
        """The first moment at each place of the code that `function` comes to."""
        self.places.clear()
        self.all_moments.clear()
        self._run(function, None)
        return list(self.places.values())

    def strike(self, function: Callable[[], Any], moment: Moment) -> bool:
        """Whether the error came out of `function`."""
        try:
            self._run(function, moment)
        except self.error:
            return True
        return False

    def _run(self, function: Callable[[], Any], target: Moment | None) -> None:
        self.target, self.calls, self.where = target, 0, ""
        before, hook = sys.gettrace(), sys.unraisablehook
        sys.unraisablehook = self._unraisable
        sys.settrace(self._on_call)
        try:
            function()
        finally:
            sys.settrace(before)
            sys.unraisablehook = hook

    def _unraisable(self, found: Any) -> None:
        assert found.exc_type is self.error, found
        self.lost += 1

    def _on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(TRACED):
            return None
        self.calls += 1
        if self.target is not None and self.calls != self.target[0]:
            frame.f_trace_opcodes = False
            return None
        return _Activation(self, self.calls).begin(frame)


def _instructions(code: CodeType) -> dict[int, tuple[bool, Any]]:
    """{offset: (whether signals are looked for after it, where its errors are handled)}"""
    handlers = {
        offset: entry.target
        for entry in dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
        for offset in range(entry.start, entry.end, 2)
    }
    found = dis.get_instructions(code)
    return {i.offset: (i.opname in CHECKS, handlers.get(i.offset)) for i in found}


class _Activation:
    """One run of a function, or of a generator up to its next yield."""

    def __init__(self, injector: Injector, call: int):
        self.injector, self.call = injector, call
        self.count = 0

    def begin(self, frame: FrameType) -> Callable:
        code = frame.f_code
        known = self.injector.known
        if code not in known:
            known[code] = _instructions(code)
        self.instructions = known[code]
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        # Into a generator the error comes where it goes on; of a function, before all else.
        self.struck, self.handler = bool(code.co_flags & inspect.CO_GENERATOR), None
        if self.struck:
            self.handler = self.instructions[max(frame.f_lasti, 0)][1]
        else:
            self.moment(frame)
        return self.inside

    def inside(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Before an instruction. An error raised here goes to the handler of this instruction,
        one of a signal to that of the instruction before: so the two must be the same."""
        if event == "opcode":
            struck, handler = self.struck, self.handler
            self.struck, self.handler = self.instructions[frame.f_lasti]
            if struck and handler == self.handler:
                self.moment(frame)
        return self.inside

    def moment(self, frame: FrameType) -> None:
        self.count += 1
        injector, moment = self.injector, (self.call, self.count)
        if injector.target is None:
            injector.places.setdefault((frame.f_code, frame.f_lasti), moment)
            injector.all_moments.append(moment)
        elif moment == injector.target:
            code = frame.f_code
            name = Path(code.co_filename).name
            injector.where = f"{name}:{frame.f_lineno} {code.co_qualname} {frame.f_lasti}"
            raise injector.error
