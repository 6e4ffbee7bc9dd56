"""Convert the operands of an op to one dtype by PyTorch's rules, or refuse them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..autograd.arguments import array_of
from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap, wrap_like
from ..backend import Array, is_array, xp
from ..dtype import default_float, result_dtype
from .autocast_setting import mixes

if TYPE_CHECKING:
    from ..tensor import Tensor

    Operand: TypeAlias = Tensor | complex  # what arithmetic takes


# The ops that take complex numbers, of those that call as_float, promote_float or require_float.
# fmt: off
TAKES_COMPLEX = frozenset([
    "abs", "acos", "acosh", "addcdiv", "asin", "asinh", "atan", "atanh", "cos", "cosh", "div",
    "exp", "exp2", "expm1", "fold", "inverse", "lerp", "linalg.det", "linalg.inv",
    "linalg.inv_ex", "linalg.matrix_norm", "linalg.matrix_power", "linalg.norm", "linalg.solve",
    "linalg.solve_ex", "linalg.vector_norm", "log", "log10", "log1p", "log2", "mean", "norm",
    "positive", "reciprocal", "rsqrt", "sigmoid", "sin", "sinh", "softsign", "sqrt", "std",
    "std_mean", "tan", "tanh", "tanhshrink", "unfold", "var", "var_mean",
])
# fmt: on

# Ops whose first operand must be a tensor, and those whose two must be. Sums, products and powers
# also take a number first.
TENSOR_FIRST = frozenset(["clamp_max", "clamp_min", "eq", "fmod", "ge", "gt", "le", "lt", "ne"])
TENSORS_ONLY = frozenset(
    [
        "atan2",
        "fmax",
        "fmin",
        "gcd",
        "hypot",
        "igamma",
        "igammac",
        "lcm",
        "logaddexp",
        "logaddexp2",
        "maximum",
        "minimum",
        "nextafter",
    ]
)
# Activations whose integers PyTorch refuses, instead of converting them to floats.
FLOAT_ONLY = frozenset(
    ["celu", "elu", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "leaky_relu",
     "logsigmoid", "mish", "selu", "silu", "softplus", "softshrink"]
)  # fmt: skip
NUMBERS = (bool, int, float, complex)  # exactly these: NumPy's scalars stand for 0-d arrays


class Cast(Op):
    """y = x in another dtype;  dx = g in the old one"""

    def forward(self, x: Array, dtype: np.dtype) -> Array:
        if x.dtype.kind == "c" and dtype.kind not in "cb":
            x = x.real  # .to() warns about it
        return x.astype(dtype)

    def backward(self, g: Any) -> Any:
        return g  # the engine brings each gradient to its input's dtype


def cast(x: Any, dtype: np.dtype) -> Any:
    """`x` (tensor or array) in a NumPy dtype; itself if it already has that dtype."""
    return x if unwrap(x).dtype == dtype else Cast.apply(x, dtype)


def promote(a: Any, b: Any, name: str = "op") -> tuple[Any, Any]:
    """Two operands in their common dtype; Python numbers stay, as NumPy too takes them as weak.

    name: the op, for the error message about an operand that is neither tensor nor number.
    """
    if isinstance(a, Variable):
        if isinstance(b, Variable):
            if a.array.dtype is b.array.dtype:
                return a, b
        elif (type(b) is float or type(b) is int) and name not in TENSORS_ONLY:
            kind = a.array.dtype.kind
            # Up to 127 an int fits every integer dtype; one that does not must wrap around.
            if kind == "f" or (kind != "b" and type(b) is int and 0 <= b <= 127):
                return a, b
    elif type(a) in (float, int) and isinstance(b, Variable) and b.array.dtype.kind == "f":
        refuse_numbers(name, a, b)
        return a, b
    return promote_to(common_dtype(name, a, b), a, b)


def promote_ordered(a: Any, b: Any, name: str = "op") -> tuple[Any, Any]:
    """As `promote`, for ops that compare sizes: complex numbers have none."""
    a, b = promote(a, b, name)
    dtype = getattr(unwrap(a if isinstance(a, Variable) else b), "dtype", None)
    if dtype is not None and dtype.kind == "c":
        _check_complex(name, dtype)
    return a, b


def promote_float(a: Any, b: Any, name: str = "op") -> tuple[Any, Any]:
    """As `promote`, but integers become floats: for division and similar ops."""
    if isinstance(a, Variable) and a.array.dtype.kind == "f":  # the common cases first
        if isinstance(b, Variable):
            if a.array.dtype is b.array.dtype:
                return a, b
        elif (type(b) is float or type(b) is int) and name not in TENSORS_ONLY:
            return a, b
    dtype = common_dtype(name, a, b)
    if dtype.kind == "c":
        _check_complex(name, dtype)
    elif dtype.kind not in "fV":
        dtype = default_float()
    return promote_to(dtype, a, b)


def promote_to(dtype: np.dtype, *operands: Any) -> Any:
    """Each tensor and array in `dtype`, each Python number as one that it can hold."""
    return tuple(_as_operand(operand, dtype) for operand in operands)


def common_dtype(name: str, *operands: Any) -> np.dtype:
    """The dtype of an op's result; TypeError if an operand is neither tensor nor number."""
    for operand in operands:
        if not is_operand(operand):
            raise TypeError(
                f"{name}: got an operand of type {type(operand).__name__}, "
                "expected a tensor or a number"
            )
    refuse_numbers(name, *operands)
    if not any(isinstance(operand, Variable) for operand in operands):
        # Backward rules compute with raw arrays, and NumPy turns 0-d results into its scalars.
        # These count as 0-d arrays; a user's np.float64(2) next to a tensor counts as a number.
        operands = tuple(np.asarray(x) if isinstance(x, np.generic) else x for x in operands)
    return result_dtype(*operands)


