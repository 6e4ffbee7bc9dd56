"""Mixtures of experts: worksheets' numbers, sparse = dense, balance, capacity."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import nn
import tinytensor as tt


def with_bias(rows: list) -> nn.Linear:
    """A layer from a matrix whose last column is the bias, as on worksheets."""
    table = tt.tensor(rows).float()
    layer = nn.Linear(table.shape[1] - 1, table.shape[0])
    layer.weight.data.copy_(table[:, :-1])
    layer.bias.data.copy_(table[:, -1])
    return layer


def test_worksheet_of_a_mixture() -> None:
    """002-1-MoE: two tokens as columns, top-1, the expert's output as it is."""
    first = with_bias([[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 0], [-1, 0, 1, 0]])
    second = with_bias([[0, 1, 1, 0], [1, 1, 0, 0], [1, -1, 0, 0], [1, 0, 1, 0]])
    layer = nn.MixtureOfExperts(3, [first, second], normalize=True, gate_bias=True)
    layer.gate.load_state_dict(with_bias([[1, 1, 0, 0], [0, 1, 1, 0]]).state_dict())
    X = tt.tensor([[2, 3], [1, 1], [3, 2]]).float()
    Z = layer(X.T).T
    assert layer.routing.logits.T.tolist() == [[3, 4], [4, 3]]
    assert layer.routing.experts.flatten().tolist() == [1, 0]
    assert Z.tolist() == [[4, 5], [3, 4], [1, 2], [5, -1]]
    assert Z.relu().tolist() == [[4, 5], [3, 4], [1, 2], [5, 0]]


def test_worksheet_of_the_switch() -> None:
    """002-19-Switch: five tokens, three experts with room for two; C is full when the last comes.
    The first token has equal gates for A and B, and goes to A."""
    X = tt.tensor([[5, 6, 0, 7, 0], [0, 2, 4, 0, 3], [1, 0, 1, 1, 0]]).float()
    A = tt.tensor([[1, 0, 0, 0, 1], [1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0],
                   [0, 0, 0, 1, 1]]).float()  # fmt: skip
    experts = [
        with_bias([[1, 0, -1, 0], [0, 1, 0, 0], [0, 0, -1, 1]]),
        with_bias([[0, 0, -1, 0], [1, 0, 0, 0], [1, 1, -1, 1]]),
        with_bias([[1, 0, 0, 0], [0, 1, 1, 1], [0, 1, 0, 0]]),
    ]
    layer = nn.SwitchLayer(3, experts, capacity=2, scale=False)
    layer.gate.weight.data.copy_(tt.tensor([[1, -1, 0], [1, 0, -2], [0, 1, 1]]))
    Z = nn.attention_pooling(X, A)
    assert Z.tolist() == [[11, 6, 7, 7, 5], [2, 6, 4, 3, 3], [1, 1, 2, 1, 1]]
    out = layer(Z.T).T
    gates = layer.routing.logits.T.tolist()
    assert gates == [[9, 0, 3, 4, 2], [9, 4, 3, 5, 3], [3, 7, 6, 4, 4]]
    assert layer.routing.experts.flatten().tolist() == [0, 2, 2, 1, 2]
    assert layer.overflowed.tolist() == [False, False, False, False, True]
    assert out.tolist() == [[10, 6, 7, -1, 5], [2, 8, 7, 7, 3], [0, 6, 4, 10, 1]]


# ------------------------------------------------------------------------------------------
# Sparse = dense
# ------------------------------------------------------------------------------------------


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 4))


def mixture(**settings) -> nn.MixtureOfExperts:
    tt.manual_seed(0)
    return nn.MixtureOfExperts(4, mlp, 5, **settings).double()


def tokens(*shape: int) -> tt.Tensor:
    return tt.tensor(np.random.default_rng(1).normal(size=(*shape, 4))).requires_grad_()


def dense(layer: nn.MixtureOfExperts, x: tt.Tensor) -> tt.Tensor:
    """Every expert on every token, then a weighted sum in which most weights are 0."""
    p = (x @ layer.gate.weight.T).softmax(-1)
    kept = np.zeros(p.shape)
    for place in np.ndindex(*p.shape[:-1]):
        order = sorted(range(p.shape[-1]), key=lambda e: (-float(p[place][e]), e))
        kept[place][order[: layer.top_k]] = 1
    weights = p * tt.tensor(kept)
    if layer.normalize:
        weights = weights / weights.sum(-1, keepdim=True)
    outputs = tt.stack([expert(x) for expert in layer.experts], -1)
    return (outputs * weights.unsqueeze(-2)).sum(-1)


