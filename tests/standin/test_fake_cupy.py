"""The stand-in is as strict as cupy: it refuses what cupy refuses, and has only its names."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from . import fake_cupy as cp
from .names import NAMES

X = np.ones((2, 3))

REFUSALS = [
    # implicit conversion
    ("np.asarray(x)", TypeError, "Implicit conversion to a NumPy array is not allowed"),
    ("np.array(x)", TypeError, "Implicit conversion to a NumPy array is not allowed"),
    ("np.array([x, x])", TypeError, "Implicit conversion"),
    ("np.exp(x)", TypeError, "Implicit conversion"),
    ("np.add(x, x)", TypeError, "Implicit conversion"),
    ("np.sum(x)", TypeError, "Implicit conversion"),
    ("np.concatenate([x, x])", TypeError, "Implicit conversion"),
    ("np.where(x > 0, 1, 0)", TypeError, "Implicit conversion"),
    ("np.ones((2, 3)).__setitem__(..., x)", (TypeError, ValueError), ""),
    # mixing with NumPy arrays
    ("x + n", TypeError, "Unsupported type <class 'numpy.ndarray'>"),
    ("n + x", TypeError, "Unsupported type <class 'numpy.ndarray'>"),
    ("x.__iadd__(n)", TypeError, "Unsupported type <class 'numpy.ndarray'>"),
    ("x > n", TypeError, "Unsupported type <class 'numpy.ndarray'>"),
    ("x @ n.T", TypeError, "expected cupy.ndarray"),
    ("n.T @ x", TypeError, ""),
    ("cp.exp(n)", TypeError, "Unsupported type <class 'numpy.ndarray'>"),
    ("cp.add(x, n)", TypeError, "Unsupported type <class 'numpy.ndarray'>"),
    ("cp.add(x, x, out=n)", TypeError, "output arguments must be arrays"),
    ("cp.sum(n)", TypeError, "Unsupported type <class 'numpy.ndarray'>"),
    ("cp.concatenate([x, n])", TypeError, "Unsupported type <class 'numpy.ndarray'>"),
    ("cp.where(x > 0, x, n)", TypeError, "Unsupported type <class 'numpy.ndarray'>"),
    ("cp.where(n > 0, x, x)", TypeError, "Unsupported type <class 'numpy.ndarray'>"),
    ("cp.einsum('ij->i', n)", TypeError, "Unsupported type <class 'numpy.ndarray'>"),
    ("x.__setitem__(0, n[0])", ValueError, "non-scalar numpy.ndarray cannot be used"),
    ("x.__setitem__(..., n)", ValueError, "non-scalar numpy.ndarray cannot be used"),
    ("x.fill(n)", ValueError, "non-scalar numpy.ndarray cannot be used"),
    # lists, which NumPy takes for arrays
    ("cp.exp([1.0, 2.0])", TypeError, "Unsupported type <class 'list'>"),
    ("x + [1, 2, 3]", TypeError, "Unsupported type <class 'list'>"),
    ("cp.sum([1, 2])", TypeError, "Unsupported type <class 'list'>"),
    ("cp.where(True, x, x)", TypeError, "Unsupported type <class 'bool'>"),
    ("x + None", TypeError, "Unsupported type <class 'NoneType'>"),
    # names that cupy does not have
    ("cp.trapezoidal", AttributeError, "module 'cupy' has no attribute 'trapezoidal'"),
    ("cp.errstate_of", AttributeError, "module 'cupy' has no attribute 'errstate_of'"),
    ("cp.np", AttributeError, "module 'cupy' has no attribute 'np'"),
    ("cp.nditer", AttributeError, "module 'cupy' has no attribute 'nditer'"),
    ("x.flags.writeable", AttributeError, "writeable"),
    ("x.ctypes", AttributeError, "'ndarray' object has no attribute 'ctypes'"),
    ("x.resize((3, 2))", AttributeError, "'ndarray' object has no attribute 'resize'"),
    ("setattr(x, 'note', 1)", AttributeError, "'ndarray' object has no attribute 'note'"),
    ("cp.random.Generator.normal", AttributeError, "normal"),
    ("cp.random.Generator.permutation", AttributeError, "permutation"),
    # arguments that cupy's functions do not take
    ("cp.sum(x, where=x > 0)", TypeError, "unexpected keyword argument 'where'"),
    ("cp.exp(x, where=x > 0)", TypeError, "Wrong arguments {'where'"),
    ("x.max(initial=0)", TypeError, "unexpected keyword argument 'initial'"),
    ("x.item(0)", TypeError, ""),
    ("cp.zeros(3, like=x)", TypeError, "unexpected keyword argument 'like'"),
    ("cp.asarray(n, device='cpu')", TypeError, "unexpected keyword argument 'device'"),
    ("cp.sort(x, kind='quicksort')", ValueError, "kind can only be None or 'stable'"),
    ("x.repeat(cp.array([1, 2]), axis=0)", ValueError, "`repeats` must be int or sequence"),
    ("cp.maximum.reduce(x)", NotImplementedError, "`cupy_maximum.reduce` is not supported"),
    ("cp.multiply.at(x, cp.array([0]), 2.0)", NotImplementedError, "`cupy_multiply.at`"),
    ("cp.add.at(cp.zeros(3, dtype=np.int64), cp.array([0]), 1)", TypeError, "only supports int32"),
    ("cp.random.default_rng(0).random(3, dtype=np.float16)", TypeError, "float32 and float64"),
    ("x[cp.array([0.5])]", IndexError, "must be of integer or boolean type"),
]


@pytest.mark.parametrize("text, error, message", REFUSALS, ids=[r[0] for r in REFUSALS])
def test_stand_in_refuses(text: str, error: type, message: str) -> None:
    scope: dict[str, Any] = {"np": np, "cp": cp, "x": cp.array(X), "n": X.copy()}
    with pytest.raises(error) as caught:
        eval(text, scope)
    assert message in str(caught.value)


def test_reductions_and_elements_are_arrays() -> None:
    x = cp.array(X)
    for y in (x.sum(), x.max(), x.mean(), cp.sum(x), x.argmax(), x.all(), x[0, 0], cp.exp(x[0, 0]),
              cp.count_nonzero(x), x[0, 0] + 1, x.dot(x.T)[0, 0], cp.allclose(x, x)):  # fmt: skip
        assert type(y) is cp.ndarray and y.shape == ()
    assert type(x.sum().item()) is float and float(x.sum()) == 6.0
    assert type(x.get()) is np.ndarray and type(cp.asnumpy(x)) is np.ndarray
    assert not np.shares_memory(x.get(), x._array)


def test_scalars_are_operands() -> None:
    x = cp.array(X.astype(np.float32))
    for y in (x + 1, 1 + x, x * 2.5, np.float32(2) * x, x / np.int64(2), x > 0.5, x**2, -x):
        assert type(y) is cp.ndarray
    assert (2.5 * x).dtype == np.float32  # a Python number is weak
    assert (np.float64(2.5) * x).dtype == np.float64  # a NumPy scalar is not


def test_views_know_their_base() -> None:
    x = cp.arange(6).reshape(2, 3)
    owner = x if x.base is None else x.base
    for view in (
        x[0],
        x[:, 1:],
        x[0, 0],
        x.T,
        x.reshape(-1),
        x.view(),
        cp.broadcast_to(x, (2, 2, 3)),
    ):
        assert view.base is owner and not view.flags.owndata
    for fresh in (x[cp.array([0])], x.copy(), x + 1, x[x > 2], x.astype(np.float32)):
        assert fresh.base is None and fresh.flags.owndata
    x[0, 0][...] = 7  # an element is a view
    assert x[0, 0].item() == 7
    assert x.flags.c_contiguous and x.T.flags.f_contiguous and not x.T.flags.c_contiguous


def test_integer_arrays_wrap_around() -> None:
    x = cp.arange(3)
    np.testing.assert_array_equal(x[cp.array([1, 3, -4])].get(), [1, 0, 2])
    np.testing.assert_array_equal(cp.take(x, cp.array([4])).get(), [1])
    with pytest.raises(IndexError):
        x[3]


def test_only_names_of_cupy_are_offered() -> None:
    offered = {name for name in vars(cp) if not name.startswith("_")}
    assert offered <= set(NAMES["module"])
    methods = {name for name in vars(cp.ndarray) if not name.startswith("_")}
    assert methods <= set(NAMES["ndarray"])
    special = {n for n in vars(cp.ndarray) if n.startswith("__")} - set(dir(object))
    assert special <= {*NAMES["ndarray special"], "__weakref__", "__annotations__", "__del__"}
    assert set(vars(cp.cuda)) <= set(NAMES["cuda"])
    assert set(vars(cp.cuda.runtime)) <= set(NAMES["cuda.runtime"])
    assert set(vars(cp.random)) <= set(NAMES["random"])
    for cls, key in ((cp.random.Generator, "random.Generator"), (cp.cuda.MemoryPool,
                     "cuda.MemoryPool"), (cp.cuda.Device, "cuda.Device"), (cp.cuda.Stream,
                     "cuda.Stream"), (cp.ufunc, "ufunc")):  # fmt: skip
        assert {n for n in vars(cls) if not n.startswith("_")} - {"SCATTER"} <= set(NAMES[key])


def test_names_are_those_of_the_installed_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    if cupy.__version__ != NAMES["version"]:
        pytest.skip(f"cupy {cupy.__version__} is installed, the list is of {NAMES['version']}")
    assert {n for n in dir(cupy) if not n.startswith("_")} == set(NAMES["module"])


def test_memory_is_counted_and_given_back() -> None:
    gc.collect()  # arrays that earlier tests left in reference cycles
    pool = cp.get_default_memory_pool()
    before = pool.used_bytes()
    x = cp.zeros(1000)
    assert pool.used_bytes() - before == 8000
    view = x[10:]
    assert pool.used_bytes() - before == 8000
    del x, view
    assert pool.used_bytes() == before
