"""Arithmetic, beyond the op table: promotion, operators, numbers, edges, errors, in place."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")

NAN, INF = float("nan"), float("inf")
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
FUNCTIONS = [
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "fmod",
    "pow",
    "maximum",
    "minimum",
    "fmax",
    "where",
    "eq",
    "lt",
]
OPERATORS = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "eq",
    "lt",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
]
NUMBERS = [True, 2, -1, 300, 2**40, 1.5, -2.5]


# ------------------------------------------------------------------------------------------
# Promotion
# ------------------------------------------------------------------------------------------


def outcome(function: Callable, *args: Any) -> Any:
    """(dtype's name, values) of the result, or the error."""
    try:
        result = function(*args)
    except Exception as error:
        return error
    return str(result.dtype).rpartition(".")[2], np.asarray(result.detach()).astype(np.float64)


def assert_same_outcome(label: Any, ours: Any, theirs: Any) -> None:
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        assert isinstance(ours, Exception), f"{label}: {ours}, but PyTorch raises {theirs}"
        assert isinstance(theirs, Exception), f"{label}: {ours!r}, but PyTorch gives {theirs}"
        return
    assert ours[0] == theirs[0], f"{label}: {ours[0]}, PyTorch: {theirs[0]}"
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-3, err_msg=str(label))


def tensor(library: Any, dtype: str, values: list, dims: bool) -> Any:
    return library.tensor(values if dims else values[1], dtype=getattr(library, dtype))


def call(library: Any, name: str, a: Any, b: Any) -> Any:
    if name == "where":
        return library.where(library.tensor([True, False, True]), a, b)
    return getattr(library, name)(a, b)


@needs_torch
@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_tensors_promote_as_in_pytorch(name: str) -> None:
    for first, second in itertools.product(itertools.product(DTYPES, (True, False)), repeat=2):
        results = []
        for library in (tt, torch):
            a = tensor(library, first[0], [3, 2, 1], first[1])
            b = tensor(library, second[0], [2, 1, 3], second[1])
            results.append(outcome(call, library, name, a, b))
        assert_same_outcome((name, first, second), *results)


@needs_torch
@pytest.mark.parametrize("name", OPERATORS)
def test_numbers_promote_as_in_pytorch(name: str) -> None:
    function = getattr(operator, name)
    for dtype, dims, number in itertools.product(DTYPES, (True, False), NUMBERS):
        if name == "pow" and dtype == "float16" and number == 2**40:
            continue  # PyTorch refuses an exponent beyond float16; here it is ∞
        right, left = [], []
        for library in (tt, torch):
            x = tensor(library, dtype, [3, 2, 1], dims)
            right.append(outcome(function, x, number))
            left.append(outcome(function, number, x))
        assert_same_outcome((dtype, dims, name, number), *right)
        assert_same_outcome((number, name, dtype, dims), *left)


