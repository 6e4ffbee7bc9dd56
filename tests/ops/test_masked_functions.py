"""tinytensor.masked: dtypes, rows of which nothing is kept, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import masked

KEEP = [[True, False, True], [True, True, False]]


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "argmax", "argmin", "var", "std"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_integers(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    values = [[3, 1, 2], [5, 9, 4]]
    theirs = getattr(torch.masked, name)(
        torch.tensor(values, dtype=getattr(torch, dtype)), 1, mask=torch.tensor(KEEP)
    )
    ours = getattr(masked, name)(
        tt.tensor(values, dtype=getattr(tt, dtype)), 1, mask=tt.tensor(KEEP)
    )
    assert f"torch.{ours.dtype.name}" == str(theirs.dtype)
    assert np.allclose(ours.numpy(), theirs.numpy())


def test_rows_of_which_nothing_is_kept() -> None:
    x, nothing = tt.ones(2, 3), tt.zeros(3, dtype=tt.bool)
    assert masked.sum(x, 1, mask=nothing).tolist() == [0, 0]
    assert masked.prod(x, 1, mask=nothing).tolist() == [1, 1]
    assert masked.amax(x, 1, mask=nothing).tolist() == [-math.inf] * 2
    assert masked.amin(x, 1, mask=nothing).tolist() == [math.inf] * 2
    for name in ("mean", "median", "var", "softmax"):
        assert getattr(masked, name)(x, 1, mask=nothing).isnan().all()


def test_complex_variance() -> None:
    torch = pytest.importorskip("torch")
    values = np.array([[1 + 2j, 3 - 1j, 0.5j], [2, 1j, -1 - 1j]])
    theirs = torch.masked.var(torch.tensor(values), 1, mask=torch.tensor(KEEP))
    ours = masked.var(tt.tensor(values), 1, mask=tt.tensor(KEEP))
    assert np.allclose(ours.numpy(), theirs.numpy())


x, keep = tt.ones(2, 3), tt.ones(2, 3, dtype=tt.bool)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: masked.sum([1.0]), TypeError, "masked.sum"),
        (lambda: masked.sum(x, 2, mask=keep), IndexError, "got dim 2, expected -2 to 1"),
        (lambda: masked.sum(x, (0, 0), mask=keep), RuntimeError, "multiple times"),
        (lambda: masked.sum(x[0], mask=keep), IndexError, "at most as many dimensions"),
        (lambda: masked.sum(x, mask=keep[:, :2]), RuntimeError, "does not broadcast"),
        (lambda: masked.mean(x.long(), mask=keep), ValueError, "floating point"),
        (lambda: masked.amax(keep, mask=keep), NotImplementedError, "bool"),
        (lambda: masked.median(x.long(), 1, mask=~keep), ValueError, "no NaN"),
        (lambda: masked.norm(x, None), TypeError, "ord = None"),
        (lambda: masked.var(x, 1, True, correction=1), AssertionError, "one of them"),
    ],
)
def test_refused(call: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()
