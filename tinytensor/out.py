"""`out=`: write a function's result into a tensor that exists.

    torch.add(a, b, out=c)        c ← a + b, and c is returned
    torch.max(x, 0, out=(v, i))   functions with several results take a tuple

One mechanism for all: `with_out` makes the public function, which computes as usual and then
copies. Methods and the functions of `ops` do not take `out`, as in PyTorch, so they cost nothing
more. As in PyTorch

- an empty `out` gets the shape of the result, and one of another shape too, with a warning;
- the result is cast to the dtype of `out`, but never to a lower category: floats do not become
  integers; functions in KEEP_DTYPE cast nothing, those in DTYPE_OF_OUT compute in out's dtype;
- neither `out` nor an argument may require grad, unless grad mode is off;
- `out` may be an argument of an elementwise function, but not overlap one in another way.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .autograd.inplace import check_memory, finish_write
from .autograd.settings import is_grad_enabled
from .autograd.variable import Variable
from .backend import QUIET, error_state
from .dtype import can_cast, from_numpy_dtype

ELEMENTWISE = [
    "abs", "absolute", "acos", "acosh", "add", "addcdiv", "addcmul", "arccos", "arccosh",
    "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh", "atan", "atan2",
    "atanh", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "ceil", "clamp", "clamp_max", "clamp_min", "clip",
    "copysign", "cos", "cosh", "deg2rad", "digamma", "div", "divide", "eq", "erf", "erfc",
    "erfinv", "exp", "exp2", "expm1", "fix", "float_power", "floor", "floor_divide", "fmax",
    "fmin", "fmod", "frac", "gcd", "ge", "greater", "greater_equal", "gt", "heaviside", "hypot",
    "i0", "igamma", "igammac", "isneginf", "isposinf", "lcm", "ldexp", "le", "lerp", "less",
    "less_equal", "lgamma", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2",
    "logical_and", "logical_not", "logical_or", "logical_xor", "logit", "lt", "maximum",
    "minimum", "mul", "multiply", "mvlgamma", "nan_to_num", "ne", "neg", "negative",
    "nextafter", "not_equal", "polygamma", "pow", "rad2deg", "reciprocal", "remainder", "round",
    "rsqrt", "sgn", "sigmoid", "sign", "signbit", "sin", "sinc", "sinh", "sqrt", "square",
    "sub", "subtract", "tan", "tanh", "true_divide", "trunc", "where", "xlogy",
]  # fmt: skip

REDUCTIONS = [
    "all", "any", "argmax", "argmin", "cumprod", "cumsum", "logcumsumexp", "logsumexp", "mean",
    "nanmean", "nansum", "norm", "prod", "std", "sum", "var",
]  # fmt: skip

SAME_DTYPE = [
    "addbmm", "addmm", "addmv", "addr", "amax", "amin", "aminmax", "baddbmm", "bmm",
    "bucketize", "cross", "cummax", "cummin", "diag", "dot", "gather", "histc", "histogram",
    "index_add", "index_copy", "index_select", "inner", "inverse", "isin", "kthvalue",
    "log_softmax", "masked_select", "matmul", "median", "mm", "mode", "msort", "multinomial",
    "mv", "nanmedian", "nanquantile", "nonzero", "quantile", "renorm", "scatter", "scatter_add",
    "scatter_reduce", "searchsorted", "softmax", "sort", "take", "take_along_dim", "tensordot",
    "topk", "tril", "triu", "vdot",
]  # fmt: skip

OTHERS = [
    "bernoulli", "cat", "column_stack", "concat", "concatenate", "diff", "dstack", "ger",
    "hstack", "kron", "max", "min", "normal", "outer", "row_stack", "slice_scatter", "stack",
    "vstack",
]  # fmt: skip

CREATED = [
    "arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint",
    "randn", "randperm", "zeros",
]  # fmt: skip

DTYPE_OF_OUT = {"cumprod", "cumsum", "mean", "nanmean", "nansum", "prod", "sum", *CREATED}
KEEP_DTYPE = {*SAME_DTYPE, "abs", "all", "any", "ceil", "floor", "frac", "lerp", "logcumsumexp",
              "nan_to_num", "neg", "norm", "round", "sgn", "sign", "trunc", "where"}  # fmt: skip
NAMES = (*ELEMENTWISE, *REDUCTIONS, *SAME_DTYPE, *OTHERS, *CREATED)


def with_out(name: str, function: Callable) -> Callable:
    """The function `name` with an argument `out`."""

    @functools.wraps(function)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is None:
            return function(*args, **kwargs)
        return write_out(name, function, out, args, kwargs)

    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    rest = [p for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD]
    parameter = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
    parameters = [*(p for p in parameters if p not in rest), parameter, *rest]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__module__, call.__qualname__ = "tinytensor", name  # where pickle finds it
    return call


def add_out(names: dict[str, Any]) -> None:
    """Replace the functions that take `out` in a dict of public names; synonyms stay one object."""
    made: dict[Callable, Callable] = {}
    for name in NAMES:
        function = names.get(name)
        if function is not None and function not in made:
            own = function.__name__
            made[function] = with_out(own if own in NAMES else name, function)
        if function is not None:
            names[name] = made[function]


def write_out(name: str, function: Callable, out: Any, args: tuple, kwargs: dict) -> Any:
    """function(*args, **kwargs), written into `out`, which is returned."""
    targets = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    inputs = list(tensors_in((args, kwargs)))
    for target in targets:
        if not isinstance(target, Variable):
            raise TypeError(f"{name}: got out of type {type(target).__name__}, expected a tensor")
    check_untracked(name, [*inputs, *targets])
    if name in DTYPE_OF_OUT:
        kwargs = in_dtype_of(name, kwargs, targets[0])
    result = function(*args, **kwargs)
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(targets):
        raise TypeError(f"{name}: got {len(targets)} tensors as out, expected {len(results)}")
    for source, target in zip(results, targets):
        check_dtype(name, source, target)
        check_overlap(name, target, inputs)
        copy(name, source.array, target)
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
    if is_grad_enabled() and any(tensor._tracked for tensor in tensors):
        raise RuntimeError(
            f"{name}: got out= with a tensor that requires grad, but such a write has no "
            "gradient; leave out= away, or use no_grad()"
        )


def in_dtype_of(name: str, kwargs: dict, target: Any) -> dict:
    """kwargs with out's dtype as dtype; an error if they ask for another one."""
    dtype = from_numpy_dtype(target.array.dtype)
    asked = kwargs.get("dtype")
    if asked is not None and asked != dtype:
        raise RuntimeError(f"{name}: got dtype {asked} and out of {dtype}, expected the same dtype")
    return {**kwargs, "dtype": dtype}


