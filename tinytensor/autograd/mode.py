"""Per-thread settings of the engine (Mode), and its calls to files outside the core (Outside)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..backend import QUIET, error_state


class Mode:
    """The engine's settings in one thread."""

    __slots__ = ("grad", "inference", "scope", "call", "watched", "pack", "dual",
                 "_anomaly", "_recording")  # fmt: skip

    def __init__(self) -> None:
        self.grad = True
        self.inference: Any = None  # in inference mode: the `_writes` of new tensors
        self.scope = ""  # path of the module whose forward is running, "" outside
        self.call: Any = None  # (nn.Module whose forward runs, its path, the outer call)
        self.watched = False  # True while anomaly detection, a recording or a pack hook is on
        self.pack: Any = None  # hooks for saved values: (pack, unpack), see packed.py
        self.dual: Any = None  # the tangents of forward-mode differentiation, see forward_ad.py
        self._anomaly = False
        self._recording: Any = None

    @property
    def anomaly(self) -> bool:
        """True while ops are checked for NaN and inf."""
        return self._anomaly

    @anomaly.setter
    def anomaly(self, on: bool) -> None:
        self._anomaly = on
        self.watched = on or self._recording is not None or self.pack is not None

    @property
    def recording(self) -> Any:
        """The recording that gets every op and its values (`graph.record`), or None."""
        return self._recording

    @recording.setter
    def recording(self, recording: Any) -> None:
        self._recording = recording
        self.watched = self._anomaly or recording is not None or self.pack is not None


class _ThreadState(threading.local):
    """One Mode per thread."""

    def __init__(self) -> None:  # runs once in each thread
        self.mode = Mode()
        self.level = 0  # number of nested walks and checkpoints in this thread (nesting.py)
        self.stacks: dict[Any, Any] = {}  # values that settings replaced (settings.py)


state = _ThreadState()


def run_in_mode(grad: bool, function: Callable[[], Any]) -> Any:
    """Call function() with grad mode set to `grad` and NumPy's warnings off."""
    mode = state.mode
    grad_before, errors = mode.grad, error_state.get()
    try:
        mode.grad = grad
        error_state.set(QUIET)
        return function()
    finally:
        mode.grad = grad_before
        error_state.set(errors)


class Outside:
    """The core's calls to files outside it.

    Each file sets its own entries when it is imported. Until then the defaults below apply: the
    core can differentiate without these files.
    """

    tensor: type  # tensor.py: the class of the tensors that ops return
    refresh: Callable[[Any], None]  # views.py: update a view after writes into its memory
    call_site: Callable[[Any], tuple[Any, int]]  # site.py: the user's line, from a frame
    where: Callable[[Any], str]  # site.py: that line, to end an error message with
    watch: Callable[[Any, tuple, tuple], None]  # anomaly.py: add to a recording, check for NaN
    check_backward: Callable[[Any, Any, tuple], None]  # anomaly.py
    explain_backward: Callable[[Any, Exception], None]  # anomaly.py
    freed_values: Callable[[Any], Exception]  # anomaly.py: the error for a second backward
    changed_value: Callable[..., Exception]  # anomaly.py: the error for an overwritten saved value
    note_view: Callable[[Any, Any, Any, tuple], None]  # views.py: note that a result is a view
    check_leaf: Callable[[Any], None]  # views.py: refuse a view that is no longer a leaf
    run_hooks: Callable[[Any, Any], Any]  # hooks.py: pass a gradient through hooks
    accumulate_with_hooks: Callable[[Any, Any, bool], None]  # hooks.py
    conjugate_rule: Callable[[Any], None]  # complex_rules.py: an op with a complex result
    wrap_outputs: Callable[..., tuple]  # outputs.py: wrap a tuple of results
    fill_missing: Callable[[Any, list], list]  # outputs.py: zeros for missing gradients
    next_functions: Callable[[Any], tuple]  # next_functions.py: the links of a node
    add_node_hook: Callable[[Any, Callable, str], Any]  # hooks.py
    nested: Callable[..., Any]  # nesting.py: call a function, in a new thread if nested too deep
    node_attribute: Callable[[Any, str], Any]  # node_names.py: PyTorch's other names of a node
    as_tensors: Callable[[Any], tuple]  # graph.py: an iterable of tensors and GradientEdges
    batched_grad: Callable[..., tuple]  # func/batched.py: is_grads_batched

    def __init__(self) -> None:
        self.refresh = self.check_leaf = lambda tensor: None
        self.as_tensors = tuple
        self.call_site = lambda frame: (None, 0)
        self.where = lambda node: ""
        self.watch = self.check_backward = lambda node, values, results: None
        self.explain_backward = lambda node, error: None
        self.freed_values = lambda node: RuntimeError("a second backward")
        self.changed_value = lambda node, *values: RuntimeError("a saved value was written over")
        self.note_view = lambda tensor, base, op, args: None
        self.run_hooks = lambda node, gradient: gradient
        self.nested = lambda function, *args: function(*args)

    def after_error(self, op: Any, args: tuple, error: Exception) -> Any:
        raise error  # mixed_devices.py: try on one device, or explain the error


outside = Outside()
