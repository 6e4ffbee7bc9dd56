"""`out=`: write a function's result into a tensor that exists.

    torch.add(a, b, out=c)        c ← a + b, and c is returned
    torch.max(x, 0, out=(v, i))   functions with several results take a tuple

`@takes_out(…)` above a function gives it the argument: it computes as usual and then copies. As in
PyTorch

- an empty `out` gets the shape of the result, and one of another shape too, with a warning;
- neither `out` nor an argument may require grad, unless grad mode is off;
- `out` may be an argument of an elementwise function, but not overlap one in another way.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .autograd.forward_ad import differentiated
from .autograd.inplace import check_memory, finish_write, is_recorded
from .autograd.variable import Variable
from .backend import QUIET, error_state
from .dtype import can_cast, from_numpy_dtype

F = TypeVar("F", bound=Callable)
C = TypeVar("C", bound=type)


class Rule(NamedTuple):
    """How a function writes into `out`."""

    function: Callable  # without out
    dtype: str | Callable
    elementwise: bool
    any_shape: bool = False

    @property
    def name(self) -> str:
        return self.function.__name__


def takes_out(
    dtype: str | Callable[[tuple, dict, Any], str],
    *,
    elementwise: bool = False,
    any_shape: bool = False,
) -> Callable[[F], F]:
    """A decorator that gives a function the argument `out`.

    dtype        "cast": the result is cast to the dtype of out, but never to a lower category:
                         floats do not become integers
                 "same dtype": out must have the dtype of the result
                 "dtype of out": the function computes in it; it has an argument dtype
                 or a function of (args, kwargs, result) that returns one of the first two
    elementwise  out may be one of the arguments
    any_shape    an out with as many elements as the result keeps its shape
    """

    def decorate(function: F) -> F:
        rule = Rule(function, dtype, elementwise, any_shape)

        @functools.wraps(function)
        def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
            if out is None:
                return function(*args, **kwargs)
            return write_out(rule, out, args, kwargs)

        call.__signature__ = signature_with_out(function)  # type: ignore[attr-defined]
        call.out_rule = rule  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


def without_out(function: F) -> F:
    """The function as it was before `takes_out`, if it was decorated."""
    rule = getattr(function, "out_rule", None)
    return function if rule is None else rule.function


def methods_without_out(cls: C) -> C:
    """A class decorator: methods take no `out`, as in PyTorch, and save the call for it."""
    for name, value in list(vars(cls).items()):
        if without_out(value) is not value:
            setattr(cls, name, without_out(value))
    return cls


def signature_with_out(function: Callable) -> inspect.Signature:
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    rest = [p for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD]
    parameter = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
    return signature.replace(
        parameters=[*(p for p in parameters if p not in rest), parameter, *rest]
    )


def write_out(rule: Rule, out: Any, args: tuple, kwargs: dict) -> Any:
    """rule.function(*args, **kwargs), written into `out`, which is returned."""
    name = rule.name
    targets = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    inputs = list(tensors_in((args, kwargs)))
    for target in targets:
        if not isinstance(target, Variable):
            raise TypeError(f"{name}: got out of type {type(target).__name__}, expected a tensor")
    check_untracked(name, [*inputs, *targets])
    if rule.dtype == "dtype of out":
        kwargs = in_dtype_of(name, kwargs, targets[0], inputs)
    result = rule.function(*args, **kwargs)
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(targets):
        raise TypeError(f"{name}: got {len(targets)} tensors as out, expected {len(results)}")
    if not isinstance(rule.dtype, str):
        rule = rule._replace(dtype=rule.dtype(args, kwargs, result))
    for source, target in zip(results, targets):
        check_dtype(rule, source, target)
        check_overlap(rule, target, inputs)
        array = source.array
        if rule.any_shape and array.size == target.array.size:
            array = array.reshape(target.array.shape)
        copy(name, array, target)
    return type(result)(*targets) if hasattr(result, "_fields") else out


def tensors_in(value: Any) -> Iterator[Variable]:
    """The tensors in nested arguments."""
    if isinstance(value, Variable):
        yield value
    elif isinstance(value, dict):
        yield from tensors_in(tuple(value.values()))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_in(item)


def check_untracked(name: str, tensors: list) -> None:
    if any(map(differentiated, tensors)):
        raise RuntimeError(
            f"{name}: got out= with a tensor that requires grad or has a tangent, but such "
            "a write has no derivative; leave out= away, or use no_grad()"
        )


def in_dtype_of(name: str, kwargs: dict, target: Any, inputs: list) -> dict:
    """kwargs with out's dtype as dtype; an error if they ask for another one."""
    dtype = from_numpy_dtype(target.array.dtype)
    whole = target.array.dtype.kind in "iub"
    if whole and name in ("nansum", "nanmean") and inputs[0].array.dtype.kind not in "iub":
        raise NotImplementedError(
            f"{name}: got out of dtype {dtype} for a tensor of {inputs[0].array.dtype}, expected "
            "a floating point dtype"
        )
    asked = kwargs.get("dtype")
    if asked is not None and asked != dtype:
        raise RuntimeError(f"{name}: got dtype {asked} and out of {dtype}, expected the same dtype")
    return {**kwargs, "dtype": dtype}


def check_dtype(rule: Rule, source: Any, target: Any) -> None:
    name = rule.name
    dtype, given = source.array.dtype, target.array.dtype
    if dtype == given:
        return
    if rule.dtype == "same dtype" and not (name in ("all", "any") and given == np.uint8):
        raise RuntimeError(f"{name}: got out of dtype {given}, expected {dtype}, as the result")
    if not can_cast(dtype, given):
        joins = name.endswith(("cat", "stack", "catenate"))
        raise (TypeError if joins else RuntimeError)(
            f"{name}: the result has dtype {dtype}, which can't be cast to {given}, that of out"
        )


def check_overlap(rule: Rule, target: Any, inputs: list) -> None:
    """Refuse an `out` that shares memory with an input, unless it is that input, elementwise."""
    array = target.array
    for tensor in inputs:
        other = tensor.array
        if tensor is target and not rule.elementwise:
            raise_overlap(rule)
        if type(array) is not np.ndarray or type(other) is not np.ndarray:
            continue  # finding out on a GPU would wait for it
        if not np.may_share_memory(array, other):
            continue
        same = array.shape == other.shape and array.strides == other.strides
        if same and array.ctypes.data == other.ctypes.data and rule.elementwise:
            continue
        try:
            shared = np.shares_memory(array, other, max_work=10_000)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            shared = False
        if shared:
            raise_overlap(rule)


def raise_overlap(rule: Rule) -> None:
    raise RuntimeError(f"{rule.name}: out shares memory with an input; clone() one of them before")


def copy(name: str, result: Any, target: Any) -> None:
    """target ← result, after target got its shape."""
    is_recorded(target, name)
    array = target.array
    if array.shape != result.shape:
        if array.size:
            check_memory(name, array)
            warnings.warn(
                f"{name}: out has shape {tuple(array.shape)} and is resized to "
                f"{tuple(result.shape)}; give one without elements, or of that shape",
                UserWarning,
                stacklevel=4,
            )
        if target._view is not None:
            raise RuntimeError(
                f"{name}: out is a view of shape {tuple(array.shape)}, expected "
                f"{tuple(result.shape)}, the shape of the result; a view is not resized"
            )
        target.array = result.astype(array.dtype)
    else:
        check_memory(name, array)
        errors = error_state.get()
        try:
            error_state.set(QUIET)  # values too large for the dtype become inf
            array[...] = result
        finally:
            error_state.set(errors)
    finish_write(target)
