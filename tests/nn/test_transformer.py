"""Transformers beyond the module table: parity at size, what masks mean, decoding step by step."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

from ..ops.test_table import needs_torch, torch

LAYERS = {"num_encoder_layers": 2, "num_decoder_layers": 2, "dim_feedforward": 48}


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def small(**options: Any) -> nn.Transformer:
    tt.manual_seed(0)
    settings = {**LAYERS, "dropout": 0.0, "batch_first": True, "dtype": tt.float64, **options}
    return nn.Transformer(24, 4, **settings)


# ------------------------------------------------------------------------------------------
# PyTorch
# ------------------------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-10), ("float32", 1e-5)])
def test_same_as_pytorch(norm_first: bool, training: bool, dtype: str, tolerance: float) -> None:
    """2 + 2 layers, padding and causal masks: the output and every gradient."""
    options = {**LAYERS, "dropout": 0.0, "norm_first": norm_first, "batch_first": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on nested tensors
        theirs = torch.nn.Transformer(24, 4, **options, dtype=getattr(torch, dtype))
    ours = nn.Transformer(24, 4, **options, dtype=getattr(tt, dtype))
    ours.load_state_dict(theirs.state_dict())
    results = []
    for library, model in ((torch, theirs), (tt, ours)):
        model.train(training)
        src = library.tensor(normal(3, 9, 24).astype(dtype), requires_grad=True)
        tgt = library.tensor(normal(3, 7, 24, seed=1).astype(dtype), requires_grad=True)
        padding = library.arange(9) >= library.tensor([9, 6, 4])[:, None]
        mask = model.generate_square_subsequent_mask(7, dtype=src.dtype)
        y = model(
            src,
            tgt,
            tgt_mask=mask,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        (y * library.tensor(normal(3, 7, 24, seed=2).astype(dtype))).sum().backward()
        gradients = {name: p.grad for name, p in model.named_parameters()}
        results.append({"y": y.detach(), "src": src.grad, "tgt": tgt.grad} | gradients)
    expected, found = results
    assert list(found) == list(expected)
    for name, value in expected.items():
        scale = 1 + float(value.abs().max())
        error = np.abs(found[name].numpy() - value.numpy()).max()
        assert error <= tolerance * scale, name
        assert str(found[name].dtype).endswith(dtype), name


@needs_torch
def test_repr_and_keys_are_those_of_pytorch() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.nn.Transformer(8, 2, 1, 2, 16, bias=False)
    ours = nn.Transformer(8, 2, 1, 2, 16, bias=False)
    # Their last layer is a subclass of Linear for a quantizer's sake; ours is a Linear.
    assert repr(ours) == repr(theirs).replace("NonDynamicallyQuantizableLinear", "Linear")
    assert list(ours.state_dict()) == list(theirs.state_dict())


@needs_torch
def test_square_subsequent_mask_is_that_of_pytorch() -> None:
    expected = torch.nn.Transformer.generate_square_subsequent_mask(4)
    found = nn.Transformer.generate_square_subsequent_mask(4)
    assert found.dtype == tt.float32
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_weights_start_xavier_uniform_and_unlike_each_other() -> None:
    model = small()
    layers = [*model.encoder.layers, *model.decoder.layers]
    for layer in layers:
        for weight in (layer.linear1.weight, layer.self_attn.in_proj_weight):
            bound = math.sqrt(6 / sum(weight.shape))
            assert 0.9 * bound < weight.abs().max() <= bound
    values = [layer.linear1.weight.detach() for layer in layers]
    assert not any((a == b).any() for i, a in enumerate(values) for b in values[:i])


# ------------------------------------------------------------------------------------------
# Layers and stacks
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stack, layer", [
    (nn.TransformerEncoder, nn.TransformerEncoderLayer),
    (nn.TransformerDecoder, nn.TransformerDecoderLayer),
])  # fmt: skip
def test_layers_are_independent_copies(stack: Any, layer: Any) -> None:
    original = layer(8, 2, 16)
    copies = stack(original, 3).layers
    everything = [original, *copies]
    memory = [p.data_ptr() for module in everything for p in module.parameters()]
    assert len(memory) == len(set(memory))
    first, second, _ = copies
    assert (first.linear1.weight == second.linear1.weight).all()
    with tt.no_grad():
        first.linear1.weight.zero_()
    assert second.linear1.weight.any() and original.linear1.weight.any()


def test_modules_know_their_paths() -> None:
    model = small()
    x = tt.tensor(normal(1, 3, 24))
    with nn.capture_attention() as maps:
        model(x, x)
    assert list(maps) == [
        "Transformer.encoder.layers.0.self_attn",
        "Transformer.encoder.layers.1.self_attn",
        "Transformer.decoder.layers.0.self_attn",
        "Transformer.decoder.layers.0.multihead_attn",
        "Transformer.decoder.layers.1.self_attn",
        "Transformer.decoder.layers.1.multihead_attn",
    ]


def test_custom_stacks_replace_the_own_ones() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    encoder = nn.TransformerEncoder(layer, 1)
    model = nn.Transformer(8, 2, custom_encoder=encoder, num_decoder_layers=1, dim_feedforward=16)
    assert model.encoder is encoder
    assert len(model.decoder.layers) == 1


def test_activation_may_be_a_module_and_is_then_copied_along() -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8, activation=nn.PReLU())
    model = nn.TransformerEncoder(layer, 2)
    names = [name for name, _ in model.named_parameters() if "activation" in name]
    assert names == ["layers.0.activation.weight", "layers.1.activation.weight"]


def test_dropout_in_training_only() -> None:
    model = small(dropout=0.5)
    x = tt.tensor(normal(1, 3, 24))
    assert (model(x, x) != model(x, x)).any()
    tt.manual_seed(1)
    first = model(x, x)
    tt.manual_seed(1)
    assert (model(x, x) == first).all()
    model.eval()
    assert (model(x, x) == model(x, x)).all()


# ------------------------------------------------------------------------------------------
# Masks
# ------------------------------------------------------------------------------------------


def as_float(mask: tt.Tensor) -> tt.Tensor:
    return tt.zeros(mask.shape, dtype=tt.float64).masked_fill(mask, -math.inf)


@pytest.mark.parametrize("norm_first", [False, True])
def test_kinds_of_causal_mask_agree(norm_first: bool) -> None:
    model = small(norm_first=norm_first)
    src, tgt = tt.tensor(normal(2, 5, 24)), tt.tensor(normal(2, 4, 24, seed=1))
    look_ahead = nn.look_ahead_mask(4)
    expected = model(src, tgt, tgt_mask=look_ahead.expand(8, 4, 4))  # one for each head
    for mask in (look_ahead, as_float(look_ahead)):
        for hint in (None, True, False):
            y = model(src, tgt, tgt_mask=mask, tgt_is_causal=hint)
            assert (y - expected).abs().max() < 1e-12
    assert (model(src, tgt) - expected).abs().max() > 1e-3


def test_padding_has_no_influence() -> None:
    model = small()
    src, tgt = normal(2, 5, 24), tt.tensor(normal(2, 4, 24, seed=1))
    padding = nn.padding_mask(tt.tensor([5, 3]))
    masks = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding}
    before = model(tt.tensor(src), tgt, **masks)
    src[1, 3:] = 100.0
    after = model(tt.tensor(src), tgt, **masks)
    assert (before - after).abs().max() < 1e-12
    alone = model(tt.tensor(src[1:, :3]), tgt[1:])
    assert (after[1:] - alone).abs().max() < 1e-12


@pytest.mark.parametrize("norm_first", [False, True])
def test_all_padding_gives_numbers_and_gradients(norm_first: bool) -> None:
    """PyTorch gives NaN here."""
    model = small(norm_first=norm_first)
    src = tt.tensor(normal(2, 5, 24), requires_grad=True)
    tgt = tt.tensor(normal(2, 4, 24, seed=1))
    padding = nn.padding_mask(tt.tensor([0, 3]), max_length=5)
    y = model(src, tgt, src_key_padding_mask=padding, memory_key_padding_mask=padding)
    (y * y).sum().backward()
    assert y.isfinite().all() and src.grad is not None and src.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    assert not src.grad[0].any()


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_teacher_forcing_equals_step_by_step_decoding(norm_first: bool, batch_first: bool) -> None:
    """What the decoder says of all positions at once, it says when they come one by one."""
    model = small(norm_first=norm_first, batch_first=batch_first).eval()
    shape = (lambda n, t: (n, t, 24)) if batch_first else (lambda n, t: (t, n, 24))
    src, tgt = tt.tensor(normal(*shape(2, 5))), tt.tensor(normal(*shape(2, 6), seed=1))
    padding = nn.padding_mask(tt.tensor([5, 3]))
    with tt.no_grad():
        memory = model.encoder(src, src_key_padding_mask=padding)
        look_ahead = nn.look_ahead_mask(6)
        at_once = model.decoder(tgt, memory, look_ahead, memory_key_padding_mask=padding)
        for t in range(1, 7):
            so_far = tgt[:, :t] if batch_first else tgt[:t]
            y = model.decoder(
                so_far, memory, nn.look_ahead_mask(t), memory_key_padding_mask=padding
            )
            last, expected = (
                (y[:, -1], at_once[:, t - 1]) if batch_first else (y[-1], at_once[t - 1])
            )
            assert (last - expected).abs().max() < 1e-12


# ------------------------------------------------------------------------------------------
# Errors
# ------------------------------------------------------------------------------------------

X = tt.zeros(2, 3, 24, dtype=tt.float64)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: small()(X, X[:1]), ["(2, 3, 24)", "(1, 3, 24)", "batch"]),
        (lambda: small()(X[..., :4], X), ["(2, 3, 4)", "d_model=24"]),
        (lambda: small(activation="swish"), ["'swish'", "'relu'", "'gelu'"]),
        (lambda: small()(X, X, tgt_mask=nn.look_ahead_mask(4)), ["attn_mask", "(4, 4)", "(3, 3)"]),
    ],
)
def test_errors_say_what_was_got_and_expected(call: Any, words: list) -> None:
    with pytest.raises(RuntimeError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
