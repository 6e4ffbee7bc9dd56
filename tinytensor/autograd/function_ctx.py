"""FunctionCtx: the `ctx` that a Function's forward and backward share; and its graph node."""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING, Any

from ..backend import xp
from ..errors import GradientError
from .inplace import finish_write, is_recorded
from .mode import outside, state
from .op import LAST, NEVER, Op
from .outputs import Output, enter_graph
from .variable import (
    Variable,
    as_array,
    edge_of,
    made_by,
    unwrap,
    wrap,
    writes_of,
)
from .views import alias_of, refresh, take_place

if TYPE_CHECKING:
    from .function import Function


class FunctionCtx(Op):
    """One call of a Function: its node in the graph, passed as `ctx` to forward and backward."""

    function: type[Function]

    # Set by forward, through the methods below.
    _to_save: tuple = ()
    _for_forward: tuple = ()
    _dirty: tuple = ()
    _constant: tuple = ()
    _materialize = True
    _materialize_non_diff_grads = True
    _accessed = False  # whether backward has read saved_tensors
    _in_jvp = False
    _is_pure_view = False  # set by forward: the one output is a view of the one tensor it got

    # Which arguments are tensors; (kind, position) of each saved tensor; which outputs are tracked.
    _tensor_inputs: frozenset = frozenset()
    _places: tuple = ()
    _tracked_outputs: frozenset = frozenset()

    # --------------------------------------------------------------------------------------
    # What the user calls
    # --------------------------------------------------------------------------------------

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors for backward, which reads them from `saved_tensors`.

        If one was modified in place since, backward raises instead of computing a wrong gradient.
        """
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Variable) and not _sparse(tensor):
                raise TypeError(
                    f"{self.op_name}: save_for_backward got {type(tensor).__name__} at position "
                    f"{i}, expected a Tensor or None; keep other values as attributes of ctx"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors for `jvp`, which reads them from `saved_tensors`."""
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Variable):
                raise TypeError(
                    f"{self.op_name}: save_for_forward got {type(tensor).__name__} at position "
                    f"{i}, expected a Tensor or None"
                )
        self._for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Name the inputs that forward writes into; each must be returned as well."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Name the outputs that no gradient flows through."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (the default) or None for outputs without a gradient."""
        self._materialize = value

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """For each argument of forward, whether it requires grad."""
        return tuple(edge is not None for edge in self._edges)

    @property
    def saved_tensors(self) -> tuple:
        """The tensors that forward saved, in the graph so that backward is differentiable."""
        if self._in_jvp:
            return self._for_forward
        if self._saved is None:
            raise outside.freed_values(self)
        if self.function.clear_saved_tensors_on_access:
            if self._accessed:
                raise RuntimeError(
                    f"{self.op_name}: saved_tensors can only be accessed once, as the class has "
                    "clear_saved_tensors_on_access=True"
                )
            self._accessed = True
        tensors = []
        for i, (array, writes, version) in enumerate(self._saved):
            if writes[0] != version:
                what = f"saved tensor {i}, of shape {tuple(array.shape)},"
                raise outside.changed_value(self, what, writes[0], version)
            tensors.append(self._restore(array, *self._places[i]))
        return tuple(tensors)

    @property
    def saved_variables(self) -> tuple:
        """The old name of `saved_tensors`."""
        message = "saved_variables is deprecated; use saved_tensors"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    # --------------------------------------------------------------------------------------
    # What the engine calls
    # --------------------------------------------------------------------------------------

    def apply(self, *grads: Any) -> Any:  # type: ignore[override]
        """Run backward by hand: y.grad_fn.apply(*gradients of the outputs)."""
        rule = self.function.rule()
        return rule(self, list(grads)) if self.function.boxed_grads_call else rule(self, *grads)

    def name(self) -> str:
        return type(self).__name__

    def backward(self, *grads: Any) -> Any:
        self._accessed = False
        tensors = [g if g is None or isinstance(g, Variable) else wrap(as_array(g)) for g in grads]
        rule = self.function.rule()
        results = rule(self, tensors) if self.function.boxed_grads_call else rule(self, *tensors)
        results = self._checked(results if isinstance(results, tuple) else (results,))
        return results if state.mode.grad else tuple(map(unwrap, results))

    def push_forward(self, tangents: tuple) -> Any:
        """The user's jvp."""
        self._in_jvp = True
        try:
            return self.function.jvp(self, *tangents)
        finally:
            self._in_jvp = False

    def fill_missing(self, grads: list) -> list:
        if self._materialize:
            library = xp(unwrap(next(g for g in grads if g is not None)))
            for i, (shape, dtype) in enumerate(zip(self._shape, self._dtype)):
                wanted = self._materialize_non_diff_grads or i in self._tracked_outputs
                if grads[i] is None and shape is not None and wanted:
                    grads[i] = wrap(library.zeros(shape, dtype))
        return grads

    def _checked(self, results: tuple) -> tuple:
        """Check backward's results: one per argument of forward, None for non-tensors."""
        expected = len(self._edges)
        if len(results) > expected and all(r is None for r in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise GradientError(
                f"{self.op_name}: backward returned an incorrect number of gradients (expected "
                f"{expected}, one for each argument of forward, got {len(results)})"
            )
        for i, result in enumerate(results):
            if result is None:
                continue
            if not isinstance(result, Variable):
                raise GradientError(
                    f"{self.op_name}: backward returned {type(result).__name__} at position {i}, "
                    "expected a Tensor or None"
                )
            if i not in self._tensor_inputs:
                raise GradientError(
                    f"{self.op_name}: backward returned a gradient at position {i}, expected None, "
                    "as that argument of forward was not a Tensor"
                )
        return results

    # --------------------------------------------------------------------------------------
    # Recording
    # --------------------------------------------------------------------------------------

    def _save_tensors(self, args: tuple, outputs: tuple) -> None:
        """Store the tensors given to save_for_backward as arrays, versions and places."""
        saved: list[tuple] = []
        places = []
        for tensor in self._to_save:
            place: tuple[str, Any] = ("constant", 0)
            if tensor is None:
                saved.append((None, NEVER, 0))
                places.append(place)
                continue
            if _sparse(tensor):
                values = tensor._values() if tensor.is_sparse else tensor.values()
                writes = writes_of(values)
                saved.append((tensor, writes, writes[0]))
                places.append(("sparse", 0))
                continue
            if position(tensor, args) >= 0 and position(tensor, self._dirty) < 0:
                place = ("input", position(tensor, args))
                if not tensor._tracked:
                    place = ("untracked", weakref.ref(tensor))
            elif position(tensor, outputs) >= 0:
                place = ("output", position(tensor, outputs))
            writes = writes_of(tensor) or writes_of(tensor).save()  # type: ignore[attr-defined]
            saved.append((tensor.array, writes, writes[0]))
            places.append(place)
        self._saved, self._places, self._to_save = saved, tuple(places), ()

    def _restore(self, array: Any, kind: str, i: Any) -> Any:
        """A saved array as a tensor, at its original place in the graph."""
        if array is None or kind == "sparse":
            return array
        edge: Any = None
        if kind == "untracked":  # the tensor itself, if the user still has it
            tensor = i()
            return wrap(array) if tensor is None or tensor.array is not array else tensor
        if kind == "input":
            edge = self._edges[i]
            if isinstance(edge, Variable):
                return edge
        elif kind == "output" and i in self._tracked_outputs:
            edge = self._output(i, array)
        return wrap(array) if edge is None else made_by(edge, array)

    def _output(self, i: int, array: Any) -> Op:
        """The node of the i-th output."""
        return Output(self, i, array) if isinstance(self._shape, list) else self

    def record(self, args: tuple, outputs: tuple) -> tuple:
        """Put the outputs of forward into the graph; returns them, or aliases of them."""
        recorded = state.mode.grad and any(self.needs_input_grad)
        self._check_dirty(args, outputs, recorded)
        pure_view_of: tuple = ()
        if self._is_pure_view:
            pure_view_of = args if recorded else outputs
        if pure_view_of and len(outputs) > 1:
            raise RuntimeError(
                f"{self.op_name}: pure view custom Function can only have one input Tensor and one "
                f"output Tensor, got {len(outputs)} outputs"
            )
        results: list[Any] = []
        for i, out in enumerate(outputs):
            twin = position(out, outputs[:i])
            if twin >= 0:  # a tensor that is returned twice
                out = results[twin]
            elif isinstance(out, Variable) and position(out, self._dirty) < 0:
                known = position(out, args) >= 0 or out._tracked or out._view is not None
                out = alias_of(out, pure_view_of) if known else out
            results.append(out)
        if not recorded:
            for tensor in self._dirty:
                writes_of(tensor)[0] += 1
            return tuple(results)

        arrays = [out.array if isinstance(out, Variable) else None for out in outputs]
        shapes = [None if a is None else a.shape for a in arrays]
        dtypes = [None if a is None else a.dtype for a in arrays]
        several = len(outputs) > 1
        shape, dtype = (shapes, dtypes) if several else (shapes[0], dtypes[0])
        enter_graph(self, self._edges, shape, dtype)
        self._tracked_outputs = frozenset(
            i
            for i, (array, out) in enumerate(zip(arrays, outputs))
            if array is not None and array.dtype.kind in "fVc" and position(out, self._constant) < 0
        )
        for i in sorted(self._tracked_outputs):
            if position(outputs[i], outputs[i + 1 :]) >= 0:
                continue  # returned twice: its gradient goes to the last place
            place = made_by(self._output(i, arrays[i]), arrays[i])
            if position(results[i], self._dirty) >= 0:
                finish_write(results[i], place)
            else:
                take_place(results[i], place)
        self._save_tensors(args, outputs)
        return tuple(results)

    def _check_dirty(self, args: tuple, outputs: tuple, recorded: bool) -> None:
        inputs = tuple(tensor for tensor in self._dirty if position(tensor, args) >= 0)
        if len(inputs) < len(self._dirty):
            if any(t._view is not None and position(t, args) < 0 for t in self._dirty):
                raise RuntimeError(
                    f"{self.op_name}: mark_dirty received a tensor that was not an input, but is a "
                    "view; expected inputs that forward writes into"
                )
            message = f"{self.op_name}: mark_dirty got a tensor that is not an input; it is ignored"
            warnings.warn(message, UserWarning, stacklevel=4)
            self._dirty = inputs
        for tensor in inputs:
            if position(tensor, outputs) < 0:
                raise RuntimeError(
                    f"{self.op_name}: mark_dirty got a tensor of shape {tuple(tensor._shape)} that "
                    "was not returned as output, expected inputs that forward returns"
                )
            if recorded and tensor._view is not None and len(outputs) > 1:
                raise RuntimeError(
                    f"{self.op_name}: modifies in place an input of shape {tuple(tensor._shape)} "
                    "that is a view, and returns several outputs; expected only one"
                )
            if recorded:
                is_recorded(tensor, self.op_name)


def new_node(cls: type[FunctionCtx], args: tuple) -> FunctionCtx:
    """A node with the edges of `args`, before forward has run."""
    node = object.__new__(cls)
    edges = []
    for arg in args:
        if isinstance(arg, Variable):
            if arg._view is not None:
                refresh(arg)
            edges.append(edge_of(arg))
        else:
            edges.append(None)
    node._edges = edges
    node._tracked = 0
    for i, edge in enumerate(edges):
        if edge is not None:
            node._tracked |= 1 << min(i, LAST)
    node._tensor_inputs = frozenset(i for i, a in enumerate(args) if isinstance(a, Variable))
    node._kept = None
    node._saved = []
    return node


def _sparse(value: Any) -> bool:
    """Whether it is a sparse tensor, which is not a Variable: it is kept as it is."""
    return bool(getattr(value, "is_sparse", False) or getattr(value, "is_sparse_csr", False))


def position(tensor: Any, values: Any) -> int:
    """Index of `tensor` in `values`, by identity (== compares elements); -1 if absent."""
    return next((i for i, value in enumerate(values) if value is tensor), -1)
