"""Checkpointing: save memory by recomputing intermediate values in backward.

The forward pass of a checkpointed function keeps only its inputs and outputs. When backward reaches
it, the function runs a second time with the same random numbers, and backward continues through the
graph of that run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from ..autograd.anomaly import changed_value, freed_values
from ..autograd.engine import run
from ..autograd.hooks import add_hook
from ..autograd.mode import state
from ..autograd.nesting import nested
from ..autograd.op import Op, next_order
from ..autograd.outputs import Output, enter_graph
from ..autograd.variable import Variable, edge_of, writes_of
from ..autograd.views import refresh
from ..autograd.walk import collect
from ..create.generator import default_generator_of
from ..devices import CPU, device, device_of
from ..errors import GradientError
from ..ops.autocast_setting import setting
from .tree import flatten


class Checkpoint(Op):
    """y = function(args);  backward runs the function again and differentiates that run.

    Its edges lead to everything the function depended on: its arguments, and the parameters and
    other tensors that it used.
    """

    def __init__(self, call: Call, start: int, made: dict[int, Variable]):
        arrays = [tensor.array for tensor in made.values()]
        outside = _ends(map(edge_of, made.values()), start)
        self._tracked = -1
        enter_graph(self, outside, [a.shape for a in arrays], [a.dtype for a in arrays])
        self.positions = tuple(made)  # positions of the outputs that the function computed
        self._kept = call  # the walk frees it when the rule has run
        leaves = [edge for edge in outside if isinstance(edge, Variable)]
        self._saved = call.versions + [(writes_of(leaf), writes_of(leaf)[0]) for leaf in leaves]

    def fill_missing(self, grads: list) -> list:
        return grads  # an output without a gradient is not a root of the inner walk

    def backward(self, *grads: Any) -> tuple:
        create_graph = state.mode.grad
        call = self._unchanged_call()
        start = next_order()
        outputs, _ = flatten(call.again(self.scope))
        roots: dict[Any, Any] = {}
        for position, g, shape in zip(self.positions, grads, self._shape):
            out = outputs[position]
            if not isinstance(out, Variable) or out.array.shape != shape:
                raise GradientError(
                    f"checkpoint: output {position} differs from the forward pass, where it had "
                    f"shape {tuple(shape)}; the function must return the same result each time"
                )
            edge = edge_of(out)
            if g is not None and edge is not None:
                roots[edge] = roots[edge] + g if edge in roots else g
        if not set(_ends(roots, start)) <= set(self._edges):
            raise GradientError(
                "checkpoint: the function used other tensors than in the forward pass; it must do "
                "the same each time"
            )
        wanted = dict.fromkeys(self._edges)
        run(roots, wanted, create_graph, create_graph, since=start)
        return tuple(wanted[edge] for edge in self._edges)

    def _unchanged_call(self) -> Call:
        """The call; raises if it was freed, or if a tensor it depends on was changed."""
        if self._kept is None:
            raise freed_values(self)
        for writes, version in self._saved:
            if writes[0] != version:
                what = "a tensor that the function uses"
                raise changed_value(self, what, writes[0], version)
        return self._kept


class CheckpointOutput(Output):
    """One output of a checkpoint, its `grad_fn`: passes its gradient to the Checkpoint.

    Its hooks run for this output alone, so a hook may run backward through another output.
    """

    def function_and_index(self) -> tuple[Any, int]:
        return self, 0

    def register_hook(self, hook: Callable) -> Any:
        return add_hook(self, lambda g: _first(hook((g,), (g,))))

    def register_prehook(self, hook: Callable) -> Any:
        return add_hook(self, lambda g: _first(hook((g,))))


def _first(gradients: Any) -> Any:
    """The one gradient that a node's hook returned, or None."""
    return gradients[0] if isinstance(gradients, tuple) else gradients


def _ends(roots: Iterable[Any], start: int) -> list:
    """The nodes and leaves the roots depend on that are older than `start`."""
    return [node for node in collect(roots, start) if node._order <= start]