@needs_torch
@pytest.mark.parametrize("dims", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bounds", [(0, 2), (1.5, None), (None, 2.5), (-1, 1.0)], ids=str)
def test_clamp_promotes_as_in_pytorch(dtype: str, bounds: tuple, dims: bool) -> None:
    results = []
    for library in (tt, torch):
        x = tensor(library, dtype, [3, 2, 1], dims)
        results.append(outcome(library.clamp, x, *bounds))
    assert_same_outcome((dtype, bounds, dims), *results)


@pytest.mark.parametrize(
    "a, b, expected",
    [
        (tt.ones(2), 1.5, tt.float32),
        (tt.ones(2), np.float64(1.5), tt.float32),
        (tt.ones(2), tt.tensor(1.5, dtype=tt.float64), tt.float32),
        (tt.ones(2), tt.ones(2, dtype=tt.float64), tt.float64),
        (tt.ones(2, dtype=tt.float16), tt.ones(2, dtype=tt.int64), tt.float16),
        (tt.ones(2, dtype=tt.int32), 1.5, tt.float32),
        (tt.ones(2, dtype=tt.int32), 7, tt.int32),
        (tt.ones(2, dtype=tt.uint8), tt.ones(2, dtype=tt.int8), tt.int16),
        (tt.ones(2, dtype=tt.int8), tt.tensor(1.0, dtype=tt.float64), tt.float64),
        (tt.ones(2, dtype=tt.bool), True, tt.bool),
        (tt.ones(2, dtype=tt.bool), 1, tt.int64),
    ],
)
def test_result_dtype_of_a_sum(a: Any, b: Any, expected: Any) -> None:
    assert tt.add(a, b).dtype == expected
    assert tt.add(b, a).dtype == expected


def test_gradients_come_back_in_each_input_s_own_dtype() -> None:
    x = tt.tensor([1.0, 2.0], dtype=tt.float32, requires_grad=True)
    w = tt.tensor([3.0, 4.0], dtype=tt.float64, requires_grad=True)
    (x * w).sum().backward()
    assert (x.grad.dtype, w.grad.dtype) == (tt.float32, tt.float64)
    assert x.grad.tolist() == [3.0, 4.0]


def test_numpy_scalars_in_a_rule_keep_float64() -> None:
    """0-d results are NumPy scalars in backward: they must not pass for Python numbers."""
    x = tt.tensor(0.1, dtype=tt.float64, requires_grad=True)
    y = tt.where(tt.tensor(True), x * 0.1, 0.0) ** 2
    (gradient,) = tt.autograd.grad(y, x)
    assert gradient.item() == pytest.approx(2 * 0.1 * 0.1 * 0.1, rel=1e-15)


# ------------------------------------------------------------------------------------------
# Operators
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("wrong", ["a", None, [1, 2], {}], ids=repr)
def test_operators_refuse_what_is_no_number(name: str, wrong: Any) -> None:
    x = tt.ones(2, dtype=tt.int64)
    function = getattr(operator, name)
    if name == "eq":
        assert function(x, wrong) is False
        assert (x != wrong) is True
        return
    with pytest.raises(TypeError):
        function(x, wrong)
    if name == "mod" and wrong == "a":
        return  # "a" % x formats a string
    with pytest.raises(TypeError):
        function(wrong, x)


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"])
def test_in_place_operators_write_into_the_same_memory(name: str) -> None:
    x = tt.tensor([5.0, 7.0])
    expected = getattr(operator, name[1:])(x, 2)
    version, array = x._version, x.array
    y = getattr(operator, name)(x, 2)
    assert y is x
    assert x.array is array
    assert x._version == version + 1
    assert x.tolist() == expected.tolist()
    with pytest.raises(TypeError):
        getattr(operator, name)(x, "a")


def test_in_place_bit_operators() -> None:
    x = tt.tensor([12, 10])
    x &= 14
    x |= 1
    x ^= 3
    x <<= 2
    x >>= 1
    assert x.tolist() == [((((n & 14) | 1) ^ 3) << 2) >> 1 for n in (12, 10)]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"])
def test_array_and_tensor_give_a_tensor(name: str) -> None:
    function = getattr(operator, name)
    array, x = np.array([7.0, -5.0]), tt.tensor([2.0, 3.0], requires_grad=True)
    for result, expected in [
        (function(array, x), function(array, np.array([2.0, 3.0]))),
        (function(np.float64(7), x), function(np.float64(7), np.array([2.0, 3.0]))),
    ]:
        assert isinstance(result, tt.Tensor)
        assert result.requires_grad
        np.testing.assert_allclose(result.tolist(), expected)


def test_reflected_operators_and_unary_ones() -> None:
    x = tt.tensor([2.0, 4.0])
    assert (1 - x).tolist() == [-1.0, -3.0]
    assert (1 / x).tolist() == [0.5, 0.25]
    assert (5 // x).tolist() == [2.0, 1.0]
    assert (5 % x).tolist() == [1.0, 1.0]
    assert (2**x).tolist() == [4.0, 16.0]
    assert (-x).tolist() == [-2.0, -4.0]
    assert abs(-x).tolist() == [2.0, 4.0]
    assert +x is x
    assert sum([x, x]).tolist() == [4.0, 8.0]


# ------------------------------------------------------------------------------------------
# Edges: ties, bounds, zero, NaN
# ------------------------------------------------------------------------------------------

ODD = [NAN, INF, -INF, 0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0]
PAIRS = [list(values) for values in zip(*itertools.product(ODD, ODD), strict=True)]
LIMITS = [0.0, 1.0, 2.0]
BOUNDS = [list(v) for v in zip(*itertools.product(ODD, LIMITS, LIMITS), strict=True)]

EDGES: list[tuple[str, Callable, list]] = [
    *[
        (name, lambda lib, a, b, name=name: getattr(lib, name)(a, b), PAIRS)
        for name in [
            "mul",
            "div",
            "pow",
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "fmod",
            "remainder",
            "hypot",
        ]
    ],
    *[
        (name, lambda lib, x, name=name: getattr(lib, name)(x), [ODD])
        for name in ["abs", "sign", "sqrt", "rsqrt", "reciprocal", "square", "nan_to_num"]
    ],
    *[
        (f"x**{p}", lambda lib, x, p=p: x**p, [[x for x in ODD if x != -INF]])
        for p in (0, 1, 2, 3, 4, -1, -2, 0.5, -0.5, 2.5)
    ],
    *[(f"{p}**x", lambda lib, x, p=p: p**x, [ODD]) for p in (0.0, 1.0, 2, -2.0)],
    ("clamp(1, 2)", lambda lib, x: x.clamp(1, 2), [ODD]),
    ("clamp(2, 1)", lambda lib, x: x.clamp(2, 1), [ODD]),
    ("clamp(min)", lambda lib, x: x.clamp(min=1.0), [ODD]),
    ("clamp(max)", lambda lib, x: x.clamp(max=1.0), [ODD]),
    ("clamp(x, low, high)", lambda lib, *args: lib.clamp(*args), BOUNDS),
    ("where", lambda lib, a, b: lib.where(a > 0, a, b), PAIRS),
]


@needs_torch
@pytest.mark.parametrize("function, inputs", [e[1:] for e in EDGES], ids=[e[0] for e in EDGES])
def test_gradients_at_the_edges_match_pytorch(function: Callable, inputs: list) -> None:
    results = []
    for library in (tt, torch):
        tensors = [library.tensor(x, dtype=library.float64, requires_grad=True) for x in inputs]
        y = function(library, *tensors)
        weights = library.tensor(np.linspace(0.5, 1.5, len(inputs[0])))
        gradients = library.autograd.grad(y, tensors, weights)
        results.append([np.asarray(value.detach()) for value in (y, *gradients)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def gradient(function: Callable, *values: float) -> list[float]:
    tensors = [tt.tensor(value, requires_grad=True) for value in values]
    return [g.item() for g in tt.autograd.grad(function(*tensors), tensors)]


@pytest.mark.parametrize(
    "function, values, expected",
    [
        (tt.maximum, (1.0, 1.0), [0.5, 0.5]),
        (tt.minimum, (1.0, 1.0), [0.5, 0.5]),
        (tt.fmax, (1.0, 1.0), [1.0, 0.0]),
        (lambda x: x**0, (0.0,), [0.0]),
        (lambda x: x**2, (0.0,), [0.0]),
        (tt.pow, (0.0, 2.0), [0.0, 0.0]),
        (tt.pow, (0.0, 0.0), [0.0, 0.0]),
        (tt.abs, (0.0,), [0.0]),
        (lambda x: x.clamp(0, 1), (1.0,), [1.0]),
        (lambda x: x.clamp(0, 1), (0.0,), [1.0]),
        (lambda x: x.clamp(0, 1), (1.5,), [0.0]),
        (lambda x: x // 2, (3.0,), [0.0]),
        (lambda x: tt.where(x > 0, x, x / 0), (1.0,), [NAN]),
    ],
)
def test_gradient_at_a_point(function: Callable, values: tuple, expected: list) -> None:
    np.testing.assert_equal(gradient(function, *values), expected)


def test_lerp_reaches_its_end_exactly() -> None:
    a, b = tt.tensor([1e8, -3.3]), tt.tensor([0.1, 7.7])
    assert tt.lerp(a, b, 1.0).tolist() == b.tolist()
    assert tt.lerp(a, b, tt.tensor(1.0)).tolist() == b.tolist()
    assert tt.lerp(a, b, 0.0).tolist() == a.tolist()


def test_float_power_computes_in_float64() -> None:
    x = tt.tensor([2, 3], dtype=tt.int32)
    assert tt.float_power(x, -1).dtype == tt.float64
    assert tt.float_power(x, -1).tolist() == [0.5, 1 / 3]
    assert tt.float_power(2, tt.tensor([0.5])).dtype == tt.float64


def test_where_with_one_argument_is_nonzero() -> None:
    rows, columns = tt.where(tt.tensor([[0, 1], [2, 0]]))
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])
    (index,) = tt.where(tt.tensor(True))
    assert index.tolist() == [0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_to_num_uses_the_dtype_s_limits(dtype: str) -> None:
    x = tt.tensor([INF, -INF, NAN], dtype=getattr(tt, dtype))
    limits = np.finfo(dtype)
    assert tt.nan_to_num(x).tolist() == [float(limits.max), float(limits.min), 0.0]


# ------------------------------------------------------------------------------------------
# Errors
# ------------------------------------------------------------------------------------------

F, N, B = tt.tensor([1.5, -2.0]), tt.tensor([3, -2]), tt.tensor([True, False])


@pytest.mark.parametrize(
    "function, error, message",
    [
        (lambda: tt.add(F, "a"), TypeError, "add: got an operand of type str, expected a tensor"),
        (lambda: tt.mul(F, None), TypeError, "mul: got an operand of type NoneType"),
        (lambda: tt.div([1], F), TypeError, "div: got an operand of type list"),
        (lambda: F + tt.ones(3), RuntimeError, r"add: shapes \(2,\), \(3,\) do not fit"),
        (lambda: tt.add(N, N, alpha=0.5), RuntimeError, "add: got alpha=0.5 for int64"),
        (lambda: B - B, RuntimeError, "sub: got a bool operand, expected numbers"),
        (lambda: F - True, RuntimeError, "sub: got a bool operand"),
        (lambda: 1 - B, RuntimeError, "sub: got a bool operand"),
        (lambda: -B, RuntimeError, "neg: got dtype bool, expected numbers"),
        (lambda: +B, RuntimeError, "positive: got dtype bool"),
        (lambda: abs(B), NotImplementedError, "abs: got dtype bool"),
        (lambda: B // B, NotImplementedError, "floor_divide: got dtype bool"),
        (lambda: B**B, NotImplementedError, "pow: got dtype bool"),
        (lambda: N // 0, RuntimeError, "floor_divide: integer division by zero"),
        (lambda: N % tt.tensor([1, 0]), RuntimeError, "remainder: integer division by zero"),
        (lambda: tt.fmod(N, 0), RuntimeError, "fmod: integer division by zero"),
        (lambda: N.div(0, rounding_mode="trunc"), RuntimeError, "div: integer division by zero"),
        (lambda: F.div(2, rounding_mode="up"), RuntimeError, "'up', expected None, 'trunc' or"),
        (lambda: N**-1, RuntimeError, "pow: got integers to the negative power -1"),
        (lambda: N.to(tt.int8) ** 300, RuntimeError, "pow: got 300, expected a number that fits"),
        (lambda: F.lerp(F.double(), 0.5), RuntimeError, "lerp: end has dtype float64, expected fl"),
        (lambda: N.lerp(N, 0.5), NotImplementedError, "lerp: got dtype int64, expected a float"),
        (lambda: N.addcdiv(N, N), RuntimeError, "addcdiv: got integer tensor1 and tensor2"),
        (lambda: N.hypot(N), NotImplementedError, "hypot: got dtype int64"),
        (lambda: F.clamp(), RuntimeError, "clamp: got neither min nor max"),
        (lambda: F.clamp("a"), TypeError, "clamp: got an operand of type str"),
        (lambda: tt.where(F, F, F), RuntimeError, "where: condition has dtype float32, expected b"),
        (lambda: tt.where(True, F, F), TypeError, "where: condition is a bool, expected a bool t"),
        (lambda: tt.where(B, F, "a"), TypeError, "where: got an operand of type str"),
        (lambda: tt.where(B, N.to(tt.uint8), 300), RuntimeError, "where: got 300, expected a numb"),
        (lambda: N.add_(1.5), RuntimeError, "add_: result type float32 can't be cast to the ten"),
        (lambda: N.div_(2), RuntimeError, "div_: result type float32"),
        (lambda: F.add_(tt.ones(3, 2)), RuntimeError, r"add_: the result has shape \(3, 2\)"),
    ],
)
def test_error_names_op_and_what_was_got(function: Callable, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        function()


# ------------------------------------------------------------------------------------------
# In place
# ------------------------------------------------------------------------------------------

IN_PLACE = {
    "add_": (2.0,),
    "sub_": (2.0,),
    "subtract_": (2.0,),
    "mul_": (3.0,),
    "multiply_": (3.0,),
    "div_": (2.0,),
    "divide_": (2.0,),
    "true_divide_": (2.0,),
    "floor_divide_": (2.0,),
    "remainder_": (0.4,),
    "fmod_": (0.4,),
    "pow_": (2,),
    "neg_": (),
    "negative_": (),
    "abs_": (),
    "absolute_": (),
    "sign_": (),
    "sgn_": (),
    "square_": (),
    "sqrt_": (),
    "rsqrt_": (),
    "reciprocal_": (),
    "hypot_": (tt.tensor([1.0, 2.0]),),
    "lerp_": (tt.tensor([5.0, 6.0]), 0.3),
    "addcmul_": (tt.tensor([5.0, 6.0]), tt.tensor([1.0, 2.0])),
    "addcdiv_": (tt.tensor([5.0, 6.0]), tt.tensor([1.0, 2.0])),
    "clamp_": (0.6, 0.9),
    "clip_": (0.6, 0.9),
    "clamp_min_": (0.6,),
    "clamp_max_": (0.6,),
    "nan_to_num_": (),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_method_is_the_function_written_into_the_tensor(name: str) -> None:
    args = IN_PLACE[name]
    function = getattr(tt, name[:-1])
    x = tt.tensor([0.5, 1.5])
    expected, array, version = function(x, *args), x.array, x._version
    assert getattr(x, name)(*args) is x
    assert x.array is array
    assert x._version == version + 1
    assert x.tolist() == expected.tolist()


@pytest.mark.parametrize("name", [n for n in IN_PLACE if "floor" not in n and "sign" not in n])
def test_in_place_write_on_a_result_is_differentiated(name: str) -> None:
    args = IN_PLACE[name]
    gradients = []
    for method in (name, name[:-1]):
        x = tt.tensor([0.5, 1.5], requires_grad=True)
        y = getattr(x * 1.25, method)(*args)
        gradients.append(tt.autograd.grad((y * y).sum(), x)[0].tolist())
    assert gradients[0] == gradients[1]


@pytest.mark.parametrize("name", ["add_", "mul_", "clamp_", "sqrt_"])
def test_in_place_write_on_a_tracked_leaf_is_refused(name: str) -> None:
    x = tt.tensor([0.5, 1.5], requires_grad=True)
    with pytest.raises(RuntimeError, match=f"{name}: a leaf tensor"):
        getattr(x, name)(*IN_PLACE[name])
    with tt.no_grad():
        getattr(x, name)(*IN_PLACE[name])
