"""Dtypes: promotion as PyTorch's over all pairs and ranks, limits, identity, equality, pickling."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
NUMBERS: list[Any] = [True, 2, 2.5, np.float64(2.5), np.int64(2)]


def name_of(dtype: Any) -> str:
    return str(dtype).split(".")[1]


@pytest.mark.parametrize(("a", "b"), list(itertools.product(NAMES, NAMES)))
def test_pairs_as_pytorch(a: str, b: str) -> None:
    """promote_types, can_cast, and result_type in every combination of ranks."""
    torch = pytest.importorskip("torch")
    ours = tt.promote_types(getattr(tt, a), getattr(tt, b))
    assert name_of(ours) == name_of(torch.promote_types(getattr(torch, a), getattr(torch, b)))
    can = torch.can_cast(getattr(torch, a), getattr(torch, b))
    assert tt.can_cast(getattr(tt, a), getattr(tt, b)) is can
    for shape_a, shape_b in itertools.product([(), (1,), (2,), (0,)], repeat=2):
        found, expected = (
            lib.result_type(
                lib.ones(shape_a, dtype=getattr(lib, a)), lib.ones(shape_b, dtype=getattr(lib, b))
            )
            for lib in (tt, torch)
        )
        assert name_of(found) == name_of(expected), (shape_a, shape_b)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_never_widen(name: str, number: Any) -> None:
    torch = pytest.importorskip("torch")
    for shape in ((), (2,)):
        found, expected = (
            (lib.ones(shape, dtype=getattr(lib, name)) * number).dtype for lib in (tt, torch)
        )
        assert name_of(found) == name_of(expected)


def test_golden_promotions_without_pytorch() -> None:
    assert tt.promote_types(tt.uint8, tt.int8) == tt.int16
    assert tt.promote_types(tt.int64, tt.float16) == tt.float16
    assert tt.result_type(tt.ones(2), tt.ones((), dtype=tt.float64)) == tt.float32
    assert tt.result_type(tt.ones(2, dtype=tt.int8), 1.5) == tt.float32
    assert not tt.can_cast(tt.float16, tt.int64) and tt.can_cast(tt.float64, tt.float16)


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_is_one_object(name: str) -> None:
    dtype = getattr(tt, name)
    for again in (pickle.loads(pickle.dumps(dtype)), copy.deepcopy(dtype), copy.copy(dtype)):
        assert again is dtype
    assert tt.zeros(1, dtype=dtype).dtype is dtype
    assert repr(dtype) == f"tinytensor.{name}"
    assert {dtype: 1}[dtype] == 1


@pytest.mark.parametrize("name", NAMES)
def test_numpy_dtypes_are_equal(name: str) -> None:
    dtype = getattr(tt, name)
    assert dtype == np.dtype(name) and dtype == np.dtype(name).type
    assert np.dtype(dtype) == np.dtype(name)
    assert tt.zeros(2, dtype=np.dtype(name)).dtype is dtype
    assert dtype != None and dtype != "float32" and dtype != np.complex64  # noqa: E711
    assert [n for n in NAMES if getattr(tt, n) == dtype] == [name]


def test_short_names_and_flags() -> None:
    assert (tt.half, tt.float, tt.double) == (tt.float16, tt.float32, tt.float64)
    assert (tt.short, tt.int, tt.long) == (tt.int16, tt.int32, tt.int64)
    assert [n for n in NAMES if getattr(tt, n).is_floating_point] == NAMES[6:]
    assert [n for n in NAMES if not getattr(tt, n).is_signed] == NAMES[:2]
    assert not any(getattr(tt, n).is_complex for n in NAMES)
    assert [getattr(tt, n).itemsize for n in NAMES] == [1, 1, 1, 2, 4, 8, 2, 4, 8]


@pytest.mark.parametrize("name", NAMES)
def test_limits_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    kinds = {"float16": "finfo", "float32": "finfo", "float64": "finfo"}
    limits = kinds.get(name, "iinfo")
    ours = getattr(tt, limits)
    if name == "bool":
        with pytest.raises(TypeError, match="iinfo: got bool, expected an integer dtype"):
            ours(tt.bool)
        return
    found, expected = ours(getattr(tt, name)), getattr(torch, limits)(getattr(torch, name))
    for field in ("bits", "max", "min", "dtype"):
        assert getattr(found, field) == getattr(expected, field)
    if limits == "finfo":
        for field in ("eps", "tiny", "smallest_normal", "resolution"):
            assert getattr(found, field) == pytest.approx(getattr(expected, field), rel=1e-12)
    assert repr(found) == str(found) == repr(expected)
    assert found == ours(getattr(tt, name)) and hash(found) == hash(ours(getattr(tt, name)))


def test_what_is_no_dtype() -> None:
    for wrong in ("quux", np.longdouble, "U3", object, np.uint16):
        with pytest.raises(TypeError, match="dtype: got .* expected one of bool, uint8"):
            tt.zeros(2, dtype=wrong)
    with pytest.raises(TypeError, match="finfo: got int8"):
        tt.finfo(tt.int8)


FILLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "full": lambda lib, dtype, v: lib.full((1,), v, dtype=dtype),
    "new_full": lambda lib, dtype, v: lib.ones(1, dtype=dtype).new_full((1,), v),
    "fill_": lambda lib, dtype, v: lib.ones(1, dtype=dtype).fill_(v),
    "masked_fill": lambda lib, dtype, v: lib.ones(1, dtype=dtype).masked_fill(
        lib.ones(1, dtype=lib.bool), v
    ),
    "tensor": lambda lib, dtype, v: lib.tensor([v], dtype=dtype),
}


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int64", "float32"])
@pytest.mark.parametrize("fill", FILLS)
def test_numbers_that_do_not_fit(fill: str, name: str) -> None:
    """They wrap, become inf or are refused, each where PyTorch does so."""
    torch = pytest.importorskip("torch")
    for value in (-1, 127, 128, 255, 300, -300, 2**40, 2.7, 1e5, 1e39, math.inf, math.nan):
        expected = refused = None
        try:
            expected = FILLS[fill](torch, getattr(torch, name), value).tolist()
        except RuntimeError:
            refused = RuntimeError
        if refused is None:
            found = FILLS[fill](tt, getattr(tt, name), value).tolist()
            np.testing.assert_array_equal(found, expected)
        else:
            with pytest.raises(
                (RuntimeError, ValueError), match=f"{fill.removeprefix('new_')}: .*range"
            ):
                FILLS[fill](tt, getattr(tt, name), value)


def test_too_large_for_half_is_inf() -> None:
    assert tt.full((1,), -1e9, dtype=tt.float16).item() == -math.inf
    assert tt.zeros(1).half().fill_(65504).item() == 65504


QUIET: dict[str, Callable[[], Any]] = {
    "in place": lambda: tt.ones(2).add_(tt.full((2,), 1e300, dtype=tt.float64)),
    "tensor": lambda: tt.tensor([1e300]),
    "as_tensor": lambda: tt.as_tensor(np.array([1e300, np.nan]), dtype=tt.int32),
    "new_tensor": lambda: tt.ones(1).new_tensor([1e300]),
    "half": lambda: tt.tensor([1e30]).half(),
    "setitem": lambda: tt.ones(2, dtype=tt.int64).copy_(tt.tensor([math.nan, 1])),
    "repr": lambda: repr(tt.tensor([1e308, 5e-324, math.nan], dtype=tt.float64)),
    "html": lambda: tt.tensor([1e308, 5e-324], dtype=tt.float64)._repr_html_(),
}


@pytest.mark.parametrize("name", QUIET)
def test_numpy_does_not_warn(name: str) -> None:
    """Warnings are errors in this test suite, and with `python -W error`."""
    QUIET[name]()
