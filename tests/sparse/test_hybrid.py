"""Hybrid tensors, (4, 3) places with a dense (2, 5) block each; which memory results share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")

PLACES = [[0, 0, 1, 3, 3, 0], [2, 0, 1, 0, 2, 2]]  # (0, 2) twice
SHAPE = (4, 3, 2, 5)
BLOCKS = np.random.default_rng(0).normal(size=(6, 2, 5))

CASES: dict[str, Callable] = {
    "to_dense": lambda t, a: a.to_dense(),
    "coalesce": lambda t, a: a.coalesce(),
    "number": lambda t, a: a * 2.5,
    "plus": lambda t, a: a + a,
    "minus": lambda t, a: a - a * 3,
    "transposed": lambda t, a: a.transpose(0, 1),
    **{
        f"sum over {dim}": lambda t, a, dim=dim: t.sparse.sum(a, dim=dim)
        for dim in (0, 1, 2, 3, -1, (0, 1), (2, 3), (0, 2), (1, 3), (0, 1, 2), (1, 2, 3))
    },
    **{
        f"{name} over {dim}": lambda t, a, name=name, dim=dim: getattr(t.sparse, name)(
            a.coalesce(), dim
        )
        for name in ("softmax", "log_softmax")
        for dim in (0, 1, 2, 3)
    },
}


def run(lib: Any, function: Callable, dtype: str) -> tuple[Any, np.ndarray, np.ndarray]:
    values = lib.tensor(BLOCKS, dtype=getattr(lib, dtype)).requires_grad_()
    result = function(lib, lib.sparse_coo_tensor(lib.tensor(PLACES), values, SHAPE))
    dense = result.to_dense() if result.layout == lib.sparse_coo else result
    (dense * dense + dense).sum().backward()
    kind = (str(result.layout).split(".")[1], tuple(result.shape), str(dense.dtype).split(".")[1])
    if kind[0] == "sparse_coo":
        kind += (result.sparse_dim(), result.dense_dim())
    return kind, np.array(dense.tolist()), np.array(values.grad.tolist())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CASES)
def test_as_pytorch(name: str, dtype: str) -> None:
    (kind, y, dv), (kind2, y2, dv2) = (run(lib, CASES[name], dtype) for lib in (tt, torch))
    assert kind == kind2
    close = 1e-12 if dtype == "float64" else 3e-6
    np.testing.assert_allclose(y, y2, rtol=close, atol=close)
    np.testing.assert_allclose(dv, dv2, rtol=close, atol=close)


@pytest.mark.parametrize("index", [(0,), (-1,), (2,), (0, 2), (3, 2), (-4, -1), (1, 0)], ids=str)
def test_indexing(index: tuple) -> None:
    """The same element and gradients as of the dense tensor; PyTorch has no such gradients."""
    found = []
    for lib, dense in ((tt, False), (tt, True), (torch, False)):
        values = lib.tensor(BLOCKS).requires_grad_(lib is tt)
        a = lib.sparse_coo_tensor(lib.tensor(PLACES), values, SHAPE)
        a = a.to_dense() if dense else a
        for i in index:
            a = a[i]
        a = a.to_dense() if a.layout == lib.sparse_coo else a
        if lib is tt:
            (a * a + a).sum().backward()
        found.append((np.array(a.tolist()), None if lib is torch else values.grad.numpy()))
    (y, dv), (y2, dv2), (y3, _) = found
    np.testing.assert_allclose(y, y2)
    np.testing.assert_allclose(dv, dv2)
    np.testing.assert_allclose(y, y3)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_of_large_numbers(name: str, dim: int) -> None:
    """The largest number is subtracted first, or exp would overflow."""
    found = []
    for lib in (tt, torch):
        values = lib.tensor([1000.0, 999.0, -1000.0, 800.0, 1.0])
        places = lib.tensor([[0, 0, 1, 1, 2], [0, 1, 0, 1, 0]])
        a = lib.sparse_coo_tensor(places, values, (3, 2)).coalesce()
        found.append(np.array(getattr(lib.sparse, name)(a, dim).to_dense().tolist()))
    assert np.isfinite(found[0]).all()
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-7)


# ------------------------------------------------------------------------------------------
# Shared memory
# ------------------------------------------------------------------------------------------

SHARING: dict[str, Callable] = {
    "clone": lambda a: a.clone(),
    "detach": lambda a: a.detach(),
    "to the same dtype": lambda a: a.to(a.dtype),
    "to another dtype": lambda a: a.double(),
    "times 1": lambda a: a * 1,
    "divided by 1": lambda a: a / 1,
    "negative": lambda a: -a,
    "transposed": lambda a: a.transpose(0, 1),
    "to COO": lambda a: a.to_sparse(),
    "to CSR": lambda a: a.to_sparse_csr(),
}


def parts(a: Any) -> list[Any]:
    """The values, and the tensors that say where they are."""
    if str(a.layout).endswith("sparse_coo"):
        return [a._values(), a._indices()]
    if str(a.layout).endswith("sparse_csr"):
        return [a.values(), a.crow_indices(), a.col_indices()]
    return [a.values(), a.ccol_indices(), a.row_indices()]


def shared(lib: Any, function: Callable, csr: bool) -> list[bool]:
    """Whether a write into the values, and into the positions, of a result changes the input."""
    places, values = lib.tensor([[0, 1, 3], [2, 0, 1]]), lib.tensor([1.0, 2.0, 3.0])
    a = lib.sparse_coo_tensor(places, values, (4, 3)).coalesce()
    a = a.to_sparse_csr() if csr else a
    found = []
    first, *rest = parts(function(a))
    for group in ([first], rest):
        before = [x.tolist() for x in parts(a)]
        for part in group:
            part.fill_(0)
        found.append([x.tolist() for x in parts(a)] != before)
    return found


@pytest.mark.parametrize("csr", [False, True], ids=["coo", "csr"])
@pytest.mark.parametrize("name", SHARING)
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_memory_is_shared_as_in_pytorch(name: str, csr: bool) -> None:
    if csr and name in ("transposed", "divided by 1"):
        pytest.skip("PyTorch returns a transpose by columns, and cannot divide")
    assert shared(tt, SHARING[name], csr) == shared(torch, SHARING[name], csr)
