"""Mamba and its scan: a plain loop, a worksheet's numbers, one token at a time, memory use."""

from __future__ import annotations

import importlib
import tracemalloc

import numpy as np
import pytest

import nn
import tinytensor as tt

module = importlib.import_module("tinytensor.ops.selective_scan")  # not the function

# Worksheet 002-3-Mamba: B and C are made of the whole input, A is given for each step.
X = np.array([3, 4, 5, 6])
SELECTIVE = [
    [1, -1, 0, 0], [0, -1, 0, 1], [1, 0, -1, 0], [1, 0, 0, -1],
    [1, 0, -1, 0], [0, 1, 0, -1], [1, -1, 0, 0], [0, 0, -1, 1],
    [-1, 0, 0, 0], [1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0],
    [1, -1, 0, 0], [0, 0, -1, 1], [1, 0, 0, 0], [0, -1, 1, 0],
]  # fmt: skip
A = [[1, -1], [1, -1], [-1, 1], [-1, 1]]
H = [[-3, -11, -4, -2], [6, -14, 1, 7]]
Y = [-12, -3, 24, 1]


def test_worksheet() -> None:
    x = tt.tensor(X).double()
    rows = (tt.tensor(SELECTIVE).double() @ x).reshape(4, 2, 2)  # step, B or C, state
    B, C = rows[:, 0], rows[:, 1]
    h = tt.linear_scan(tt.tensor(A).double(), B * x[:, None], dim=0)
    assert h.T.tolist() == H
    assert (C * h).sum(1).tolist() == Y


# ------------------------------------------------------------------------------------------
# The scan
# ------------------------------------------------------------------------------------------


def operands(N: int = 2, E: int = 3, S: int = 4, L: int = 11, dtype: type = np.float64) -> list:
    rng = np.random.default_rng(0)
    series, shared = (N, E, L), (N, S, L)
    arrays = [rng.normal(size=series), rng.uniform(0.01, 1, series), -rng.uniform(0.1, 4, (E, S)),
              rng.normal(size=shared), rng.normal(size=shared)]  # fmt: skip
    return [tt.tensor(a.astype(dtype)).requires_grad_() for a in arrays]


def derivatives(function, inputs: list) -> list[np.ndarray]:
    """The results, and the first and second derivatives of a function of them."""
    y, h = function(*inputs)
    first = tt.autograd.grad(y.sin().sum() + (h**3).sum(), inputs, create_graph=True)
    second = tt.autograd.grad(sum((g * g).sum() for g in first), inputs)
    return [t.detach().numpy() for t in (y, h, *first, *second)]


@pytest.mark.parametrize("chunk", [1, 40, 72, 2**16])  # 1, 1, 3 and all of the 11 steps
def test_the_three_forms_agree(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    inputs = operands()
    expected = derivatives(module.one_by_one, inputs)
    for form in (module.SelectiveScan.apply, module.in_doubling):
        for a, b in zip(derivatives(form, inputs), expected):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11)