def check_dtype(name: str, source: Any, target: Any) -> None:
    dtype, given = source.array.dtype, target.array.dtype
    if dtype == given:
        return
    if name in KEEP_DTYPE and not (name in ("all", "any") and given == np.uint8):
        raise RuntimeError(f"{name}: got out of dtype {given}, expected {dtype}, as the result")
    if not can_cast(dtype, given):
        joins = name.endswith(("cat", "stack", "catenate"))
        raise (TypeError if joins else RuntimeError)(
            f"{name}: the result has dtype {dtype}, which can't be cast to {given}, that of out"
        )


def check_overlap(name: str, target: Any, inputs: list) -> None:
    """Refuse an `out` that shares memory with an input, unless it is that input, elementwise."""
    array = target.array
    for tensor in inputs:
        other = tensor.array
        if type(array) is not np.ndarray or type(other) is not np.ndarray:
            continue  # finding out on a GPU would wait for it
        if not np.may_share_memory(array, other):
            continue
        same = array.shape == other.shape and array.strides == other.strides
        if same and array.ctypes.data == other.ctypes.data and name in ELEMENTWISE:
            continue
        try:
            shared = np.shares_memory(array, other, max_work=10_000)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            shared = False
        if shared:
            raise RuntimeError(
                f"{name}: out shares memory with an input; clone() one of them before"
            )


def copy(name: str, result: Any, target: Any) -> None:
    """target ← result, after target got its shape."""
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
