"""Comparing tensors in tests (torch.testing): assert_close and assert_allclose."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .dtype import bfloat16, complex64, float16, float32
from .tensor import Tensor

# (rtol, atol) by dtype; float64, complex128 and Python's numbers; all other dtypes must be equal
_TOLERANCES = {
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    complex64: (1.3e-6, 1e-5),
}
_DOUBLE, _EXACT = (1e-7, 1e-7), (0.0, 0.0)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless |actual − expected| ≤ atol + rtol·|expected| everywhere.

    Both are tensors, arrays, numbers, or sequences or mappings of such. Shapes and dtypes (and
    strides, if asked for) must agree too. The default tolerances depend on the dtype, the larger
    of the two; integers and booleans must be equal. `msg` replaces the message, or makes a new one
    of it.
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            f"assert_close: got rtol={rtol}, atol={atol}, expected both of them or neither"
        )
    given = None if rtol is None or atol is None else (rtol, atol)
    options = (given, equal_nan, check_dtype, check_stride, check_device)
    found = _difference(actual, expected, "", options)
    if found is not None:
        raise AssertionError(found if msg is None else msg(found) if callable(msg) else msg)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older name: dtypes may differ, nan equals nan, and arguments may be lists of numbers."""
    actual = actual if isinstance(actual, Tensor) else Tensor(np.asarray(actual))
    if not isinstance(expected, Tensor):
        expected = Tensor(np.asarray(expected)).to(actual.dtype)
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False,
        check_device=True, msg=msg or None,
    )  # fmt: skip


def _difference(actual: Any, expected: Any, where: str, options: tuple) -> str | None:
    """What differs, in words; None if nothing does."""
    at = f" (at item {where})" if where else ""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            missing, extra = (
                sorted(set(expected) - set(actual)),
                sorted(set(actual) - set(expected)),
            )
            return f"assert_close: got keys {extra} too many, {missing} are missing{at}"
        pairs: Any = [(actual[key], expected[key], f"{where}[{key!r}]") for key in expected]
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"assert_close: got {len(actual)} items, expected {len(expected)}{at}"
        both = zip(actual, expected, strict=True)
        pairs = [(a, b, f"{where}[{i}]") for i, (a, b) in enumerate(both)]
    else:
        return _tensor_difference(actual, expected, at, options)
    found = (_difference(a, b, place, options) for a, b, place in pairs)
    return next((text for text in found if text is not None), None)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _tensor_difference(actual: Any, expected: Any, at: str, options: tuple) -> str | None:
    given, equal_nan, check_dtype, check_stride, check_device = options
    plain = isinstance(actual, numbers.Number) and isinstance(expected, numbers.Number)
    kinds = (Tensor, np.ndarray)
    if not plain and not (isinstance(actual, kinds) and isinstance(expected, kinds)):
        raise TypeError(
            f"assert_close: got {type(actual).__name__} and {type(expected).__name__}, expected "
            f"two tensors, two numbers, or sequences or mappings of them{at}"
        )
    if plain:
        if check_dtype and type(actual) is not type(expected):
            kinds_found = f"{type(actual).__name__}, expected {type(expected).__name__}"
            return f"assert_close: got a number of type {kinds_found}{at}"
        exact = all(isinstance(value, (bool, numbers.Integral)) for value in (actual, expected))
        default = _EXACT if exact else _DOUBLE
    else:
        actual, expected = (
            value if isinstance(value, Tensor) else Tensor(value) for value in (actual, expected)
        )
        for name in ("shape", "dtype", "device"):
            ours, theirs = getattr(actual, name), getattr(expected, name)
            wanted = name == "shape" or (check_dtype if name == "dtype" else check_device)
            if wanted and ours != theirs:
                return f"assert_close: got {name} {ours}, expected {theirs}{at}"
        if check_stride and actual.stride() != expected.stride():
            return f"assert_close: got strides {actual.stride()}, expected {expected.stride()}{at}"
        default = max(_tolerance(actual.dtype), _tolerance(expected.dtype))
    rtol, atol = default if given is None else given
    a, b = (_wide(value) for value in (actual, expected))
    with np.errstate(all="ignore"):
        distance = np.where(a == b, 0.0, np.abs(a - b))
        close = (a == b) | (np.isfinite(b) & (distance <= atol + rtol * np.abs(b)))
    if equal_nan:
        close |= np.isnan(a) & np.isnan(b)
    if close.all():
        return None
    if close.ndim == 0:
        found = f"got {a[()]}, expected {b[()]}"
    else:
        distance = np.where(close, -1.0, np.where(np.isnan(distance), np.inf, distance))
        worst = tuple(map(int, np.unravel_index(np.argmax(distance), close.shape)))
        count = int(close.size - close.sum())
        found = (
            f"{count} of {close.size} elements differ, most at {worst}: got {a[worst]}, expected "
            f"{b[worst]}"
        )
    return f"assert_close: {found} (allowed {atol:g} + {rtol:g}·|expected|){at}"


def _tolerance(dtype: Any) -> tuple[float, float]:
    if not (dtype.is_floating_point or dtype.is_complex):
        return _EXACT
    return _TOLERANCES.get(dtype, _DOUBLE)


def _wide(value: Any) -> np.ndarray:
    """As an array in float64 or complex128; integers stay as they are."""
    if not isinstance(value, Tensor):
        return np.asarray(value) + 0  # no booleans
    value = value.detach().cpu()
    if value.is_complex():
        return np.asarray(value.numpy()).astype(np.complex128)
    return value.double().numpy() if value.is_floating_point() else value.long().numpy()


__all__ = ["assert_allclose", "assert_close"]
