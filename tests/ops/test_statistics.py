"""Quantiles and their kin beyond the table: what they refuse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
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
        (lambda: tt.quantile(X, tt.ones(1, 1)), RuntimeError, r"quantile: q is .*\(1, 1\)"),
        (lambda: tt.quantile(X, tt.ones(1).double()), RuntimeError, "quantile: q is float64"),
        (lambda: tt.quantile(X, [0.5]), TypeError, "quantile: got q of type list"),
        (lambda: tt.quantile(tt.zeros(0, 3), 0.5), RuntimeError, r"quantile: .*\(0, 3\)"),
        (lambda: tt.cov(tt.zeros(2, 3, 4)), RuntimeError, r"cov: got shape \(2, 3, 4\)"),
        (lambda: tt.cov(X > 0), RuntimeError, "cov: got a bool tensor"),
        (lambda: tt.cov(X, fweights=tt.ones(4)), RuntimeError, "cov: fweights is float32"),
        (lambda: tt.cov(X, aweights=tt.arange(4)), RuntimeError, "cov: aweights is int64"),
        (lambda: tt.cov(X, fweights=tt.arange(3)), RuntimeError, "cov: fweights .*expected 4"),
        (lambda: tt.cov(X, fweights=-tt.arange(4)), RuntimeError, "cov: fweights has a negative"),
        (lambda: tt.cov(X, aweights=tt.zeros(4)), RuntimeError, "cov: the weights sum to 0"),
        (lambda: tt.histogram(X.long(), 3), NotImplementedError, "histogram: got int64"),
        (lambda: tt.histogram(X, 0), RuntimeError, "histogram: got bins = 0"),
        (lambda: tt.histogram(X, 2, range=(2, 1)), RuntimeError, r"histogram: got range \(2, 1\)"),
        (lambda: tt.histogram(X / 0, 2), RuntimeError, "histogram: the range from nan"),
        (lambda: tt.histogram(X, tt.ones(2, 2)), RuntimeError, r"histogram: bins is .*\(2, 2\)"),
        (lambda: tt.histogram(X, tt.ones(2), range=(0, 1)), TypeError, "histogram: .* one of them"),
        (lambda: tt.histogram(X, 2, weight=X[0]), RuntimeError, r"histogram: weight is .*\(4,\)"),
        (lambda: tt.searchsorted(X[0], 1, sorter=tt.arange(3)), RuntimeError, "sorter is int64 of"),
        (lambda: tt.searchsorted(X[0], 1, sorter=X[0]), RuntimeError, "sorter is float32"),
        (lambda: tt.searchsorted(X[0], 1, sorter=tt.arange(4) + 1), RuntimeError, "out of range"),
    ],
)
def test_errors(call: Callable, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_edges_and_counts_equal_pytorchs(dtype: str) -> None:
    """In float32 also for values on the edges, which PyTorch computes with fused products."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for bins in (1, 2, 3, 10, 100, 37):
        low, high = np.sort(rng.uniform(-3, 3, 2)).tolist()
        _, edges = torch.histogram(torch.zeros(1), bins, range=(low, high))
        on_edges = edges.numpy() if dtype == "float32" else []
        x = np.concatenate([on_edges, rng.uniform(-3, 3, 50)]).astype(dtype)
        ours = tt.histogram(tt.tensor(x), bins, range=(low, high))
        theirs = torch.histogram(torch.tensor(x), bins, range=(low, high))
        rtol = 0 if dtype == "float32" else 1e-15
        np.testing.assert_allclose(ours.bin_edges.numpy(), theirs.bin_edges.numpy(), rtol, 1e-15)
        assert ours.hist.tolist() == theirs.hist.tolist()


@pytest.mark.filterwarnings("ignore:cov")
def test_too_few_observations_are_nan_as_in_pytorch() -> None:
    assert np.isnan(tt.cov(tt.arange(4.0), fweights=tt.tensor([1, 0, 0, 0])).item())
    assert np.isnan(tt.cov(tt.zeros(2, 1)).numpy()).all()


def test_results_have_names() -> None:
    found = tt.tensor([1, 2, 2]).mode()
    assert (found.values.item(), found.indices.item()) == (2, 2)
    assert repr(found).startswith("tinytensor.return_types.mode(\nvalues=tensor(2)")
