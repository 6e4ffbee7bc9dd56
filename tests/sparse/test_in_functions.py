"""Sparse tensors that a Function saves for backward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt


def product(library: Any) -> Any:
    """y = A @ b, with a gradient for the values of A at its positions and for b."""

    class Product(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, indices: Any, values: Any, n: int, b: Any) -> Any:
            a = library.sparse_coo_tensor(indices, values, (n, n))
            ctx.save_for_backward(a, b)
            ctx.n = n
            return library.matmul(a, b)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            dense = g.matmul(b.t())
            at = a._indices()[0] * ctx.n + a._indices()[1]
            return None, dense.view(-1)[at], None, a.t().matmul(g)

    return Product


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")  # PyTorch's, once
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_same_gradients_as_pytorch(dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")
    rng = np.random.default_rng(0)
    indices = np.array([[0, 1, 1, 3], [2, 0, 3, 3]])
    values, b = rng.standard_normal(4).astype(dtype), rng.standard_normal((4, 3)).astype(dtype)
    found = []
    for library in (tt, torch):
        v = library.tensor(values, requires_grad=True)
        x = library.tensor(b, requires_grad=True)
        y = product(library).apply(library.tensor(indices), v, 4, x)
        (y * y).sum().backward()
        found.append([y.detach().numpy(), v.grad.numpy(), x.grad.numpy()])
    for ours, theirs in zip(*found, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_csr_and_saved_tensor_hooks() -> None:
    class Times(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, a: Any) -> Any:
            ctx.save_for_backward(a, x)
            return a @ x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return ctx.saved_tensors[0].t() @ g, None

    a = tt.tensor([[1.0, 0.0], [2.0, 3.0]]).to_sparse_csr()
    x = tt.ones(2, 1, requires_grad=True)
    with tt.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), lambda n: tt.tensor(n)):
        y = Times.apply(x, a)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[3.0], [3.0]]


def test_values_written_since() -> None:
    values = tt.ones(2)
    a = tt.sparse_coo_tensor(tt.tensor([[0, 1], [1, 0]]), values, (2, 2))
    x = tt.ones(2, 1, requires_grad=True)

    class Times(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(a)
            return a @ x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return ctx.saved_tensors[0].t() @ g

    y = Times.apply(x)
    a._values().mul_(2)
    with pytest.raises(RuntimeError, match="saved tensor 0"):
        y.sum().backward()
