"""Quantiles and their kin beyond the table: what they refuse."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tinytensor as tt

X = tt.zeros(3, 4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tt.quantile(X, 1.5), RuntimeError, r"quantile: got q = \[1.5\], expected"),
        (lambda: tt.quantile(X.long(), 0.5), RuntimeError, "quantile: .*int64.*floating point"),
        (lambda: tt.quantile(X, 0.5, dim=2), IndexError, "quantile: dim 2 is out of range"),
        (lambda: tt.quantile(X, 0.5, interpolation="cubic"), RuntimeError, "quantile: .*'cubic'"),
        (lambda: tt.mode(tt.zeros(2, 0)), IndexError, r"mode: .*\(2, 0\), whose dim 1 is empty"),
        (lambda: tt.cov(tt.zeros(2, 3, 4)), RuntimeError, r"cov: got shape \(2, 3, 4\)"),
    ],
)
def test_errors(call: Callable, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_results_have_names() -> None:
    found = tt.tensor([1, 2, 2]).mode()
    assert (found.values.item(), found.indices.item()) == (2, 2)
    assert repr(found).startswith("tinytensor.return_types.mode(\nvalues=tensor(2)")
