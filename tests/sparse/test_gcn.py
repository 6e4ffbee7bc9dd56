"""A graph convolutional network (Kipf and Welling) on a sparse adjacency matrix, beside PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")

NODES, FEATURES, HIDDEN, CLASSES = 60, 12, 8, 3


def graph() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Positions and values of D⁻¹·(A + I) for a random graph; features; classes."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, NODES, (2, 150))
    matrix = np.eye(NODES)
    matrix[pairs[0], pairs[1]] = matrix[pairs[1], pairs[0]] = 1
    matrix /= matrix.sum(1, keepdims=True)
    positions = np.array(matrix.nonzero())
    features = rng.standard_normal((NODES, FEATURES))
    return positions, matrix[tuple(positions)], features, rng.integers(0, CLASSES, NODES)


def network(lib: Any) -> Any:
    nn, F = lib.nn, lib.nn.functional

    class GraphConvolution(nn.Module):
        def __init__(self, in_features: int, out_features: int):
            super().__init__()
            self.weight = nn.Parameter(lib.FloatTensor(in_features, out_features))
            self.bias = nn.Parameter(lib.FloatTensor(out_features))

        def forward(self, input: Any, adj: Any) -> Any:
            return lib.spmm(adj, lib.mm(input, self.weight)) + self.bias

    class GCN(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gc1 = GraphConvolution(FEATURES, HIDDEN)
            self.gc2 = GraphConvolution(HIDDEN, CLASSES)

        def forward(self, x: Any, adj: Any) -> Any:
            return F.log_softmax(self.gc2(F.relu(self.gc1(x, adj)), adj), dim=1)

    model = GCN()
    rng = np.random.default_rng(1)
    for p in model.parameters():
        p.data = lib.tensor(rng.standard_normal(tuple(p.shape)) * 0.3)
    return model


def train(lib: Any, csr: bool) -> tuple[list, list]:
    positions, weights, features, classes = graph()
    double = lib.sparse.DoubleTensor
    adj = double(lib.LongTensor(positions), lib.tensor(weights), lib.Size([NODES, NODES]))
    adj = adj.coalesce().to_sparse_csr() if csr else adj
    x, y = lib.tensor(features), lib.LongTensor(classes)
    chosen = lib.arange(20)
    model = network(lib)
    optimizer = lib.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        loss = lib.nn.functional.nll_loss(model(x, adj)[chosen], y[chosen])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.grad.tolist() for p in model.parameters()]


@pytest.mark.filterwarnings("ignore")  # PyTorch: CSR is in beta, DoubleTensor is old
@pytest.mark.parametrize("csr", [False, True], ids=["coo", "csr"])
def test_losses_and_gradients_as_pytorch(csr: bool) -> None:
    (ours, grads), (theirs, expected) = train(tt, csr), train(torch, csr)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    assert ours[-1] < ours[0] - 0.05
    for a, b in zip(grads, expected):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-12)
