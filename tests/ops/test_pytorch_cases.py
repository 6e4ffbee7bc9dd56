"""Cases from PyTorch's own tests of ops that gave other numbers or errors here: both must agree."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch: Any = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")

NAN, INF = float("nan"), float("inf")
LARGEST = float(np.finfo(np.float32).max)


def outcome(library: Any, case: Any) -> Any:
    """The results of a case as lists, or the type of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = case(library)
        except Exception as error:
            return error
    found = found if isinstance(found, (tuple, list)) else [found]
    return [
        (str(x.dtype).split(".")[1], tuple(x.shape), x.detach().tolist())
        if hasattr(x, "tolist")
        else x
        for x in found
    ]


def assert_agree(case: Any) -> None:
    ours, theirs = outcome(tt, case), outcome(torch, case)
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), f"computed {ours}, PyTorch raises {theirs!r}"
        assert isinstance(ours, type(theirs)), f"{ours!r} for {theirs!r}"
        return
    assert not isinstance(ours, Exception), repr(ours)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if not isinstance(b, tuple):
            assert a == b
            continue
        assert a[:2] == b[:2]
        np.testing.assert_allclose(np.array(a[2]), np.array(b[2]), rtol=1e-6, atol=1e-6)


def with_nan(library: Any, dtype: str, place: int) -> Any:
    x = library.tensor([1.0, 5.0, -3.0, 2.0, 0.0]).to(getattr(library, dtype))
    x[place] = NAN
    return x