def refuse_numbers(name: str, *operands: Any) -> None:
    """TypeError for a Python number where the op `name` takes only a tensor."""
    numbers = [type(operand) in NUMBERS for operand in operands]
    if (
        (numbers[0] and name in TENSOR_FIRST)
        or (any(numbers) and name in TENSORS_ONLY)
        or (all(numbers) and name not in ("add", "sub", "mul", "div", "where"))
    ):
        got = " and ".join(type(operand).__name__ for operand in operands)
        which = "two tensors" if name in TENSORS_ONLY else "a tensor first"
        raise TypeError(f"{name}: got {got}, expected {which}")


_OPERANDS = (Variable, int, float, complex, np.ndarray, np.generic)


def is_operand(value: Any) -> bool:
    """Whether arithmetic takes `value`: a tensor, an array or a number."""
    return isinstance(value, _OPERANDS) or is_array(value)


def _as_operand(value: Any, dtype: np.dtype) -> Any:
    if isinstance(value, (Variable, np.generic)) or is_array(value):
        return cast(value, dtype)
    if dtype.kind in "fV":
        return float(value)
    if dtype.kind == "c":
        return complex(value)
    return np.asarray(value).astype(dtype).item()  # 300 in uint8 is 44, as in PyTorch


def check_number_fits(name: str, dtype: np.dtype, *values: Any) -> None:
    """RuntimeError for a Python int outside of dtype's range, for the ops that do not wrap."""
    for value in values:
        if type(value) is int and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if not (limits.min or -limits.max) <= value <= limits.max:
                raise RuntimeError(f"{name}: got {value}, expected a number that fits {dtype}")


def as_float(name: str, x: Any) -> Any:
    """A tensor or array in floating point: integers in the default dtype.

    Complex numbers stay as they are if the op takes them, and are refused otherwise.
    """
    array = x.array if isinstance(x, Variable) else array_of(name, x)
    if array.dtype.kind in "fV":
        return x
    if array.dtype.kind == "c":
        _check_complex(name, array.dtype)
        return x
    if name in FLOAT_ONLY:
        require_float(name, x, NotImplementedError)
    return cast(x, default_float())


def apply_wide(name: str, op: type[Op], input: Any, *args: Any) -> Any:
    """op.apply(input, *args); float16 is computed in float32 and rounded once, as in PyTorch.

    For ops of several steps. NumPy does the same in each single function.
    """
    x = as_float(name, input)
    dtype = unwrap(x).dtype
    if dtype.itemsize > 2:
        return op.apply(x, *args)
    return cast(op.apply(cast(x, np.dtype(np.float32)), *args), dtype)


# ------------------------------------------------------------------------------------------
# Inputs that an op refuses. Where PyTorch has no kernel for a dtype, it is NotImplementedError.
# ------------------------------------------------------------------------------------------


def require_float(name: str, input: Any, error: type = RuntimeError) -> None:
    """Refuse integers and booleans, and complex numbers unless the op takes them."""
    dtype = array_of(name, input).dtype
    if dtype.kind == "c":
        _check_complex(name, dtype)
    elif dtype.kind not in "fV":
        raise error(
            f"{name}: got dtype {dtype}, expected a floating point dtype; convert with .float()"
        )


def _check_complex(name: str, dtype: np.dtype) -> None:
    """Refuse complex numbers unless the op takes them."""
    if name not in TAKES_COMPLEX:
        raise NotImplementedError(
            f"{name}: not implemented for {dtype}, expected real numbers; use .abs(), .real or "
            "view_as_real()"
        )


def refuse_complex(name: str, *operands: Any) -> None:
    """Refuse complex tensors, arrays and numbers: for ops that need an order, such as max."""
    for operand in operands:
        dtype = getattr(unwrap(operand), "dtype", None)
        if isinstance(operand, complex):
            dtype = np.dtype(type(operand))
        if dtype is not None and dtype.kind == "c":
            _check_complex(name, dtype)


def require_numbers(name: str, input: Any, error: type = RuntimeError) -> None:
    """Refuse booleans, and complex numbers unless the op takes them."""
    dtype = array_of(name, input).dtype
    if dtype.kind not in "bc":
        return
    if dtype.kind == "c":
        _check_complex(name, dtype)
    else:
        raise error(f"{name}: got dtype bool, expected numbers; convert with .int() or .float()")


def require_same_dtype(
    name: str, what: str, other: Any, input: Any, *, autocasts: bool = False
) -> None:
    """Refuse an `other` argument, called `what`, whose dtype is not that of input.

    autocasts: autocast gives the arguments of this op one dtype.
    """
    dtype, expected = unwrap(other).dtype, unwrap(input).dtype
    if dtype != expected and not (autocasts and mixes(dtype, expected)):
        raise RuntimeError(
            f"{name}: {what} has dtype {dtype}, expected {expected}, as input; convert one of them"
        )


# ------------------------------------------------------------------------------------------
# For rules and forwards
# ------------------------------------------------------------------------------------------


def library_of(*operands: Any) -> Any:
    """The array library of the operands, some of which may be Python numbers."""
    for operand in operands:
        if is_array(operand):
            return xp(operand)
    return np


def zeros_for(g: Any) -> Any:
    """Zeros like g, an array or a tensor: the gradient of a function made of flat pieces."""
    array = unwrap(g)
    return wrap_like(xp(array).zeros_like(array), g)


def not_zero(y: Any) -> Any:
    """y with 1 in place of 0: a divisor for what is 0 there anyway."""
    return y + (y == 0)
