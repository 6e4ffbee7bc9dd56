"""Function: an op written by a user, on tensors instead of raw arrays, as PyTorch has it.

    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    y = Exp.apply(x)

`ctx` is the node in the graph, `y.grad_fn`. The ops of this package are written as an `Op`, which
is faster: its rules see raw arrays.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable

from ..backend import xp
from ..errors import GradientError
from . import anomaly
from .inplace import finish_write
from .mode import no_grad, state
from .op import Op, Output, _next_order
from .site import call_site, describe_site
from .variable import Variable, count_write, counter_apart, counter_of, edge_of, refresh, unwrap, wrap


class FunctionNode(Op):
    """A Function's call in the graph, and the `ctx` that its forward and backward share."""

    function: type[Function]

    # What forward may ask for; see the methods that set them.
    _to_save: tuple = ()
    _dirty: tuple = ()
    _constant: tuple = ()
    _materialize = True

    # Which arguments are tensors; (kind, position) of each saved tensor; which outputs are tracked.
    _tensor_inputs: frozenset = frozenset()
    _places: tuple = ()
    _tracked_outputs: frozenset = frozenset()

    # --------------------------------------------------------------------------------------
    # What the user calls
    # --------------------------------------------------------------------------------------

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward, which finds them in `saved_tensors`.

        If one was written to meanwhile, backward raises instead of giving a wrong gradient.
        """
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Variable):
                raise TypeError(
                    f"{self.name_}: save_for_backward got {type(tensor).__name__} at position {i}, "
                    "expected a Tensor or None; keep other values as attributes of ctx"
                )
        self._to_save = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Name the inputs that forward writes into; each must be returned as well."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Name the outputs that no gradient flows through."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward sees zeros (the default) or None for outputs that got no gradient."""
        self._materialize = value

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """For each argument of forward, whether it requires grad."""
        return tuple(edge is not None for edge in self._edges)

    @property
    def saved_tensors(self) -> tuple:
        """What forward saved, each at its place in the graph: backward can be differentiated."""
        if self._saved is None:
            raise GradientError(
                f"{self.name_}: backward a second time, but the tensors it saved are freed; "
                f"give the first backward retain_graph=True{describe_site(self)}"
            )
        tensors = []
        for i, (array, counter, version) in enumerate(self._saved):
            if array is not None and counter._writes != version:
                raise GradientError(
                    f"{self.name_}: saved tensor {i}, of shape {tuple(array.shape)}, was changed "
                    f"in place after it was saved (version {counter._writes}, expected {version}); "
                    f"clone() it before the write{describe_site(self)}"
                )
            tensors.append(self._restore(array, *self._places[i]))
        return tuple(tensors)

    # --------------------------------------------------------------------------------------
    # What the engine calls
    # --------------------------------------------------------------------------------------

    def backward(self, *grads: Any) -> Any:
        tensors = tuple(g if g is None or isinstance(g, Variable) else _as_tensor(g) for g in grads)
        results = self.function.backward(self, *tensors)
        results = self._checked(results if isinstance(results, tuple) else (results,))
        return results if state.mode.grad else tuple(map(unwrap, results))

    def fill_missing(self, grads: list) -> list:
        if self._materialize:
            library = xp(unwrap(next(g for g in grads if g is not None)))
            for i, (shape, dtype) in enumerate(zip(self._shape, self._dtype)):
                if grads[i] is None and shape is not None:
                    grads[i] = wrap(library.zeros(shape, dtype))
        return grads

    def _checked(self, results: tuple) -> tuple:
        """Backward's results: as many as forward had arguments, tensors where tensors were."""
        expected = len(self._edges)
        if len(results) > expected and all(r is None for r in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise GradientError(
                f"{self.name_}: backward returned an incorrect number of gradients (expected "
                f"{expected}, one for each argument of forward, got {len(results)})"
            )
        for i, result in enumerate(results):
            if result is None:
                continue
            if not isinstance(result, Variable):
                raise GradientError(
                    f"{self.name_}: backward returned {type(result).__name__} at position {i}, "
                    "expected a Tensor or None"
                )
            if i not in self._tensor_inputs:
                raise GradientError(
                    f"{self.name_}: backward returned a gradient at position {i}, expected None, "
                    "as that argument of forward was not a Tensor"
                )
        return results

    # --------------------------------------------------------------------------------------
    # Recording
    # --------------------------------------------------------------------------------------

    def _save_tensors(self, args: tuple, outputs: tuple) -> None:
        """Turn what save_for_backward was given into arrays, versions and places."""
        saved, places = [], []
        for tensor in self._to_save:
            place = ("constant", 0)
            if tensor is None:
                saved.append((None, None, 0))
            elif _position(tensor, args) >= 0 and _position(tensor, self._dirty) < 0:
                place = ("input", _position(tensor, args))
                counter = counter_of(tensor)
                saved.append((tensor.array, counter, counter._writes))
            else:
                if _position(tensor, outputs) >= 0:
                    place = ("output", _position(tensor, outputs))
                counter = counter_apart(tensor)  # an output as its own counter would be a cycle
                saved.append((tensor.array, counter, counter._writes))
            places.append(place)
        self._saved, self._places, self._to_save = saved, tuple(places), ()

    def _restore(self, array: Any, kind: str, i: int) -> Any:
        """A saved array as the tensor that it was."""
        edge: Any = None
        if kind == "input":
            edge = self._edges[i]
            if isinstance(edge, Variable):
                return edge
        elif kind == "output" and i in self._tracked_outputs:
            edge = Output(self, i, array) if isinstance(self._shape, list) else self
        if array is None:
            return None
        tensor = wrap(array)
        if edge is not None:
            tensor._tracked, tensor._node = True, edge
        return tensor

    def _record(self, args: tuple, outputs: tuple) -> tuple:
        """Put the outputs of forward into the graph; returns them, or aliases of them."""
        recorded = self._tracked != 0 and state.mode.grad
        self._check_dirty(args, outputs, recorded)
        results = []
        for out in outputs:
            dirty = _position(out, self._dirty) >= 0
            if isinstance(out, Variable) and not dirty:
                known = _position(out, args) >= 0 or _position(out, tuple(results)) >= 0
                if known or out._tracked or out._view is not None:
                    out = out.detach()  # the same memory, as a tensor of its own
            elif dirty and not recorded:
                count_write(out)
            results.append(out)
        if not recorded:
            return tuple(results)

        self._order = _next_order()
        tensors = [out if isinstance(out, Variable) else None for out in outputs]
        self._shape = [t and t.array.shape for t in tensors] if False else None
        return tuple(results)