class Call:
    """A function call that can be run again: function, arguments, random state and autocast."""

    def __init__(self, function: Callable, args: tuple, kwargs: dict, preserve_rng_state: bool):
        self.function, self.args, self.kwargs = function, args, kwargs
        tensors = [v for v in flatten((args, kwargs))[0] if isinstance(v, Variable)]
        for tensor in tensors:
            refresh(tensor)
        self.versions = [(writes_of(t), writes_of(t)[0]) for t in tensors]
        self.random_states: dict[Any, Any] = {}
        if preserve_rng_state:
            devices = {CPU, *(device_of(t.array) for t in tensors)}
            self.random_states = {d: default_generator_of(d).get_state() for d in devices}
        self.context: Any = nullcontext()
        self.autocast = setting.active, setting.dtype, setting.caches

    def again(self, scope: str) -> Any:
        """Run the call again: recorded, in the same module, with the same random numbers."""
        mode = state.mode
        scope_before, grad_before = mode.scope, mode.grad
        random_before = {d: default_generator_of(d).get_state() for d in self.random_states}
        autocast_before = setting.active, setting.dtype, setting.caches
        try:
            mode.scope, mode.grad = scope, True
            setting.active, setting.dtype, setting.caches = self.autocast
            _set_random(self.random_states)
            with self.context:
                return self.run()
        finally:
            mode.scope, mode.grad = scope_before, grad_before
            setting.active, setting.dtype, setting.caches = autocast_before
            try:
                _set_random(random_before)
            except BaseException:  # Ctrl-C in the middle of it
                _set_random(random_before)
                raise

    def run(self) -> Any:
        """Run the call. Autocast makes its casts anew: kept ones are from outside of the call."""
        cache = setting.cache
        try:
            setting.cache = {}
            return nested(partial(self.function, *self.args, **self.kwargs))
        finally:
            setting.cache = cache


def _set_random(states: dict) -> None:
    for where, random_state in states.items():
        default_generator_of(where).set_state(random_state)


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call function(*args, **kwargs) without keeping intermediate values; backward runs it again.

    preserve_rng_state: the second run draws the same random numbers, as dropout needs. context_fn
    returns two context managers, one for each run. This is PyTorch's use_reentrant=False, the only
    implementation here; use_reentrant, determinism_check, debug and early_stop have no effect.
    """
    if use_reentrant is None:
        _warn_reentrant("checkpoint")
    first, second = context_fn() if context_fn is not None else (nullcontext(), nullcontext())
    if not state.mode.grad:
        with first:
            return nested(partial(function, *args, **kwargs))
    call = Call(function, args, kwargs, preserve_rng_state)
    call.context = second
    start = next_order()
    with first:
        outputs = call.run()

    values, rebuild = flatten(outputs)
    made = {
        i: value
        for i, value in enumerate(values)
        if isinstance(value, Variable) and value._tracked and edge_of(value)._order > start
    }
    if not made:
        return outputs
    node = Checkpoint(call, start, made)
    for slot, (i, value) in enumerate(made.items()):
        # The same memory, as an output of the checkpoint; the graph of the first run is dropped.
        values[i] = value.detach()
        values[i]._tracked, values[i]._node = True, CheckpointOutput(node, slot, value.array)
        if state.mode.dual is not None:
            state.mode.dual.carry(value, values[i])
    return rebuild(values)


def _warn_reentrant(name: str) -> None:
    warnings.warn(
        f"{name}: the use_reentrant parameter should be passed explicitly; pass "
        "use_reentrant=False, the only implementation here",
        UserWarning,
        stacklevel=3,
    )


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """PyTorch's switch to end the second run early. No effect: it always runs to its end."""
    yield


def get_device_states(*args: Any) -> tuple[list[int], list]:
    """(index, state of the default generator) of the GPU of each tensor in args, as two lists.

    Tensors on the CPU are left out: `get_rng_state` returns the CPU's state.
    """
    gpus = [v.device for v in flatten(args)[0] if isinstance(v, Variable) and v.is_cuda]
    states = [default_generator_of(where).get_state() for where in gpus]
    return [where.index or 0 for where in gpus], states


def set_device_states(devices: Iterable[int], states: Iterable[Any], *,
                      device_type: str | None = None) -> None:  # fmt: skip
    """Give the default generator of each GPU the state that `get_device_states` returned."""
    for index, generator_state in zip(devices, states):
        default_generator_of(device(device_type or "cuda", index)).set_state(generator_state)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Run a list of functions (or an nn.Sequential) in `segments` parts, all but the last of them
    checkpointed."""
    if use_reentrant is None:
        _warn_reentrant("checkpoint_sequential")
        use_reentrant = False
    if hasattr(functions, "children"):
        functions = list(functions.children())
    functions = list(functions)
    if not 1 <= segments <= len(functions):
        raise ValueError(
            f"checkpoint_sequential: got {segments} segments for {len(functions)} functions, "
            "expected at least one function in each"
        )

    def part(start: int, end: int) -> Callable:
        def forward(value: Any) -> Any:
            for function in functions[start:end]:
                value = function(value)
            return value

        return forward

    size = len(functions) // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(
            part(start, end),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
            **kwargs,
        )
    return part(end, len(functions))(input)