@pytest.mark.parametrize("shape", [(9,), (2, 3), (2, 2, 3), ()], ids=str)
@pytest.mark.parametrize("settings", [
    {}, {"normalize": True}, {"top_k": 2}, {"top_k": 3, "normalize": False}, {"top_k": 5},
], ids=str)  # fmt: skip
def test_sparse_equals_dense(settings: dict, shape: tuple) -> None:
    layer = mixture(**settings)
    results = []
    for compute in (layer, lambda x: dense(layer, x)):
        layer.zero_grad()
        x = tokens(*shape)
        y = compute(x)
        y.sin().sum().backward()
        grads = [np.zeros(p.shape) if p.grad is None else p.grad for p in layer.parameters()]
        results.append([y.detach(), x.grad, *grads])
    for a, b in zip(*results):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-10, atol=1e-12)


def test_only_the_chosen_experts_run_and_only_on_their_tokens() -> None:
    layer = mixture(top_k=2)
    seen = {}
    for number, expert in enumerate(layer.experts):
        expert.register_forward_pre_hook(lambda _, x, n=number: seen.update({n: x[0].numpy()}))
    with tt.no_grad():
        x = tokens(2)
        layer(x)
    chosen = layer.routing.experts.numpy()
    assert set(seen) == set(chosen.flatten())
    assert len(seen) < 5
    for number, rows in seen.items():
        expected = x.detach().numpy()[(chosen == number).any(1)]  # in order
        np.testing.assert_array_equal(rows, expected)


def test_an_unused_expert_gets_no_gradient() -> None:
    layer = mixture()
    layer(tokens(1)).sum().backward()
    used = int(layer.routing.experts)
    for number, expert in enumerate(layer.experts):
        assert all((p.grad is not None) == (number == used) for p in expert.parameters())


def test_equally_probable_experts_are_taken_in_their_order() -> None:
    layer = mixture(top_k=3)
    layer.gate.weight.data.zero_()
    layer(tokens(2))
    assert layer.routing.experts.tolist() == [[0, 1, 2]] * 2
    assert layer.routing.weights.tolist() == [[1 / 3] * 3] * 2


def test_the_gate_learns_through_the_output() -> None:
    for settings, learns in [({}, True), ({"top_k": 2}, True), ({"normalize": True}, False)]:
        layer = mixture(**settings)
        layer(tokens(6)).sum().backward()
        g = layer.gate.weight.grad
        assert learns == (g is not None and bool(g.abs().sum() > 1e-6)), settings


def test_no_tokens() -> None:
    layer = nn.MixtureOfExperts(4, lambda: nn.Linear(4, 3), 2, top_k=2)
    assert layer(tt.zeros(0, 4)).shape == (0, 3)
    assert nn.SwitchLayer(4, mlp, 2)(tt.zeros(2, 0, 4)).shape == (2, 0, 4)


# ------------------------------------------------------------------------------------------
# Balance
# ------------------------------------------------------------------------------------------


def test_load_balancing_loss_is_the_formula() -> None:
    layer = mixture()
    x = tokens(50)
    layer(x)
    logits = (x @ layer.gate.weight.T).detach().numpy()
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    f = np.bincount(p.argmax(1), minlength=5) / 50
    assert float(layer.load_balancing_loss()) == pytest.approx(5 * (f * p.mean(0)).sum())
    assert float(layer.z_loss()) == pytest.approx((np.log(np.exp(logits).sum(1)) ** 2).mean())


@pytest.mark.parametrize("k", [1, 2])
def test_uniform_routing_has_the_least_loss(k: int) -> None:
    """When choices follow the probabilities the loss is 1 for equal shares, and more otherwise."""
    experts = (tt.arange(24).unsqueeze(1) + tt.arange(k)) % 6
    even = tt.full((24, 6), 1 / 6, dtype=tt.float64)
    assert float(nn.load_balancing_loss(even, experts)) == pytest.approx(1)
    one = tt.zeros(24, 6, dtype=tt.float64)
    one[:, 2] = 1
    assert float(nn.load_balancing_loss(one, tt.full((24, 1), 2))) == pytest.approx(6)
    rng = np.random.default_rng(0)
    for _ in range(20):
        share = rng.dirichlet(np.ones(6))
        counts = np.round(share * 1000).astype(int)
        chosen = tt.tensor(np.repeat(np.arange(6), counts))[:, None]
        same = tt.tensor(np.tile(counts / counts.sum(), (len(chosen), 1)))
        assert float(nn.load_balancing_loss(same, chosen)) > 1


