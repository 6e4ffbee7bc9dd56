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
import warnings
from collections.abc import Callable
from typing import Any

from ..errors import GradientError
from . import anomaly
from .function_ctx import FunctionCtx, new_node
from .function_jvp import push_function
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

    boxed_grads_call = False  # True: backward(ctx, grads) gets the gradients in one list
    clear_saved_tensors_on_access = False  # True: backward reads saved_tensors at most once
    generate_vmap_rule = False  # no effect: vmap calls the function for each sample

    _node: type[FunctionCtx] = FunctionCtx
    _backward_cls: type[FunctionCtx] = FunctionCtx  # PyTorch's name of it

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        members = {"function": cls, "op_name": cls.__name__, "__module__": cls.__module__}
        cls._node = cls._backward_cls = type(f"{cls.__name__}Backward", (FunctionCtx,), members)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        message = f"{cls.__name__}: should not be instantiated; call {cls.__name__}.apply(…)"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return super().__new__(cls)

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

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name for `backward`; a class defines one of the two."""
        raise NotImplementedError("Function: vjp is not implemented")

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The rule of forward mode: the tangents of the outputs from those of the arguments."""
        raise NotImplementedError(
            f"{ctx.op_name}: jvp is not implemented; forward-mode differentiation needs it"
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """PyTorch's rule for a whole batch; not called, as vmap calls forward for each sample."""
        raise NotImplementedError("Function: vmap is not implemented")

    @classmethod
    def rule(cls) -> Callable:
        """The class's backward, or its vjp."""
        names = [n for n in ("backward", "vjp") if getattr(cls, n) is not getattr(Function, n)]
        if len(names) != 1:
            got = "both" if names else "neither"
            raise NotImplementedError(
                f"{cls.__name__}: defines {got} of backward and vjp, expected one of them"
            )
        return getattr(cls, names[0])

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
        grad_before, dual = mode.grad, mode.dual
        try:
            mode.grad, mode.dual = False, None
            if separate:
                output = cls.forward(*args)
                cls.setup_context(node, args, output)
            else:
                output = cls.forward(node, *args)
        finally:
            mode.grad, mode.dual = grad_before, dual
        outputs = output if isinstance(output, tuple) else (output,)
        results = node.record(args, outputs)
        if dual is not None:
            push_function(dual, node, args, outputs, results)
        node._for_forward = node._dirty = node._constant = ()  # they may lead back to this node
        if state.mode.watched:
            anomaly.watch(node, args, results)
        return results if isinstance(output, tuple) else results[0]


class InplaceFunction(Function):
    """PyTorch's base class of Functions that may write into an argument."""

    def __init__(self, inplace: bool = False):
        self.inplace = inplace


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
