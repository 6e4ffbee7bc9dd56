"""Recording: a block in which the values of every op are kept, for pictures.

    with graph.record() as recording:
        loss = model(x, targets)
    graph.explore(loss, "page.html")

A node of the engine keeps only the values that its rule needs. In this block each node also gets a
field `recorded`, a Call: its outputs, its constant inputs, its other arguments, and the names of
variables. If the block raises, `recording.failure` has the op, and the graph up to it can be
drawn.
"""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from ...autograd.mode import state
from ...autograd.op import Op
from ...autograd.outputs import Output
from ...autograd.site import Site, is_internal
from ...autograd.variable import Variable, edge_of, unwrap
from ...backend import is_array
from .formula import argument_names, name_argument, op_called
from .parameter_names import named_tensors
from .user_variables import frames_from, local_names, variable_name
from .values import keep, number

MAX_RECORDED = 1024  # `record` keeps arrays of up to this many elements in full

ModuleCall = tuple[Any, str, Any]  # as Mode.call: module, path, the call around it or None


class Constant:
    """A tensor or array that no gradient flows to, as an argument of a recorded op."""

    def __init__(self, array: Any, value: Any, name: str, outside: bool):
        self.array: Any = array  # held while recording, so that no other array gets its id
        self.value, self.name = value, name  # the value as returned by `keep`
        self.outside = outside  # whether the name is known outside of all modules


class ModuleNote:
    """A module that ran, at one path."""

    def __init__(self, module: Any):
        self.module, self.class_name, self.calls = module, type(module).__name__, 0


class Notes:
    """Notes shared by all nodes of a recording. They refer to no node: no reference cycle."""

    def __init__(self) -> None:
        self.modules: dict[str, ModuleNote] = {}  # by path
        self.constants: dict[int, Constant] = {}  # by id of the array
        self.leaves: dict[int, tuple[Any, str, Any]] = {}  # by id: leaf, variable's name, value


class Call:
    """The call of one op: its outputs, its constants by position, its arguments by name.

    Values are those of `keep`: a copy of a small array, statistics of a large one.
    """

    def __init__(self, notes: Notes, outputs: list[Any]):
        self.notes, self.outputs = notes, outputs
        self.constants: dict[int, Constant] = {}
        self.arguments: dict[str, str] = {}
        self.variables: dict[int, str] = {}  # by output; found when the output is first used


class Failure:
    """The op whose forward raised: its class and arguments, from the traceback."""

    def __init__(self, name: str, message: str, notes: Notes):
        self.name, self.message = name, message
        self.op: type = op_called(name) or Op
        self.edges: list[Any] = []
        self.argument_names: list[str] = []  # of the function that raised
        self.call = Call(notes, [])
        self.scope = ""
        self.source: Site | None = None


