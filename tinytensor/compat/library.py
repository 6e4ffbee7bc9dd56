"""torch.library: ops of one's own, under a name, with a gradient.

    @torch.library.custom_op("mylib::scale", mutates_args=())
    def scale(x: Tensor, factor: float) -> Tensor:
        return x * factor

    def setup_context(ctx, inputs, output): ctx.factor = inputs[1]
    def backward(ctx, g): return g * ctx.factor, None

    scale.register_autograd(backward, setup_context=setup_context)
    scale(x, 2.0), torch.ops.mylib.scale(x, 2.0)        both call it

The function itself runs without recording: without `register_autograd` its result has no gradient.
Kernels for other devices, and the shapes that `register_fake` returns, are stored and not used:
nothing is compiled.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .. import ops
from ..autograd.forward_ad import differentiated
from ..autograd.function import Function
from ..autograd.settings import no_grad
from ..autograd.variable import Variable

_OPS: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """An op with a name, "namespace::name"."""

    def __init__(self, name: str, function: Callable):
        namespace, colons, short = name.partition("::")
        if not colons or not namespace or not short:
            raise ValueError(f"library: got the name {name!r}, expected 'namespace::name'")
        functools.update_wrapper(self, function)
        self._name, self._qualname, self._namespace = short, name, namespace
        self._kernels: dict[str, Callable] = {"default": function}
        self._signature = inspect.signature(function)
        self._backward: Callable | None = None
        self._setup_context: Callable | None = None
        self._fake: Callable | None = None
        self._function: type[Function] | None = None
        _OPS[name] = self
        home = vars(ops).setdefault(namespace, SimpleNamespace())
        if not isinstance(home, SimpleNamespace):
            raise ValueError(f"library: the namespace {namespace!r} is taken; choose another one")
        setattr(home, short, self)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_autograd(
        self, backward: Callable, /, *, setup_context: Callable | None = None
    ) -> None:
        """Store backward(ctx, *grads) and setup_context(ctx, inputs, output)."""
        self._backward, self._setup_context = backward, setup_context
        self._function = _function_of(self)

    def register_fake(self, fn: Callable, /) -> Callable:
        """Store a function that returns empty results: nothing is compiled, so it is not called."""
        self._fake = fn
        return fn

    def register_kernel(self, device_types: Any, fn: Callable | None = None, /) -> Callable:
        """Use another function for tensors on a device, "cpu" or "cuda"; also a decorator."""

        def store(function: Callable) -> Callable:
            names = device_types if isinstance(device_types, (list, tuple)) else [device_types]
            for name in names:
                self._kernels["default" if name is None else name] = function
            return function

        return store if fn is None else store(fn)

    def register_vmap(self, func: Callable | None = None, /) -> Any:
        """Accepted: `func.vmap` calls the op for each sample."""
        return (lambda function: function) if func is None else func

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The kernel for the device of the first tensor, without recording."""
        tensor = next((a for a in (*args, *kwargs.values()) if isinstance(a, Variable)), None)
        kind = "cpu" if tensor is None else tensor.device.type
        kernel = self._kernels.get(kind, self._kernels["default"])
        with no_grad():
            return kernel(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.args + tuple(bound.kwargs.values())
        if self._function is None:
            if any(isinstance(a, Variable) and differentiated(a) for a in values):
                return _NoGradient.apply(self, *values)
            return self._call(*values)
        return self._function.apply(*values)

    def _call(self, *values: Any) -> Any:
        positional = [p for p in self._signature.parameters.values() if p.kind < 3]
        named = [p.name for p in self._signature.parameters.values() if p.kind == 3]
        count = len(positional)
        return self.run(*values[:count], **dict(zip(named, values[count:], strict=True)))


class _NoGradient(Function):
    """An op without register_autograd: its backward is an error that says so."""

    @staticmethod
    def forward(ctx: Any, op: CustomOpDef, *values: Any) -> Any:
        ctx.op = op
        return op._call(*values)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            f"library: the op {ctx.op._qualname} has no gradient; use register_autograd"
        )


