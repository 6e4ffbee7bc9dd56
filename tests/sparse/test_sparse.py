"""Sparse tensors against PyTorch: values, gradients, printing, errors."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")

INDICES = np.array([[0, 3, 1, 0, 1], [2, 0, 2, 2, 0]])  # (0, 2) twice
VALUES = np.array([1.5, 2.0, -3.0, 4.0, 0.5])
DENSE = np.random.default_rng(0).standard_normal((3, 2))


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's note that CSR is in beta
        yield


def make(lib: Any, dtype: str, coalesced: bool = True, csr: bool = False) -> tuple[Any, Any]:
    """A sparse (4, 3) matrix, and the leaf that has its values."""
    values = lib.tensor(VALUES, dtype=getattr(lib, dtype)).requires_grad_()
    made = lib.sparse_coo_tensor(lib.tensor(INDICES), values, (4, 3))
    if coalesced or csr:
        made = made.coalesce()
    return (made.to_sparse_csr() if csr else made), values


def dense(result: Any) -> Any:
    strided = getattr(result, "layout", None)
    return result if "strided" in str(strided) else result.to_dense()


def compare(function: Callable, dtype: str, coalesced: bool, csr: bool = False) -> None:
    """The same result and gradients with respect to the values and to a dense (3, 2) matrix."""
    found = []
    for lib in (tt, torch):
        a, values = make(lib, dtype, coalesced, csr)
        x = lib.tensor(DENSE, dtype=getattr(lib, dtype)).requires_grad_()
        result = function(lib, a, x)
        out = dense(result)
        (out * out + out).sum().backward()
        grads = [None if t.grad is None else np.array(t.grad.tolist()) for t in (values, x)]
        found.append((str(result.layout).split(".")[1], np.array(out.tolist()), *grads, out.dtype))
    (layout, y, dv, dx, kind), (layout2, y2, dv2, dx2, kind2) = found
    assert layout == layout2 and str(kind).split(".")[1] == str(kind2).split(".")[1]
    close = 1e-12 if dtype == "float64" else 2e-6
    tolerance = {"rtol": close, "atol": close}
    assert y.shape == y2.shape
    np.testing.assert_allclose(y, y2, **tolerance)
    for ours, theirs in ((dv, dv2), (dx, dx2)):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, **tolerance)


CASES: dict[str, Callable] = {
    "sparse.mm": lambda t, a, x: t.sparse.mm(a, x),
    "spmm": lambda t, a, x: t.spmm(a, x),
    "mm": lambda t, a, x: t.mm(a, x),
    "matmul": lambda t, a, x: a @ x,
    "method": lambda t, a, x: a.matmul(x),
    "vector": lambda t, a, x: a @ x[:, 0],
    "transposed": lambda t, a, x: a.t() @ t.cat([x, x[:1]]),
    "addmm": lambda t, a, x: t.sparse.addmm(t.ones(4, 2, dtype=x.dtype), a, x, beta=0.5, alpha=2.0),
    "to_dense": lambda t, a, x: a.to_dense(),
    "coalesce": lambda t, a, x: a.coalesce(),
    "number": lambda t, a, x: a * 2.5,
    "number_left": lambda t, a, x: 2.5 * a,
    "divided": lambda t, a, x: a / 4,
    "negative": lambda t, a, x: -a,
    "sum": lambda t, a, x: t.sparse.sum(a),
    "sum_0": lambda t, a, x: t.sparse.sum(a, dim=0),
    "sum_1": lambda t, a, x: t.sparse.sum(a, dim=1),
    "sum_both": lambda t, a, x: t.sparse.sum(a, dim=(0, 1)),
    "plus": lambda t, a, x: a + a,
    "minus": lambda t, a, x: a - (a * 3),
    "softmax_0": lambda t, a, x: t.sparse.softmax(a.coalesce(), 0),
    "softmax_1": lambda t, a, x: t.sparse.softmax(a.coalesce(), 1),
    "log_softmax": lambda t, a, x: t.sparse.log_softmax(a.coalesce(), 1),
    "sparse_sparse": lambda t, a, x: t.sparse.mm(a, a.transpose(0, 1)),
    "transpose": lambda t, a, x: a.transpose(0, 1),
    "dense_to_sparse": lambda t, a, x: t.sparse.mm(x.to_sparse(), x[:2].t() @ x[:, :2].t()[:2]),
    "dense_plus": lambda t, a, x: t.ones(4, 3, dtype=x.dtype) + a,
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("coalesced", [True, False], ids=["coalesced", "repeated"])
@pytest.mark.parametrize("name", CASES)
def test_coo_as_pytorch(name: str, coalesced: bool, dtype: str) -> None:
    compare(CASES[name], dtype, coalesced)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["sparse.mm", "mm", "matmul", "vector", "to_dense", "number"])
def test_csr_as_pytorch(name: str, dtype: str) -> None:
    """CSR made from plain arrays, with gradients for the values and for the dense operand."""
    found = []
    for lib in (tt, torch):
        values = lib.tensor([1.5, -2.0, 3.0], dtype=getattr(lib, dtype)).requires_grad_()
        crow, col = lib.tensor([0, 1, 1, 3]), lib.tensor([2, 0, 1])
        a = lib.sparse_csr_tensor(crow, col, values, (3, 3))
        x = lib.tensor(DENSE, dtype=getattr(lib, dtype)).requires_grad_()
        out = dense(CASES[name](lib, a, x))
        (out * out).sum().backward()
        found.append([np.array(t.tolist()) for t in (out, values.grad)])
        found[-1].append(np.array(0.0 if x.grad is None else x.grad.tolist()))
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=2e-6)


def test_dense_times_sparse() -> None:
    a, _ = make(tt, "float64")
    b, _ = make(torch, "float64")
    left = np.random.default_rng(1).standard_normal((2, 4))
    np.testing.assert_allclose((tt.tensor(left) @ a).tolist(), (torch.tensor(left) @ b).tolist())
    expected = left[0] @ b.to_dense().detach().numpy()
    np.testing.assert_allclose((tt.tensor(left[0]) @ a).tolist(), expected)


def test_elementwise_products() -> None:
    other = np.arange(12.0).reshape(4, 3)
    for function in (lambda t, a: a * a, lambda t, a: a * t.tensor(other)):
        found = []
        for lib in (tt, torch):
            a, values = make(lib, "float64")
            result = function(lib, a)
            result.to_dense().sum().backward()
            found.append((result.to_dense().tolist(), values.grad.tolist(), result._nnz()))
        assert found[0] == found[1]
    a, _ = make(tt, "float64")
    b = tt.sparse_coo_tensor([[0, 3], [1, 0]], [5.0, 7.0], (4, 3), dtype=tt.float64)
    assert (a * b).to_dense().tolist() == (a.to_dense() * b.to_dense()).tolist()


def test_leaf_gradients_are_sparse() -> None:
    for coalesced in (True, False):
        found = []
        for lib in (tt, torch):
            a = make(lib, "float64", coalesced)[0].detach().requires_grad_()
            x = lib.tensor(DENSE, requires_grad=True)
            lib.sparse.mm(a, x).pow(2).sum().backward()
            assert a.grad.is_sparse and a.grad.shape == a.shape and a.is_leaf
            found.append(a.grad.coalesce().to_dense().tolist())
        np.testing.assert_allclose(*found)


def test_second_derivative() -> None:
    _, values = make(tt, "float64")
    x = tt.tensor(DENSE, requires_grad=True)

    def loss(v: Any, x: Any) -> Any:
        return tt.sparse.mm(tt.sparse_coo_tensor(tt.tensor(INDICES), v, (4, 3)), x).pow(3).sum()

    assert tt.autograd.gradcheck(loss, (values, x))
    assert tt.autograd.gradgradcheck(loss, (values, x))


def test_what_it_is() -> None:
    a, _ = make(tt, "float32", coalesced=False)
    b, _ = make(torch, "float32", coalesced=False)
    for name in ("is_sparse", "is_sparse_csr", "ndim", "requires_grad", "is_cuda"):
        assert getattr(a, name) == getattr(b, name), name
    for name in ("_nnz", "dim", "numel", "sparse_dim", "dense_dim", "is_coalesced", "__len__"):
        assert getattr(a, name)() == getattr(b, name)(), name
    assert tuple(a.shape) == tuple(b.shape) == tuple(a.size()) and a.size(0) == 4
    assert a.dtype is tt.float32 and a.layout is tt.sparse_coo and tt.ones(2).layout is tt.strided
    whole = a.coalesce()
    assert whole.indices().tolist() == b.coalesce().indices().tolist()
    assert whole.values().tolist() == b.coalesce().values().tolist()
    assert whole.t().is_coalesced() is False and whole.coalesce() is whole
    csr = whole.to_sparse_csr()
    assert csr.crow_indices().tolist() == b.coalesce().to_sparse_csr().crow_indices().tolist()
    assert csr.col_indices().tolist() == b.coalesce().to_sparse_csr().col_indices().tolist()
    assert csr.layout is tt.sparse_csr and csr.is_sparse_csr and csr._nnz() == 4
    assert a.double().dtype is tt.float64 and a.to(tt.bfloat16).dtype is tt.bfloat16
    assert whole[1].to_dense().tolist() == b.to_dense()[1].tolist()
    assert whole.pow(2).to_dense().tolist() == b.coalesce().pow(2).to_dense().tolist()


@pytest.mark.parametrize("shape", [(3, 4), (5,), (2, 3, 2), ()])
def test_to_sparse_and_back(shape: tuple) -> None:
    array = np.random.default_rng(2).integers(-1, 2, shape).astype(np.float32)
    ours, theirs = tt.tensor(array).to_sparse(), torch.tensor(array).to_sparse()
    assert ours._nnz() == theirs._nnz() and ours.is_coalesced() == theirs.is_coalesced()
    assert ours.indices().tolist() == theirs.indices().tolist()
    assert ours.to_dense().tolist() == array.tolist()
    for sparse_dim in range(1, len(shape)):
        a, b = tt.tensor(array).to_sparse(sparse_dim), torch.tensor(array).to_sparse(sparse_dim)
        assert a.values().tolist() == b.values().tolist() and a.dense_dim() == b.dense_dim()
        assert a.to_dense().tolist() == array.tolist()


def test_constructors() -> None:
    i, v = tt.LongTensor(INDICES), tt.FloatTensor(VALUES.astype(np.float32))
    a = tt.sparse.FloatTensor(i, v, tt.Size([4, 3]))
    assert (
        a.dtype is tt.float32
        and a.to_dense().tolist() == make(tt, "float32")[0].to_dense().tolist()
    )
    assert tt.sparse.FloatTensor(2, 3)._nnz() == 0 and tt.sparse_coo_tensor((2, 3)).shape == (2, 3)
    assert tt.sparse_coo_tensor([[0, 2]], [1.0, 2.0]).shape == (3,)
    assert tt.sparse_coo_tensor([[0, 2]], [1, 2]).dtype is tt.int64
    assert tt.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0]).shape == (2, 2)
    assert tt.eye(3).to_sparse().to_dense().tolist() == tt.eye(3).tolist()
    assert (tt.sparse_coo_tensor((2, 3)) @ tt.ones(3, 2)).tolist() == [[0, 0], [0, 0]]
    assert tt.sparse_coo_tensor([[0]], [2.0], (3,), requires_grad=True).requires_grad
    v = tt.ones(1)
    tt.sparse_coo_tensor([[0]], v, (3,), requires_grad=True)
    assert not v.requires_grad


def test_printing() -> None:
    for function in (
        lambda t: t.sparse_coo_tensor(t.tensor(INDICES), t.tensor(VALUES), (4, 3)),
        lambda t: t.sparse_coo_tensor(t.tensor(INDICES), t.tensor(VALUES).float(), (4, 3)),
        lambda t: t.eye(3).to_sparse().requires_grad_(),
        lambda t: t.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (2, 2)),
    ):
        assert repr(function(tt)).replace("tinytensor", "torch") == repr(function(torch))
    assert "crow_indices=tensor([0, 1, 2])" in repr(tt.eye(2).to_sparse_csr())


def test_pickle_and_copy() -> None:
    for a in (make(tt, "float64")[0].detach(), make(tt, "float64", csr=True)[0].detach()):
        for again in (pickle.loads(pickle.dumps(a)), copy.deepcopy(a), a.clone()):
            assert again.layout is a.layout and again.to_dense().tolist() == a.to_dense().tolist()


WRONG: dict[str, tuple[Callable, type, str]] = {
    "values of repeated": (
        lambda a, x: a.t().values(),
        RuntimeError,
        "coalesce",
    ),
    "dtypes": (lambda a, x: a @ x.float(), RuntimeError, "mm: .*same dtype|matmul: .*same dtype"),
    "shapes": (lambda a, x: a @ x[:2], tt.ShapeError, r"\(4, 3\)"),
    "left shapes": (lambda a, x: x @ a, tt.ShapeError, "cannot be multiplied"),
    "mm of a number": (lambda a, x: tt.mm(a, 3), TypeError, "matmul: got a int"),
    "plus a number": (lambda a, x: a + 1, RuntimeError, "add: "),
    "plus dense": (lambda a, x: a + a.to_dense(), RuntimeError, "add: "),
    "other shape": (lambda a, x: a + a.t(), tt.ShapeError, "add: got shapes"),
    "dense op": (lambda a, x: a.tanh(), AttributeError, "tanh: got a sparse tensor.*to_dense"),
    "function": (lambda a, x: tt.exp(a), TypeError, "exp: got a SparseCooTensor"),
    "numpy": (lambda a, x: a.numpy(), TypeError, "to_dense"),
    "too large": (
        lambda a, x: tt.sparse_coo_tensor([[5]], [1.0], (3,)),
        RuntimeError,
        "outside",
    ),
    "negative": (lambda a, x: tt.sparse_coo_tensor([[-1]], [1.0]), RuntimeError, "negative"),
    "counts": (lambda a, x: tt.sparse_coo_tensor([[0, 1]], [1.0]), RuntimeError, r"\(1, 2\)"),
    "float index": (lambda a, x: tt.sparse_coo_tensor([[0.5]], [1.0]), TypeError, "integers"),
    "size": (lambda a, x: tt.sparse_coo_tensor([[0]], [1.0], (3, 3)), tt.ShapeError, r"\(3, 3\)"),
    "csr rows": (lambda a, x: tt.sparse_csr_tensor([0, 2, 1], [0], [1.0]), RuntimeError, "rise"),
    "csr columns": (
        lambda a, x: tt.sparse_csr_tensor([0, 1], [4], [1.0], (1, 2)),
        RuntimeError,
        "col",
    ),
    "pow": (lambda a, x: a**-1, RuntimeError, "pow: "),
    "sum of dense": (lambda a, x: tt.sparse.sum(x), RuntimeError, "sum: got a Tensor"),
    "softmax dim": (lambda a, x: tt.sparse.softmax(a, 2), IndexError, "softmax"),
    "index": (lambda a, x: a[0:2], TypeError, "to_dense"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refused(name: str) -> None:
    function, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        function(make(tt, "float64")[0], tt.tensor(DENSE))


def test_large_product_against_dense() -> None:
    rng = np.random.default_rng(3)
    places = rng.integers(0, 300, (2, 4000))
    places[0, :500] = 7  # a row with more elements than `LONGEST`
    a = tt.sparse_coo_tensor(places, rng.standard_normal(4000).astype(np.float32), (300, 300))
    x = tt.tensor(rng.standard_normal((300, 7)).astype(np.float32))
    for left in (a, a.coalesce(), a.to_sparse_csr(), a.t().t()):
        np.testing.assert_allclose(
            (left @ x).tolist(), (a.to_dense() @ x).tolist(), rtol=1e-4, atol=1e-4
        )