class Recording:
    """The nodes made in a `record` block, oldest first, and the failure, if any."""

    def __init__(self, max_values: int | None = MAX_RECORDED):
        self.max_values = max_values
        self.nodes: list[Op] = []
        self.notes = Notes()
        self.failure: Failure | None = None
        self._around = state.mode.call  # the module call that the block is in, or None
        self._running: list[ModuleCall] = []  # the module calls that the last op was made in
        self._buffers: dict[int, dict[int, tuple[Any, str]]] = {}  # by id of model, of array

    def add(self, node: Op, args: tuple, outputs: tuple) -> None:
        """Record an op that has run; called by the engine. Untracked ops are left out."""
        places = [o._node if isinstance(o, Variable) else None for o in outputs]
        if not any(p is node or (isinstance(p, Output) and p.parent is node) for p in places):
            return
        frames = list(frames_from(sys._getframe(1)))
        self._note_modules(list(calls_from(state.mode.call)))
        call = Call(self.notes, [self._value(output) for output in outputs])
        self._note_arguments(call, type(node), args, frames)
        node.recorded = call  # type: ignore[attr-defined]
        self.nodes.append(node)

    def _value(self, thing: Any) -> Any:
        array = unwrap(thing)
        return keep(array, self.max_values) if is_array(array) else None

    def _note_modules(self, running: list[ModuleCall]) -> None:
        for call in running:
            if not any(call is known for known in self._running):
                module, path, _ = call
                note = self.notes.modules.setdefault(path, ModuleNote(module))
                note.calls += 1
        self._running = running

    def _note_arguments(self, call: Call, op: type, args: tuple, frames: list[FrameType]) -> None:
        names = argument_names(op)
        variables = local_names(frames)
        for i, arg in enumerate(args):
            name = name_argument(names, i)
            if isinstance(arg, Variable) and edge_of(arg) is not None:
                if arg._node is not None:
                    note_variable(arg, variables.get(id(arg), ""))
                elif id(arg) not in self.notes.leaves:
                    known, _ = variable_name(arg.array, frames)
                    self.notes.leaves[id(arg)] = (arg, known, self._value(arg))
            elif is_array(unwrap(arg)):
                call.constants[i] = self._constant(unwrap(arg), frames)
            elif arg is not None and not callable(arg):
                call.arguments[name] = short_text(arg)

    def _constant(self, array: Any, frames: list[FrameType]) -> Constant:
        known = self.notes.constants.get(id(array))
        if known is None:
            name, outside = self._buffer_name(array), False
            if not name:
                name, outside = variable_name(array, frames)
            known = Constant(array, self._value(array), name, outside)
            self.notes.constants[id(array)] = known
        return known

    def _buffer_name(self, array: Any) -> str:
        """The name of a buffer of the outermost running module."""
        if not self._running:
            return ""
        model, _, _ = self._running[-1]
        if id(model) not in self._buffers:  # arrays are held, so that ids stay unique
            tensors = named_tensors("", model)
            self._buffers[id(model)] = {id(t.array): (t.array, name) for t, name, _ in tensors}
        known = self._buffers[id(model)].get(id(array))
        return "" if known is None else known[1]

    def fail(self, error: BaseException) -> None:
        """Record where the block raised."""
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        name = first_line.partition(":")[0]
        name = name if name.isidentifier() else type(error).__name__
        failure = Failure(name, first_line, self.notes)
        frames: list[FrameType] = []  # innermost first
        traceback = error.__traceback__
        while traceback is not None:
            frames.insert(0, traceback.tb_frame)
            file, line = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
            if not is_internal(file):
                failure.source = Site(file, line, linecache.getline(file, line).strip())
            traceback = traceback.tb_next
        raised_in = getattr(error, "_module_call", None)  # set by Module.__call__
        self._running = list(calls_from(raised_in, self._around))
        if self._running:
            _, failure.scope, _ = self._running[0]
        op, args = vars(error).pop("_op_call", (None, ()))  # set by explain_forward
        if op is not None:
            failure.op, failure.name = op, op.op_name
        else:
            args = self._arguments_checked(failure, frames)
        failure.edges = [edge_of(a) if isinstance(a, Variable) else None for a in args]
        self._note_arguments(failure.call, failure.op, args, frames)
        self.failure = failure

    def _arguments_checked(self, failure: Failure, frames: list[FrameType]) -> tuple:
        """The arguments of the function that refused them, such as `matmul`; () if unknown.

        No op was called yet, so only the traceback has them.
        """
        for frame in frames:
            code = frame.f_code
            if code.co_name == failure.name and is_internal(code.co_filename):
                names, _, _, known = inspect.getargvalues(frame)
                failure.argument_names = names[: code.co_argcount]
                return tuple(map(known.get, failure.argument_names))
        return ()

    def close(self) -> None:
        """Release what was held only to keep ids unique."""
        self._around, self._running, self._buffers = None, [], {}
        for constant in self.notes.constants.values():
            constant.array = None
        self.notes.constants = {}

    def __repr__(self) -> str:
        failed = f", failed in {self.failure.name}" if self.failure else ""
        return f"Recording({len(self.nodes)} ops{failed})"


def calls_from(innermost: ModuleCall | None, end: ModuleCall | None = None) -> Iterator[ModuleCall]:
    """A module call and those around it, innermost first, up to but without `end`."""
    call = innermost
    while call is not None and call is not end:
        yield call
        call = call[2]


def note_variable(tensor: Any, name: str) -> None:
    """Record the user's name for the output of a recorded op; the first name stays."""
    node, index = tensor._node.function_and_index()
    call = getattr(node, "recorded", None)
    if name and call is not None:
        call.variables.setdefault(index, name)


def short_text(arg: Any, limit: int = 40) -> str:
    """An argument on one short line."""
    if isinstance(arg, (float, np.floating)):
        return number(float(arg))
    text = " ".join(repr(arg).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


@contextmanager
def record(max_values: int | None = MAX_RECORDED) -> Iterator[Recording]:
    """Keep the values of all ops made in this block, in this thread.

    max_values: keep arrays of up to this many elements (None: all), statistics of larger ones.
    """
    recording = Recording(max_values)
    mode = state.mode
    before, mode.recording = mode.recording, recording
    try:
        yield recording
    except Exception as error:
        recording.fail(error)
        raise
    finally:
        mode.recording = before
        recording.close()
