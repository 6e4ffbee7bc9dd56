"""Function: an op written by a user, on tensors instead of raw arrays, as in PyTorch.

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

`ctx` is the node in the graph, `y.grad_fn`. This package's own ops derive from `Op`, which is
faster: its rules run on raw arrays.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..errors import GradientError
from . import anomaly
from .function_ctx import FunctionCtx, new_node
from .mode import state
from .op import Op
from .settings import no_grad
from .variable import Variable, wrap


class Function:
    """Base class of ops written by users: static `forward(ctx, …)` and `backward(ctx, …)`.

    forward runs on tensors and is not recorded. It returns a tensor, or a tuple that may also hold
    other values. backward gets one gradient for each output, and returns one for each argument of
    forward, None for those that are not tensors. Alternatively, `forward(…)` has no ctx and
    `setup_context(ctx, inputs, output)` is called after it.
    """

    _node: type[FunctionCtx] = FunctionCtx

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        members = {"function": cls, "op_name": cls.__name__, "__module__": cls.__module__}
        cls._node = type(cls.__name__, (FunctionCtx,), members)

    def __call__(self, *args: Any) -> Any:
        name = type(self).__name__
        raise RuntimeError(f"{name}: call {name}.apply(…), with static forward and backward")

    @staticmethod
    def forward(*args: Any) -> Any:
        raise NotImplementedError("Function: forward is not implemented")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        raise NotImplementedError("Function: setup_context is not implemented")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError("Function: backward is not implemented")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and record it if a tensor among the arguments requires grad."""
        separate = cls.setup_context is not Function.setup_context
        if separate:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            names = ", ".join(kwargs)
            raise TypeError(f"{cls.__name__}: apply takes no keyword arguments, got {names}")
        node = new_node(cls._node, args)
        mode = state.mode
        grad_before = mode.grad
        try:
            mode.grad = False
            if separate:
                output = cls.forward(*args)
                cls.setup_context(node, args, output)
            else:
                output = cls.forward(node, *args)
        finally:
            mode.grad = grad_before
        outputs = output if isinstance(output, tuple) else (output,)
        results = node.record(args, outputs)
        if state.mode.watched:
            anomaly.watch(node, args, results)
        return results if isinstance(output, tuple) else results[0]


# ------------------------------------------------------------------------------------------
# Backward rules that are not differentiable themselves
# ------------------------------------------------------------------------------------------


class OnceDifferentiable(Op):
    """y = x; backward raises: x came from a rule that cannot be differentiated."""

    def forward(self, x: Any, name: str) -> Any:
        self.owner = name
        return x

    def backward(self, g: Any) -> Any:
        raise GradientError(
            f"{self.owner}: trying to differentiate twice a function that was marked with "
            "@once_differentiable"
        )


def once_differentiable(backward: Callable) -> Callable:
    """Decorate a `backward` that is not written with differentiable ops.

    With create_graph, differentiating its results raises.
    """

    unrecorded = no_grad()(backward)

    @functools.wraps(backward)
    def rule(ctx: Any, *grads: Any) -> Any:
        results = unrecorded(ctx, *grads)
        if not state.mode.grad:
            return results
        if isinstance(results, tuple):
            return tuple(_refusing(result, ctx) for result in results)
        return _refusing(results, ctx)

    return rule


def _refusing(result: Any, ctx: FunctionCtx) -> Any:
    if not isinstance(result, Variable) or result.array.dtype.kind not in "fVc":
        return result
    constant = wrap(result.array)
    constant._tracked = True  # else nothing would be recorded
    return OnceDifferentiable.apply(constant, ctx.op_name)