def test_the_loss_spreads_the_tokens() -> None:
    layer = mixture()
    x = tokens(200).detach().abs()
    layer.gate.weight.data[0] += 1  # a favourite
    optimizer = tt.optim.SGD([layer.gate.weight], lr=1.0)
    losses = []
    for _ in range(60):
        layer(x)
        loss = layer.load_balancing_loss()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[0] > 2 and losses[-1] < 1.1, losses


def test_losses_need_a_call_and_are_not_copied() -> None:
    layer = mixture()
    with pytest.raises(RuntimeError, match="MixtureOfExperts: its losses are those of the last"):
        layer.load_balancing_loss()
    layer(tokens(3))
    assert copy.deepcopy(layer).routing is None
    switch = nn.SwitchLayer(4, mlp, 2)
    switch(tokens(3).float())
    twin = copy.deepcopy(switch)
    assert twin.routing is None and twin.overflowed is None


# ------------------------------------------------------------------------------------------
# Capacity
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings, room", [
    ({"capacity": 3}, 3), ({"capacity": 0}, 0), ({"capacity_factor": 1.0}, 5),
    ({"capacity_factor": 0.5}, 3), ({"capacity_factor": 1.25}, 7), ({"capacity_factor": None}, 20),
], ids=str)  # fmt: skip
def test_capacity(settings: dict, room: int) -> None:
    """20 tokens and 4 experts: each expert takes the first of its tokens in the batch."""
    tt.manual_seed(0)
    layer = nn.SwitchLayer(4, mlp, 4, **settings).double()
    x = tokens(4, 5)
    y = layer(x)
    flat, out = x.reshape(20, 4), y.reshape(20, 4)
    p = (flat @ layer.gate.weight.T).softmax(-1)
    taken = [0] * 4
    for i in range(20):
        expert = int(p[i].argmax())
        full = taken[expert] >= room
        taken[expert] += 1
        expected = flat[i] if full else p[i, expert] * layer.experts[expert](flat[i])
        np.testing.assert_allclose(out[i].detach().numpy(), expected.detach().numpy(), atol=1e-12)
        assert bool(layer.overflowed.flatten()[i]) == full
        if full:
            np.testing.assert_array_equal(out[i].detach().numpy(), flat[i].detach().numpy())


def test_switch_without_a_limit_is_the_mixture() -> None:
    layer = mixture()
    switch = nn.SwitchLayer(4, mlp, 5, capacity_factor=None).double()
    switch.load_state_dict(layer.state_dict())
    x = tokens(3, 4)
    np.testing.assert_array_equal(switch(x).detach().numpy(), layer(x).detach().numpy())
    assert not switch.overflowed.any()


def test_gradcheck_with_overflow() -> None:
    tt.manual_seed(3)
    layer = nn.SwitchLayer(4, lambda: nn.Linear(4, 4), 3, capacity=2).double()
    assert tt.autograd.gradcheck(layer, (tokens(8),))
    assert layer.overflowed.any() and not layer.overflowed.all()


@pytest.mark.parametrize("make, error, message", [
    (lambda: nn.MixtureOfExperts(4, mlp), TypeError, "expected num_experts too"),
    (lambda: nn.MixtureOfExperts(4, []), ValueError, "got 0 experts"),
    (lambda: nn.MixtureOfExperts(4, [mlp()], num_experts=2), ValueError, "got 1 experts"),
    (lambda: nn.MixtureOfExperts(4, mlp, 2, top_k=3), ValueError, "got top_k=3, expected from 1"),
    (lambda: nn.SwitchLayer(4, mlp, 2, capacity=-1), ValueError, "got capacity=-1"),
    (lambda: nn.MixtureOfExperts(4, mlp, 2)(tt.zeros(3, 5)), tt.ShapeError, r"got shape \(3, 5\)"),
    (lambda: nn.SwitchLayer(4, lambda: nn.Linear(4, 3), 2)(tt.zeros(3, 4)), tt.ShapeError,
     "expected d_model=4"),
])  # fmt: skip
def test_errors(make, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        make()
