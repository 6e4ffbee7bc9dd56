"""Graph convolution: a worksheet's numbers, normalisation, independence of numbering."""

from __future__ import annotations

import numpy as np
import pytest

import nn
import tinytensor as tt

# Worksheet 002-17-GCN: nodes are columns, the last column of a weight is its bias, A has its I.
X = np.array([[2, 0, 1, 0, 1], [1, 1, 0, 0, 0], [0, 0, -1, 1, 1], [0, 3, 0, 1, 0]])
GCN1_B = np.array([[1, 1, 0, 0, 0], [0, 1, 0, -1, 0], [1, 0, 0, 1, -1]])
A_PLUS_I = np.array([
    [1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 1, 0, 1], [0, 1, 0, 1, 1], [0, 0, 1, 1, 1],
])  # fmt: skip
H1 = [[4, 1, 5, 2, 2], [1, 0, 1, 0, 0], [1, 2, 1, 2, 0]]


def test_worksheet() -> None:
    layer = nn.GraphConvolution(4, 3, normalize=False, activation=nn.ReLU(), activate_messages=True)
    layer.weight.data.copy_(tt.tensor(GCN1_B[:, :-1]))
    layer.bias.data.copy_(tt.tensor(GCN1_B[:, -1]))
    adjacency = tt.tensor(A_PLUS_I - np.eye(5, dtype=int))
    assert layer(tt.tensor(X.T).float(), adjacency).T.tolist() == H1


def random_graph(n: int = 6, seed: int = 0) -> tt.Tensor:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < 0.4, 1)
    return tt.tensor((upper | upper.T).astype(np.float64))


@pytest.mark.parametrize("settings", [
    {}, {"normalize": False}, {"self_loops": False}, {"activation": nn.ReLU()},
    {"activation": nn.Tanh(), "activate_messages": True, "bias": False},
], ids=str)  # fmt: skip
def test_renumbered_nodes_give_renumbered_results(settings: dict) -> None:
    tt.manual_seed(0)
    layer = nn.GraphConvolution(3, 4, dtype=tt.float64, **settings)
    x, a = tt.randn(6, 3, dtype=tt.float64), random_graph()
    order = tt.randperm(6)
    y = layer(x, a)
    renumbered = layer(x[order], a[order][:, order])
    np.testing.assert_allclose(renumbered.detach().numpy(), y[order].detach().numpy(), atol=1e-12)
    assert not np.allclose(layer(x[order], a).detach().numpy(), y.detach().numpy())


def test_symmetric_normalisation() -> None:
    a = nn.add_self_loops(random_graph())
    normalized = nn.normalize_adjacency(a)
    degree = a.sum(1)
    for i in range(6):
        for j in range(6):
            expected = a[i, j].item() / np.sqrt(degree[i].item() * degree[j].item())
            assert normalized[i, j].item() == pytest.approx(expected, rel=1e-12)
    assert tt.allclose(normalized, normalized.T)
    largest = np.abs(np.linalg.eigvalsh(normalized.numpy())).max()
    assert largest == pytest.approx(1)  # so that deep stacks neither explode nor fade at once


def test_a_regular_graph_keeps_a_constant_feature() -> None:
    ring = tt.tensor(np.roll(np.eye(5), 1, 0) + np.roll(np.eye(5), -1, 0))
    normalized = nn.normalize_adjacency(nn.add_self_loops(ring))
    np.testing.assert_allclose(normalized.sum(1).numpy(), np.ones(5))


def test_a_node_alone() -> None:
    a = tt.zeros(3, 3)
    assert nn.normalize_adjacency(a).tolist() == a.tolist()  # no division by a degree of 0
    layer = nn.GraphConvolution(2, 2)
    x = tt.randn(3, 2)
    expected = nn.functional.linear(x, layer.weight, layer.bias)
    assert tt.allclose(layer(x, a), expected)  # it hears only itself


def test_only_neighbours_count() -> None:
    x = tt.randn(6, 3, dtype=tt.float64, requires_grad=True)
    a = random_graph()
    nn.GraphConvolution(3, 4, dtype=tt.float64)(x, a)[0].sum().backward()
    assert x.grad is not None
    reached = (x.grad != 0).any(1)
    assert reached.tolist() == (nn.add_self_loops(a)[0] != 0).tolist()


ERRORS = [
    (lambda: nn.GraphConvolution(2, 2)(tt.ones(3, 2), tt.ones(3, 4)),
     r"GraphConvolution: adjacency has shape \(3, 4\), expected \(…, n, n\)"),
    (lambda: nn.GraphConvolution(2, 2)(tt.ones(3, 2), tt.ones(4, 4)),
     r"X has shape \(3, 2\), A \(4, 4\), expected .* the same number n of nodes"),
    (lambda: nn.GraphConvolution(5, 2)(tt.ones(3, 2), tt.ones(3, 3)), "input has 2 features"),
    (lambda: nn.normalize_adjacency(tt.ones(3)), r"normalize_adjacency: .* \(3,\)"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number: int) -> None:
    call, message = ERRORS[number]
    with pytest.raises(RuntimeError, match=message):
        call()