def _function_of(op: CustomOpDef) -> type[Function]:
    """An autograd.Function with the op's forward, setup_context and backward."""

    class Op(Function):
        @staticmethod
        def forward(ctx: Any, *values: Any) -> Any:
            output = op._call(*values)
            if op._setup_context is not None:
                op._setup_context(ctx=ctx, inputs=values, output=output)
            return output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            assert op._backward is not None
            return op._backward(ctx, *grads)

    Op.__name__ = Op.__qualname__ = op._name
    return Op


def custom_op(
    name: str, fn: Callable | None = None, /, *, mutates_args: Any, device_types: Any = None,
    schema: str | None = None, tags: Any = None,
) -> Any:  # fmt: skip
    """Make a function an op named "namespace::name"; also a decorator.

    mutates_args names the arguments that it writes to; device_types: those it is for, or all.
    """

    def make(function: Callable) -> CustomOpDef:
        return CustomOpDef(name, function)

    return make if fn is None else make(fn)


triton_op = custom_op


def _find(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    found = _OPS.get(op) if isinstance(op, str) else None
    if found is None:
        raise RuntimeError(f"library: got {op!r}, expected an op, or the name of one: 'lib::op'")
    return found


def register_autograd(
    op: Any, backward: Callable, /, *, setup_context: Callable | None = None, lib: Any = None
) -> None:
    """`CustomOpDef.register_autograd` for an op or its name."""
    _find(op).register_autograd(backward, setup_context=setup_context)


def register_fake(op: Any, func: Callable | None = None, /, **options: Any) -> Any:
    """`CustomOpDef.register_fake` for an op or its name; also a decorator."""
    found = _find(op)
    return found.register_fake if func is None else found.register_fake(func)


impl_abstract = register_fake


def register_kernel(
    op: Any, device_types: Any, func: Callable | None = None, /, *, lib: Any = None
) -> Any:
    """`CustomOpDef.register_kernel` for an op or its name; also a decorator."""
    return _find(op).register_kernel(device_types, func)


def register_vmap(op: Any, func: Callable | None = None, /, *, lib: Any = None) -> Any:
    """Accepted: `func.vmap` calls the op for each sample."""
    return _find(op).register_vmap(func)


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    """Name an op whose function comes later, by `impl`."""
    _PENDING[qualname] = schema


def impl(qualname: str, types: Any, func: Callable | None = None, *, lib: Any = None) -> Any:
    """Give an op of `define` its function; also a decorator. types: devices, or "default"."""

    def store(function: Callable) -> Callable:
        if qualname not in _PENDING and qualname not in _OPS:
            raise RuntimeError(f"library.impl: there is no op {qualname}; call library.define")
        if qualname not in _OPS:
            CustomOpDef(qualname, function)
        elif types not in ("default", "CompositeExplicitAutograd"):
            _OPS[qualname].register_kernel(types, function)
        return function

    return store if func is None else store(func)


_PENDING: dict[str, str] = {}


def opcheck(op: Any, args: tuple, kwargs: dict | None = None, **options: Any) -> dict[str, str]:
    """Call the op once with the given arguments; {"test_schema": "SUCCESS"} if it runs."""
    _find(op)(*args, **(kwargs or {}))
    return {"test_schema": "SUCCESS"}


class Library:
    """Ops of a namespace: `Library("mylib", "DEF")`, then define and impl."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = ""):
        self.ns, self.kind = ns, kind

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Name an op by its schema, "name(Tensor x) -> Tensor"."""
        name = schema.partition("(")[0].strip()
        define(f"{self.ns}::{name}", schema)
        return name

    def impl(self, op_name: Any, fn: Callable, dispatch_key: str = "", **options: Any) -> None:
        """Give an op its function."""
        impl(f"{self.ns}::{op_name}", dispatch_key.lower() or "default", fn)


__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "impl", "impl_abstract", "opcheck",
    "register_autograd", "register_fake", "register_kernel", "register_vmap", "triton_op",
]  # fmt: skip