ON_NAN = {
    "kept": lambda L, x: x,
    "isnan": lambda L, x: L.isnan(x),
    "equal to itself": lambda L, x: x == x,
    "max": lambda L, x: L.max(x, dim=0),
    "amin": lambda L, x: L.amin(x),
    "argmin": lambda L, x: L.argmin(x),
    "aminmax": lambda L, x: L.aminmax(x),
    "median": lambda L, x: L.median(x),
    "nanmedian": lambda L, x: L.nanmedian(x),
    "cummin": lambda L, x: L.cummin(x, 0),
    "sort": lambda L, x: L.sort(x),
    "nansum": lambda L, x: L.nansum(x),
    "nanmean": lambda L, x: L.nanmean(x),
    "clamp": lambda L, x: L.clamp(x, 0, 1),
    "fmax": lambda L, x: L.fmax(x, L.zeros_like(x)),
    "relu": lambda L, x: L.relu(x),
    "nan_to_num": lambda L, x: L.nan_to_num(x),
    "searchsorted": lambda L, x: L.searchsorted(L.tensor([0.0, 1, 2]).to(x.dtype), x),
    "searchsorted of rows": lambda L, x: L.searchsorted(
        L.tensor([[0.0, 1, 2]]).to(x.dtype), x[None], right=True
    ),
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("name", ON_NAN)
def test_nan_written_into_a_tensor(dtype: str, name: str) -> None:
    for place in (0, 2, 4):
        assert_agree(lambda L, place=place: ON_NAN[name](L, with_nan(L, dtype, place)))


@pytest.mark.parametrize("value", [NAN, INF, -INF, 3e38])
def test_bfloat16_takes_every_number(value: float) -> None:
    assert_agree(lambda L: L.full((2,), value, dtype=L.bfloat16))
    assert_agree(lambda L: L.zeros(2, dtype=L.bfloat16).fill_(value))


def pair(L: Any, dtype: str) -> Any:
    rng = np.random.default_rng(0)
    return [L.tensor(rng.standard_normal(40)).to(getattr(L, dtype)) for _ in range(2)]


def long_list(L: Any, length: int) -> Any:
    return L.arange(50)[[range(i, i + 3) for i in range(length)]]


def written(L: Any, index: Any, value: Any) -> Any:
    x = L.ones(3, dtype=L.float64)
    x[index(L)] = value(L)
    return x


CASES = {
    "a list of 32 lists is one index": lambda L: long_list(L, 32),
    "a list of 40 lists is one index": lambda L: long_list(L, 40),
    "a list of 31 lists is a tuple": lambda L: long_list(L, 31),
    "a list of 2 lists is a tuple": lambda L: L.arange(6).reshape(2, 3)[[[0, 1], [1, 2]]],
    "uint8 mask": lambda L: L.arange(3)[L.tensor([1, 0, 1], dtype=L.uint8)],
    "written by index, another dtype": lambda L: written(
        L, lambda L: L.tensor([0]), lambda L: L.tensor(2)
    ),
    "written by list, another dtype": lambda L: written(
        L, lambda L: [0, 1], lambda L: L.tensor([2.0, 3.0])
    ),
    "written by index, a number": lambda L: written(L, lambda L: L.tensor([0]), lambda L: 2),
    "written by mask, another dtype": lambda L: written(
        L, lambda L: L.tensor([True, True, False]), lambda L: L.tensor([2, 3])
    ),
    "written by mask, one element": lambda L: written(
        L, lambda L: L.tensor([True, True, False]), lambda L: L.tensor([2])
    ),
    "written by slice, another dtype": lambda L: written(
        L, lambda L: slice(0, 2), lambda L: L.tensor([2, 3])
    ),
    "unravel_index of floats": lambda L: L.unravel_index(L.tensor(0.5), (2, 2)),
    "unravel_index with a shape tensor": lambda L: L.unravel_index(
        L.tensor([1]), L.tensor([1, 2, 3])
    ),
    "unravel_index of nothing": lambda L: L.unravel_index(
        L.zeros(0, dtype=L.int64), (2, 0, 3)
    ),
    "searchsorted in unsorted rows": lambda L: L.searchsorted(
        L.tensor([[1.0, 1], [2, 4], [3, 2], [6, 1]]), L.tensor([[1.0], [4], [2], [3]])
    ),
    "searchsorted of NaN in rows": lambda L: L.searchsorted(
        L.tensor([[0.0, 1, 2], [0, 1, NAN]]), L.tensor([[NAN, 1], [2, NAN]])
    ),
    "searchsorted in empty rows": lambda L: L.searchsorted(L.zeros(2, 0), L.zeros(2, 3)),
    "searchsorted of nothing": lambda L: L.searchsorted(L.zeros(2, 3), L.zeros(2, 0)),
    "nansum as int32": lambda L: L.nansum(
        L.tensor([[1.7, NAN], [2, 3.6]]), dim=1, dtype=L.int32
    ),
    "nansum as int64": lambda L: L.nansum(L.tensor([[1.7, NAN], [2, 3.6]]), dtype=L.int64),
    "nansum as float64": lambda L: L.nansum(L.tensor([[1.5, NAN], [2, 3]]), dtype=L.float64),
    "nanmean as int64": lambda L: L.nanmean(L.tensor([1.0, NAN]), dtype=L.int64),
    "histc of the largest number": lambda L: L.histc(L.tensor([LARGEST] * 3), 4),
    "histc of the lowest number": lambda L: L.histc(L.tensor([-LARGEST] * 3), 4),
    "histc of equal large numbers": lambda L: L.histc(L.tensor([1e38] * 3), 5),
    "histc of equal numbers": lambda L: L.histc(L.tensor([3.0] * 3), 4),
    "histc of infinity": lambda L: L.histc(L.tensor([INF, 1.0]), 4),
    "histc of NaN": lambda L: L.histc(L.tensor([NAN, 1.0]), 4),
    "histc up to NaN": lambda L: L.histc(L.tensor([1.0]), 4, 0, NAN),
    "pdist of NaN, p = 0": lambda L: L.nn.functional.pdist(L.tensor([[NAN, 0.0], [0, 1]]), 0),
    "pdist of ∞ − ∞, p = 0": lambda L: L.nn.functional.pdist(L.tensor([[INF, 0.0], [INF, 1]]), 0),
    "pdist of ∞, p = 0": lambda L: L.nn.functional.pdist(L.tensor([[INF, 0.0], [0, 1], [1, 1]]), 0),
    "cdist of NaN, p = 0": lambda L: L.cdist(L.tensor([[NAN, 0.0], [0, 1]]), L.zeros(3, 2), 0.0),
    "nextafter of bfloat16": lambda L: L.nextafter(*pair(L, "bfloat16")),
    "nextafter of float16": lambda L: L.nextafter(*pair(L, "float16")),
    "nextafter of float32": lambda L: L.nextafter(*pair(L, "float32")),
    "fmod of bfloat16 by a number": lambda L: L.fmod(pair(L, "bfloat16")[0], 0.3),
    "fmod of float16 by a number": lambda L: L.fmod(pair(L, "float16")[0], 0.3),
    "hardshrink of bfloat16 at lambd": lambda L: L.nn.functional.hardshrink(
        L.tensor([-0.57, 0.57, 0.3, 0.8]).to(L.bfloat16), 0.57
    ),
    "hardshrink of float16 at lambd": lambda L: L.nn.functional.hardshrink(
        L.tensor([-0.57, 0.57, 0.3, 0.8]).half(), 0.57
    ),
    "hardshrink of float32 at lambd": lambda L: L.nn.functional.hardshrink(
        L.tensor([-0.1, 0.1, 0.3]), 0.1
    ),
    "triu, far below": lambda L: L.triu(L.ones(3, 4), -(2**63)),
    "triu, far above": lambda L: L.triu(L.ones(3, 4), 2**63 - 1),
    "tril, far below": lambda L: L.tril(L.ones(3, 4), -(2**63)),
    "tril, far above": lambda L: L.tril(L.ones(4, 3), 2**63 - 1),
    "triu at the corners": lambda L: [L.triu(L.ones(3, 4), k) for k in (-3, -2, 3, 4, 5)],
    "tril at the corners": lambda L: [L.tril(L.ones(3, 4), k) for k in (-4, -3, -2, 3, 4)],
    "sort with stable=None": lambda L: L.sort(L.tensor([2, 1]), stable=None),
    "argsort with stable=None": lambda L: L.argsort(L.tensor([2, 1]), stable=None),
    "topk with a flag for dim": lambda L: L.ones(3, 2).topk(2, True),
    "view of nothing, smaller dtype": lambda L: L.zeros(0, 5, 64).view(L.uint8),
    "view of nothing, larger dtype": lambda L: L.zeros(0, 5, 64).view(L.float64),
    "view of nothing, odd size": lambda L: L.zeros(0, 5, 3).view(L.float64),
    "view of an empty last dimension": lambda L: L.zeros(2, 0).view(L.int16),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    assert_agree(CASES[name])


def test_uint8_mask_warns() -> None:
    with pytest.warns(UserWarning, match="uint8"):
        tt.arange(3)[tt.tensor([1, 0, 1], dtype=tt.uint8)]


@pytest.mark.parametrize("by_frequency", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_nan_reaches_the_padding_row(by_frequency: bool, dtype: str) -> None:
    def case(L: Any) -> Any:
        table = L.ones(3, 2, dtype=getattr(L, dtype), requires_grad=True)
        rows = L.tensor([[1, 1], [0, 2], [0, 1]])
        y = L.nn.functional.embedding(rows, table, padding_idx=1, scale_grad_by_freq=by_frequency)
        factor = L.tensor([[NAN, NAN], [1, 2], [3, INF]], dtype=y.dtype)
        (y * factor[..., None]).sum().backward()
        return table.grad

    assert_agree(case)


@pytest.mark.parametrize("padding_idx", [-5, -4, 3, 4])
def test_embedding_bag_padding_out_of_range(padding_idx: int) -> None:
    assert_agree(
        lambda L: L.nn.functional.embedding_bag(
            L.tensor([[0, 1]]), L.ones(4, 2), padding_idx=padding_idx
        )
    )


class Other:
    """A type that knows what to do with a tensor on its left."""

    def __radd__(self, left: Any) -> str:
        return "its own"

    __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __radd__
    __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = __rmatmul__ = __radd__


OPERATORS = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift",
    "rshift", "matmul", "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand",
    "ior", "ixor", "ilshift", "irshift", "imatmul",
]  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_leave_unknown_types_to_the_other_side(name: str) -> None:
    function = getattr(operator, name)
    assert function(tt.ones(2, dtype=tt.int64), Other()) == "its own"
    assert function(torch.ones(2, dtype=torch.int64), Other()) == "its own"
    for library in (tt, torch):
        with pytest.raises(TypeError):
            function(library.ones(2, dtype=library.int64), object())