def test_first_derivative_of_the_fast_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hand-written rule, which create_graph=True does not use."""
    monkeypatch.setattr(module, "CHUNK", 72)
    for use in ((0,), (1,), (0, 1)):  # y alone, the last state alone, both
        grads = []
        for form in (module.one_by_one, module.SelectiveScan.apply):
            inputs = operands()
            out = form(*inputs)
            sum(out[i].sin().sum() for i in use).backward()
            grads.append([np.zeros(x.shape) if x.grad is None else x.grad.numpy() for x in inputs])
        for a, b in zip(*grads):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def test_long_sequences_in_float32() -> None:
    single = tt.selective_scan(*operands(L=2000, dtype=np.float32)).detach().numpy()
    double = tt.selective_scan_ref(*operands(L=2000)).detach().numpy()
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-4)


def test_large_steps_do_not_overflow() -> None:
    u, delta, A, B, C = operands()
    y = tt.selective_scan(u, delta * 1e6, A, B, C)
    y.sum().backward()
    for t in (y, u.grad, delta.grad, A.grad):
        assert tt.isfinite(t).all()


def peak(length: int) -> int:
    inputs = operands(N=1, E=32, S=16, L=length)
    tracemalloc.start()
    try:
        tt.selective_scan(*inputs).sum().backward()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_grows_with_the_length_and_holds_no_states() -> None:
    short, long = peak(1024), peak(4096)
    assert long < 4.5 * short
    states = 4096 * 32 * 16 * 8
    assert long < states  # all states at once would take this much, and their gradients again


@pytest.mark.parametrize("change, message", [
    ({"delta": (2, 3, 5)}, r"selective_scan: delta has shape \(2, 3, 5\), expected \(2, 3, 11\)"),
    ({"A": (4, 4)}, r"selective_scan: A has shape \(4, 4\), expected \(3, 4\)"),
    ({"B": (2, 3, 11)}, r"selective_scan: B has shape \(2, 3, 11\), expected \(2, 4, 11\)"),
    ({"u": (3, 11)}, r"selective_scan: u has shape \(3, 11\), expected \(N, E, L\)"),
    ({"u": (2, 3, 0)}, "at least one step"),
], ids=str)  # fmt: skip
def test_errors_of_the_scan(change: dict, message: str) -> None:
    given = dict(zip(("u", "delta", "A", "B", "C"), operands()))
    given |= {name: tt.zeros(*shape, dtype=tt.float64) for name, shape in change.items()}
    with pytest.raises(tt.ShapeError, match=message):
        tt.selective_scan(**given)


def test_mixed_dtypes_are_refused() -> None:
    u, delta, *rest = operands()
    with pytest.raises(RuntimeError, match="selective_scan: delta has dtype float32"):
        tt.selective_scan(u, delta.float(), *rest)
    with pytest.raises(RuntimeError, match="linear_scan: b has dtype float32"):
        tt.linear_scan(u, delta.float())
    with pytest.raises(tt.ShapeError, match="linear_scan: a has shape"):
        tt.linear_scan(u, delta[0])


# ------------------------------------------------------------------------------------------
# The block
# ------------------------------------------------------------------------------------------


def block(**settings) -> nn.Mamba:
    tt.manual_seed(0)
    layer = nn.Mamba(6, dtype=tt.float64, **settings)
    with tt.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.1 * tt.randn(parameter.shape, dtype=tt.float64))
    return layer


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def by_hand(layer: nn.Mamba, tokens: np.ndarray) -> np.ndarray:
    """The block for one sequence (L, C), number by number, with NumPy."""
    w = {name: p.detach().numpy() for name, p in layer.named_parameters()}
    zero = np.zeros(1)
    xz = tokens @ w["in_proj.weight"].T + w.get("in_proj.bias", zero)
    x, z = xz[:, : layer.d_inner], xz[:, layer.d_inner :]
    kernel = w["conv1d.weight"][:, 0]  # channels × width
    h = np.zeros((layer.d_inner, layer.d_state))
    rows = []
    for t in range(len(tokens)):
        u = np.zeros(layer.d_inner) + w.get("conv1d.bias", zero)
        for back in range(layer.d_conv):
            if t - back >= 0:
                u = u + kernel[:, layer.d_conv - 1 - back] * x[t - back]
        u = u * sigmoid(u)
        chosen = w["x_proj.weight"] @ u
        dt = chosen[: layer.dt_rank]
        B = chosen[layer.dt_rank : layer.dt_rank + layer.d_state]
        C = chosen[layer.dt_rank + layer.d_state :]
        step = np.log1p(np.exp(w["dt_proj.weight"] @ dt + w["dt_proj.bias"]))
        for channel in range(layer.d_inner):
            for s in range(layer.d_state):
                decay = np.exp(-step[channel] * np.exp(w["A_log"][channel, s]))
                h[channel, s] = decay * h[channel, s] + step[channel] * B[s] * u[channel]
        y = h @ C + w["D"] * u
        y = y * z[t] * sigmoid(z[t])
        rows.append(w["out_proj.weight"] @ y + w.get("out_proj.bias", zero))
    return np.array(rows)


SETTINGS = [
    {}, {"d_state": 3, "d_conv": 2, "expand": 1, "dt_rank": 3}, {"d_state": 4, "bias": True},
    {"d_state": 4, "conv_bias": False}, {"d_state": 4, "use_fast_path": False},
]  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_equals_a_loop_written_by_hand(settings: dict) -> None:
    layer = block(**settings)
    x = tt.randn(2, 7, 6, dtype=tt.float64)
    expected = np.stack([by_hand(layer, sequence) for sequence in x.numpy()])
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_one_token_at_a_time_equals_the_full_run(settings: dict) -> None:
    layer = block(**settings)
    x = tt.randn(3, 9, 6, dtype=tt.float64)
    full = layer(x).detach().numpy()
    for start in (0, 1, 2, 8):  # 1 and 2: fewer tokens than the convolution is wide
        if start:
            y, *states = layer.prefill(x[:, :start])
            outputs = [y]
        else:
            outputs, states = [], list(layer.allocate_inference_cache(3))
        for t in range(start, 9):
            y, *states = layer.step(x[:, t : t + 1], *states)
            outputs.append(y)
        np.testing.assert_allclose(tt.cat(outputs, 1).detach().numpy(), full, atol=1e-12)


def test_no_token_sees_those_after_it() -> None:
    layer = block()
    x = tt.randn(1, 8, 6, dtype=tt.float64, requires_grad=True)
    layer(x)[0, 4].sum().backward()
    seen = x.grad[0].abs().sum(1)
    assert (seen[:5] > 0).all() and (seen[5:] == 0).all()


def test_names_and_shapes_are_those_of_mamba_ssm() -> None:
    layer = nn.Mamba(48, d_state=8, expand=2)
    shapes = {name: tuple(value.shape) for name, value in layer.state_dict().items()}
    assert shapes == {
        "A_log": (96, 8), "D": (96,), "in_proj.weight": (192, 48), "conv1d.weight": (96, 1, 4),
        "conv1d.bias": (96,), "x_proj.weight": (19, 96), "dt_proj.weight": (96, 3),
        "dt_proj.bias": (96,), "out_proj.weight": (48, 96),
    }  # fmt: skip


def test_initial_values() -> None:
    layer = nn.Mamba(64, d_state=5, dt_min=0.01, dt_max=0.5, dt_scale=2.0)
    np.testing.assert_allclose(layer.A_log.exp().detach().numpy(),
                               np.tile(np.arange(1, 6), (128, 1)), rtol=1e-6)  # fmt: skip
    assert (layer.D == 1).all()
    dt = nn.functional.softplus(layer.dt_proj.bias)
    assert 0.0099 < float(dt.min()) < 0.02 and 0.3 < float(dt.max()) < 0.501
    assert float(layer.dt_proj.weight.abs().max()) <= 2 / 4**0.5
    constant = nn.Mamba(64, dt_init="constant").dt_proj.weight
    assert (constant == 0.5).all()
    floor = nn.Mamba(64, dt_init_floor=0.2).dt_proj.bias
    np.testing.assert_allclose(nn.functional.softplus(floor).detach().numpy(), 0.2, rtol=1e-5)


def test_errors_of_the_block() -> None:
    layer = nn.Mamba(6)
    with pytest.raises(tt.ShapeError, match=r"Mamba: got shape \(2, 6\), expected \(N, L, d_model"):
        layer(tt.zeros(2, 6))
    with pytest.raises(tt.ShapeError, match=r"Mamba.step: got shape \(1, 2, 6\), expected one"):
        layer.step(tt.zeros(1, 2, 6), *layer.allocate_inference_cache(1))
    with pytest.raises(ValueError, match="Mamba: got dt_init='zeros'"):
        nn.Mamba(6, dt_init="zeros")


@pytest.mark.slow
def test_it_learns_to_select() -> None:
    """At the end, name the one token that was marked: what to keep depends on the input."""
    tt.manual_seed(0)
    rng = np.random.default_rng(0)
    kinds, length = 6, 12

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(2 * kinds, 16)
            self.mix = nn.Mamba(16, d_state=8)
            self.head = nn.Linear(16, kinds)

        def forward(self, idx: tt.Tensor) -> tt.Tensor:
            x = self.embed(idx)
            return self.head(x + self.mix(x))[:, -1]

    def batch(size: int) -> tuple[tt.Tensor, tt.Tensor]:
        tokens = rng.integers(0, kinds, (size, length))
        rows, places = np.arange(size), rng.integers(0, length, size)
        answer = tokens[rows, places].copy()
        tokens[rows, places] += kinds  # the marked one
        return tt.tensor(tokens), tt.tensor(answer)

    net = Net()
    optimizer = tt.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(150):
        idx, answer = batch(64)
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(idx), answer).backward()
        optimizer.step()
    idx, answer = batch(512)
    assert float((net(idx).argmax(1) == answer).float().mean()) > 0.99
