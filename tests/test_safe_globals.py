"""add_safe_globals: classes that `load` makes objects of although weights_only is True."""

from __future__ import annotations

import importlib
import io
import os
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tinytensor.serialization import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)

import tinytensor as tt


class Options:
    def __init__(self, width: int):
        self.width = width

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Options) and self.width == other.width


class Fields:
    __slots__ = ("a",)


class Command:
    """Pickles as a call of os.getcwd."""

    def __reduce__(self) -> Any:
        return os.getcwd, ()


LIBRARIES = [tt, pytest.param("torch", id="torch")]


@pytest.fixture(autouse=True)
def nothing_allowed() -> Iterator[None]:
    clear_safe_globals()
    yield
    clear_safe_globals()


def library(named: Any) -> Any:
    return pytest.importorskip("torch") if named == "torch" else named


def saved(L: Any, obj: Any) -> io.BytesIO:
    file = io.BytesIO()
    L.save(obj, file)
    file.seek(0)
    return file


@pytest.mark.parametrize("named", LIBRARIES)
def test_a_class_must_be_allowed(named: Any) -> None:
    L = library(named)
    state = {"options": Options(3), "weight": L.ones(2)}
    with pytest.raises(pickle.UnpicklingError, match="Options"):
        L.load(saved(L, state))
    with L.serialization.safe_globals([Options]):
        found = L.load(saved(L, state))
        assert found["options"] == Options(3) and found["weight"].tolist() == [1, 1]
        assert Options in L.serialization.get_safe_globals()
    with pytest.raises(pickle.UnpicklingError, match="Options"):
        L.load(saved(L, state))
    assert Options not in L.serialization.get_safe_globals()


@pytest.mark.parametrize("named", LIBRARIES)
def test_allowed_until_cleared(named: Any) -> None:
    L = library(named)
    L.serialization.add_safe_globals([Options])
    assert L.load(saved(L, [Options(1)]), weights_only=True) == [Options(1)]
    L.serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        L.load(saved(L, [Options(1)]), weights_only=True)


def test_by_another_name() -> None:
    """A class that moved: files still have its old name."""
    moved = saved(tt, [Options(2)]).getvalue().replace(b"Options", b"OptionZ")
    with safe_globals([(Options, f"{Options.__module__}.OptionZ")]):
        assert tt.load(io.BytesIO(moved)) == [Options(2)]


@pytest.mark.parametrize("named", LIBRARIES)
def test_functions_of_the_system_are_never_allowed(named: Any) -> None:
    L = library(named)
    with L.serialization.safe_globals([os.getcwd]), pytest.raises(pickle.UnpicklingError):
        L.load(saved(L, [Command()]))


def test_slots() -> None:
    fields = Fields()
    fields.a = 5
    add_safe_globals([Fields])
    assert tt.load(saved(tt, [fields]))[0].a == 5


@pytest.mark.parametrize("entry", [3, "os.system", (Options, 3)])
def test_wrong_entries(entry: Any) -> None:
    with pytest.raises(TypeError, match="add_safe_globals: got"):
        add_safe_globals([entry])
    assert get_safe_globals() == []


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "int64", "bool"])
def test_tensors_beside_allowed_objects(dtype: str) -> None:
    x = tt.tensor([[1, 0], [3, 4], [5, 6]]).to(getattr(tt, dtype))
    with safe_globals([Options]):
        found = tt.load(saved(tt, [Options(1), x, x.t(), x[:0]]))
    assert found[0] == Options(1)
    for a, b in zip(found[1:], [x, x.t(), x[:0]], strict=True):
        assert type(a) is tt.Tensor and a.dtype == b.dtype and a.shape == b.shape
        assert a.tolist() == b.tolist()
    found[1][0] = 7  # it has its own memory
    assert found[2][0, 0].item() == 1


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_tensors_need_no_permission(dtype: str) -> None:
    z = tt.tensor([1 + 2j, 3j], dtype=getattr(tt, dtype), requires_grad=True)
    found = tt.load(saved(tt, {"z": z, "step": 3}))
    assert found["step"] == 3 and found["z"].tolist() == z.tolist()
    assert found["z"].dtype == z.dtype


@pytest.mark.parametrize("order", ["<", ">"])
def test_byte_order(order: str) -> None:
    from tinytensor.interop import rebuild

    array = np.array([1.0, -2.5, 1e-3], dtype=f"{order}f8")
    content = pickle.dumps([Attack(rebuild, tt.Tensor, array, False)], 4)
    assert tt.load(io.BytesIO(content))[0].tolist() == [1.0, -2.5, 1e-3]


def test_arrays_must_be_allowed() -> None:
    """As in PyTorch. Whoever trusts the file, or allows NumPy's functions, gets them whole."""
    array = np.array([1, 2], dtype=">i4")
    content = pickle.dumps({"a": array, "w": tt.ones(2, dtype=tt.complex64)}, 4)
    with pytest.raises(pickle.UnpicklingError, match="has a numpy.ndarray, and loading it can run"):
        tt.load(io.BytesIO(content))
    for found in (tt.load(io.BytesIO(content), weights_only=False), _with_numpy_allowed(content)):
        assert type(found["a"]) is np.ndarray and found["a"].tolist() == [1, 2]
        assert found["a"].dtype == np.int32 and found["w"].tolist() == [1, 1]


def _with_numpy_allowed(content: bytes) -> Any:
    reconstruct = array_module()._reconstruct
    names = [(reconstruct, f"{package}.multiarray._reconstruct") for package in PACKAGES]
    with safe_globals([*names, np.ndarray, np.dtype]):
        return tt.load(io.BytesIO(content))


def array_module() -> Any:
    return importlib.import_module("numpy._core.multiarray")


PACKAGES = ("numpy._core", "numpy.core")


class Attack:
    """Pickles as a call of a function with arguments."""

    def __init__(self, function: Any, *args: Any):
        self.call = function, args

    def __reduce__(self) -> Any:
        return self.call


def test_arrays_of_objects_are_refused() -> None:
    content = pickle.dumps([np.array([{}, None], dtype=object)], 4)
    with pytest.raises(RuntimeError, match="damaged"):
        tt.load(io.BytesIO(content))
    with pytest.raises(RuntimeError, match="damaged"):
        tt.load(io.BytesIO(pickle.dumps([Attack(np.dtype, "O")], 4)))
    from tinytensor.interop import rebuild

    with pytest.raises(RuntimeError, match="damaged"):
        tt.load(io.BytesIO(pickle.dumps([Attack(rebuild, tt.Tensor, 3, True)], 4)))
