"""Parts of a diffusion transformer: a worksheet's numbers, PyTorch's layers, initial values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nn
import tinytensor as tt

from ...ops.test_table import needs_torch, torch

# ------------------------------------------------------------------------------------------
# Worksheet 002-18-DiT: tokens are columns of two features; the last column of a weight is its bias
# ------------------------------------------------------------------------------------------

FRAMES = [[[1, 0], [0, 1]], [[2, 0], [1, 0]], [[0, 1], [3, 0]], [[0, 1], [4, 0]]]
PATCHES = [[1, 0, 0, 1], [2, 0, 1, 0], [0, 1, 3, 0], [0, 1, 4, 0]]
NOISE = [[0, 2, 1, -1], [-1, 0, -2, 1]]
CONDITION = [1, 1, 0, 1, -1]  # the time and the prompt
ENCODER = [[1, 0, -1, 0, 0], [0, 1, 0, 1, 1]]
SCALE_SHIFT = [[1, 0, 0, 1, 0, 0], [0, 1, 0, -1, 1, 0], [1, 1, 0, 0, 1, 0], [0, 2, 0, 1, 0, 2]]
MIXING = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
FEED_FORWARD = [[-1, 1, -2], [0, 1, -5]]
DECODER = [[1, 0, 1], [0, 1, 0], [1, 1, 0], [-1, 1, 0]]


def apply(rows: list, x: tt.Tensor) -> tt.Tensor:
    """Weight and bias of a worksheet that has tokens in columns."""
    table = tt.tensor(rows).float()
    return table[:, :-1] @ x + table[:, -1:]


def test_worksheet() -> None:
    patches = nn.patchify(tt.tensor(FRAMES).float().unsqueeze(1), 2)  # a frame is one patch
    assert patches.squeeze(1).tolist() == PATCHES
    latent = apply(ENCODER, patches.squeeze(1)).relu()
    assert latent.tolist() == [[1, 0, 0, 1], [3, 2, 6, 1]]
    noised = latent + tt.tensor(NOISE)
    assert noised.tolist() == [[1, 2, 1, 0], [2, 2, 4, 2]]

    norm = nn.AdaptiveLayerNorm(2, 5, normalize=False, plus_one=False)
    table = tt.tensor(SCALE_SHIFT).float()[[2, 3, 0, 1]]  # the module has the shift first
    norm.linear.weight.data.copy_(table[:, :-1])
    norm.linear.bias.data.copy_(table[:, -1])
    condition = tt.tensor(CONDITION).float()
    assert norm.linear(condition).tolist() == [1, 5, 2, -1]
    conditioned = norm(noised.T, condition).T
    assert conditioned.tolist() == [[3, 5, 3, 1], [3, 3, 1, 3]]
    attended = nn.attention_pooling(conditioned, tt.tensor(MIXING).float())
    assert attended.tolist() == [[8, 8, 4, 1], [6, 4, 4, 3]]
    predicted = apply(FEED_FORWARD, attended)
    assert predicted.tolist() == [[-4, -6, -2, 0], [1, -1, -1, -2]]
    predicted.retain_grad()
    (0.5 * (predicted - tt.tensor(NOISE)) ** 2).sum().backward()
    assert predicted.grad.tolist() == [[-4, -8, -3, 1], [2, -1, 1, -3]]
    free = noised - predicted
    assert free.tolist() == [[5, 8, 3, 0], [1, 3, 5, 4]]
    decoded = apply(DECODER, free).relu()
    assert decoded.tolist() == [[6, 9, 4, 1], [1, 3, 5, 4], [6, 11, 8, 4], [0, 0, 2, 4]]
    frames = nn.unpatchify(decoded.unsqueeze(1), 2, 2, 2)
    assert frames[0, 0].tolist() == [[6, 9], [4, 1]]


# ------------------------------------------------------------------------------------------
# The block
# ------------------------------------------------------------------------------------------


def block(**settings) -> nn.DiTBlock:
    return nn.DiTBlock(8, 2, dtype=tt.float64, **settings)


def inputs() -> tuple[tt.Tensor, tt.Tensor]:
    tt.manual_seed(0)
    return (tt.randn(3, 5, 8, dtype=tt.float64, requires_grad=True),
            tt.randn(3, 8, dtype=tt.float64, requires_grad=True))  # fmt: skip


def disturb(module: nn.Module) -> nn.Module:
    with tt.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * tt.randn(parameter.shape, dtype=parameter.dtype))
    return module


def test_the_block_starts_as_identity_and_can_leave_it() -> None:
    layer, (x, c) = block(), inputs()
    y = layer(x, c)
    np.testing.assert_array_equal(y.detach().numpy(), x.detach().numpy())
    y.sin().sum().backward()
    gate1, gate2 = layer.adaLN_modulation[1].weight.grad.chunk(6)[2::3]
    assert gate1.abs().sum() > 0 and gate2.abs().sum() > 0  # the gates open first
    assert not layer.attn.qkv.weight.grad.any()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(x.detach().numpy()))


def test_the_last_layer_starts_at_zero() -> None:
    layer = nn.DiTFinalLayer(8, 2, 3, dtype=tt.float64)
    y = layer(*inputs())
    assert y.shape == (3, 5, 12) and not y.any()


@needs_torch
@pytest.mark.parametrize("ratio", [4.0, 1.5])
def test_block_against_layers_of_pytorch(ratio: float) -> None:
    layer, (x, c) = disturb(block(mlp_ratio=ratio)), inputs()
    w = {k: torch.tensor(v.numpy()).requires_grad_() for k, v in layer.state_dict().items()}
    tx, tc = (torch.tensor(t.detach().numpy()).requires_grad_() for t in (x, c))
    F = torch.nn.functional

    def linear(name: str, value):
        return F.linear(value, w[f"{name}.weight"], w[f"{name}.bias"])

    six = linear("adaLN_modulation.1", F.silu(tc)).reshape(3, 6, 1, 8)
    shift1, scale1, gate1, shift2, scale2, gate2 = (six[:, i] for i in range(6))
    n = F.layer_norm(tx, (8,), eps=1e-6) * (scale1 + 1) + shift1
    attended, _ = F.multi_head_attention_forward(
        n.transpose(0, 1), n.transpose(0, 1), n.transpose(0, 1), 8, 2, w["attn.qkv.weight"],
        w["attn.qkv.bias"], None, None, False, 0.0, w["attn.proj.weight"], w["attn.proj.bias"],
    )  # fmt: skip
    h = tx + gate1 * attended.transpose(0, 1)
    n = F.layer_norm(h, (8,), eps=1e-6) * (scale2 + 1) + shift2
    expected = h + gate2 * linear("mlp.fc2", F.gelu(linear("mlp.fc1", n), approximate="tanh"))

    y = layer(x, c)
    np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), atol=1e-11)
    y.sin().sum().backward()
    expected.sin().sum().backward()
    pairs = [(x, tx), (c, tc), *((p, w[name]) for name, p in layer.named_parameters())]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), atol=1e-10)


@needs_torch
def test_last_layer_against_layers_of_pytorch() -> None:
    layer, (x, c) = disturb(nn.DiTFinalLayer(8, 2, 3, dtype=tt.float64)), inputs()
    w = {k: torch.tensor(v.numpy()) for k, v in layer.state_dict().items()}
    F = torch.nn.functional
    tx, tc = (torch.tensor(t.detach().numpy()) for t in (x, c))
    two = F.linear(F.silu(tc), w["adaLN_modulation.1.weight"], w["adaLN_modulation.1.bias"])
    shift, scale = two[:, None, :8], two[:, None, 8:]
    n = F.layer_norm(tx, (8,), eps=1e-6) * (scale + 1) + shift
    expected = F.linear(n, w["linear.weight"], w["linear.bias"])
    np.testing.assert_allclose(layer(x, c).detach().numpy(), expected.numpy(), atol=1e-12)


def test_the_condition_reaches_each_sample_alone() -> None:
    layer, (x, c) = disturb(block()), inputs()
    before = layer(x, c).detach().numpy()
    other = c.detach().clone()
    other[1] += 1
    after = layer(x, other).detach().numpy()
    changed = np.abs(after - before).max(axis=(1, 2)) > 1e-6
    assert changed.tolist() == [False, True, False]


def test_names_are_those_of_the_paper() -> None:
    names = set(nn.DiTBlock(8, 2).state_dict())
    layers = ("attn.qkv", "attn.proj", "mlp.fc1", "mlp.fc2", "adaLN_modulation.1")
    assert names == {f"{layer}.{kind}" for layer in layers for kind in ("weight", "bias")}
    assert set(nn.TimestepEmbedding(8).state_dict()) == {
        f"mlp.{i}.{kind}" for i in (0, 2) for kind in ("weight", "bias")
    }


def test_adaptive_norm_starts_as_layer_norm() -> None:
    x, c = inputs()
    layer = nn.AdaptiveLayerNorm(8, 8, dtype=tt.float64)
    expected = nn.functional.layer_norm(x, (8,), eps=1e-6)
    np.testing.assert_array_equal(layer(x, c).detach().numpy(), expected.detach().numpy())


# ------------------------------------------------------------------------------------------
# Time and patches
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim, period", [(8, 10000.0), (7, 100.0), (2, 10.0), (1, 10.0)])
def test_timestep_embedding(dim: int, period: float) -> None:
    times = [0.0, 1.0, 2.5, 999.0]
    half = dim // 2
    expected = []
    for t in times:
        waves = [t * period ** (-i / half) for i in range(half)]
        row = [math.cos(w) for w in waves] + [math.sin(w) for w in waves]
        expected.append(row + [0.0] * (dim % 2))
    found = nn.timestep_embedding(tt.tensor(times, dtype=tt.float64), dim, period)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


def test_integer_times() -> None:
    layer = nn.TimestepEmbedding(8, 16)
    whole, floats = layer(tt.tensor([3, 40])), layer(tt.tensor([3.0, 40.0]))
    assert whole.dtype == tt.float32 and (whole == floats).all()
    assert nn.timestep_embedding(tt.tensor([3]), 4).dtype == tt.float32


def test_patches_are_read_row_by_row() -> None:
    picture = tt.arange(24).reshape(1, 1, 4, 6)
    patches = nn.patchify(picture, 2)
    assert patches.tolist() == [
        [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11],
         [12, 13, 18, 19], [14, 15, 20, 21], [16, 17, 22, 23]]
    ]  # fmt: skip
    several = tt.randn(2, 3, 4, 6)
    back = nn.unpatchify(nn.patchify(several, 2), 2, 4, 6)
    np.testing.assert_array_equal(back.numpy(), several.numpy())
    assert nn.patchify(several, 2)[0, 0, :3].tolist() == several[0, :, 0, 0].tolist()


def test_patch_embedding_is_a_linear_layer_on_each_patch() -> None:
    layer = nn.PatchEmbed(2, 3, 5, dtype=tt.float64)
    x = tt.randn(2, 3, 4, 6, dtype=tt.float64)
    weight = layer.proj.weight.permute(0, 2, 3, 1).flatten(1)  # pixels first, then channels
    expected = nn.functional.linear(nn.patchify(x, 2), weight, layer.proj.bias)
    np.testing.assert_allclose(layer(x).detach().numpy(), expected.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("make, error, message", [
    (lambda: nn.DiTBlock(8, 3), ValueError, "hidden_size=8 is not divisible by num_heads=3"),
    (lambda: nn.patchify(tt.zeros(1, 1, 3, 4), 2), tt.ShapeError, r"got shape \(1, 1, 3, 4\)"),
    (lambda: nn.unpatchify(tt.zeros(1, 5, 4), 2, 4, 4), tt.ShapeError, r"expected \(N, 4, 4·"),
    (lambda: nn.PatchEmbed(2, 1, 4)(tt.zeros(1, 1, 3, 4)), tt.ShapeError, "PatchEmbed: got shape"),
])  # fmt: skip
def test_errors(make, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        make()
