"""Seq2SeqRNN: PyTorch's cells, padding without effect, step by step = full run."""

from __future__ import annotations

import numpy as np
import pytest

import nn
import tinytensor as tt

from ...ops.test_table import needs_torch, torch

SRC = [[3, 1, 4, 1, 5], [2, 6, 5, 0, 0], [3, 0, 0, 0, 0]]
LENGTHS = [5, 3, 1]
TGT = [[1, 2, 3, 4], [1, 5, 4, 3], [1, 1, 2, 2]]
KINDS = [{}, {"rnn": "lstm"}, {"attention": False}, {"rnn": "lstm", "attention": False}]


def translator(**settings) -> nn.Seq2SeqRNN:
    tt.manual_seed(0)
    return nn.Seq2SeqRNN(7, 6, 3, 4, dtype=tt.float64, **settings)


def same(a: tt.Tensor, b: tt.Tensor, atol: float = 1e-12) -> None:
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=0, atol=atol)


@needs_torch
@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_against_cells_of_pytorch(settings: dict) -> None:
    """One sentence at a time, so that there is no padding, with PyTorch's layers and weights."""
    model = translator(pad=0, **settings)
    lstm, attends = settings.get("rnn") == "lstm", settings.get("attention", True)
    logits = model(tt.tensor(SRC), tt.tensor(TGT))
    w = {k: torch.tensor(v.numpy()).requires_grad_() for k, v in model.state_dict().items()}

    layer = torch.nn.LSTM if lstm else torch.nn.GRU
    encoder = layer(3, 4, bidirectional=True, batch_first=True).double()
    own = {k.removeprefix("encoder."): v for k, v in w.items() if k.startswith("encoder.")}
    cell = torch.lstm_cell if lstm else torch.gru_cell
    matrices = [w[f"decoder.{name}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    rows = []
    for source, length, target in zip(SRC, LENGTHS, TGT):
        x = w["src_tokens.weight"][source[:length]]
        states, last = torch.func.functional_call(encoder, own, (x[None],))
        states, last = states[0], (last[0] if lstm else last).reshape(8)
        h = torch.tanh(w["bridge.weight"] @ last + w["bridge.bias"])
        c = torch.zeros(4, dtype=torch.float64)
        steps = []
        for token in target:
            context = last
            if attends:
                scores = []
                for state in states:
                    z = (
                        w["attention.query_proj.weight"] @ h
                        + w["attention.key_proj.weight"] @ state
                    )
                    scores.append(w["attention.score.weight"][0] @ torch.tanh(z))
                context = torch.softmax(torch.stack(scores), 0) @ states
            x = torch.cat([w["tgt_tokens.weight"][token], context])[None]
            if lstm:
                h, c = (t[0] for t in cell(x, (h[None], c[None]), *matrices))
            else:
                h = cell(x, h[None], *matrices)[0]
            steps.append(w["head.weight"] @ torch.cat([h, context]) + w["head.bias"])
        rows.append(torch.stack(steps))
    expected = torch.stack(rows)
    np.testing.assert_allclose(logits.detach().numpy(), expected.detach().numpy(), atol=1e-12)

    logits.sin().sum().backward()
    expected.sin().sum().backward()
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(parameter.grad.numpy(), w[name].grad.numpy(), atol=1e-11)


@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_padding_changes_nothing(settings: dict) -> None:
    model = translator(pad=0, **settings)
    full = model(tt.tensor(SRC), tt.tensor(TGT))
    longer = tt.nn.functional.pad(tt.tensor(SRC), (0, 3))
    same(model(longer, tt.tensor(TGT)), full)
    for i, length in enumerate(LENGTHS):  # each sentence by itself
        alone = model(tt.tensor([SRC[i][:length]]), tt.tensor(TGT[i : i + 1]))
        same(alone[0], full[i])
    without = translator(**settings)  # the same weights, and lengths instead of pad
    same(without(tt.tensor(SRC), tt.tensor(TGT), lengths=LENGTHS), full)
    same(without(tt.tensor(SRC), tt.tensor(TGT), lengths=tt.tensor(LENGTHS)), full)
    assert not np.allclose(without(tt.tensor(SRC), tt.tensor(TGT)).detach().numpy(),
                           full.detach().numpy())  # fmt: skip


def test_only_padding_at_the_end_is_padding() -> None:
    model = translator(pad=0)
    _, weights = model(tt.tensor([[3, 0, 4, 0]]), tt.tensor([[1]]), need_weights=True)
    assert (weights[0, 0] > 0).tolist() == [True, True, True, False]


def test_attention_weights() -> None:
    model = translator(pad=0)
    plain = model(tt.tensor(SRC), tt.tensor(TGT))
    logits, weights = model(tt.tensor(SRC), tt.tensor(TGT), need_weights=True)
    same(logits, plain, atol=0)
    assert weights.shape == (3, 4, 5)
    np.testing.assert_allclose(weights.sum(-1).detach().numpy(), 1, atol=1e-14)
    inside = np.arange(5) < np.array(LENGTHS)[:, None]
    found = weights.detach().numpy()
    assert (found[~np.broadcast_to(inside[:, None], found.shape)] == 0).all()
    assert (found[np.broadcast_to(inside[:, None], found.shape)] > 0).all()


def test_its_attention_is_additive_attention() -> None:
    model = translator(pad=0)
    memory = model.encode(tt.tensor(SRC))
    state = model.initial_state(memory)
    context, weights = model.attention(state[0], memory.keys, memory.values, memory.padding)
    plain = nn.AdditiveAttention(4, 8, 4, dtype=tt.float64)
    plain.load_state_dict(model.attention.state_dict())
    expected = plain(state[0], memory.values, key_padding_mask=memory.padding)
    same(context, expected[0])
    same(weights, expected[1])


def test_weights_can_be_captured_with_their_gradients() -> None:
    model = translator()
    with nn.capture_attention() as maps:
        logits = model(tt.tensor(SRC), tt.tensor(TGT))
    logits.sin().sum().backward()
    ((path, captured),) = maps.items()
    assert path.endswith("attention") and len(captured) == 4
    assert captured[0].shape == (3, 1, 5) and captured[0].grad.abs().sum() > 0


@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_steps_equal_the_full_run(settings: dict) -> None:
    model = translator(pad=0, **settings)
    src, tgt = tt.tensor(SRC), tt.tensor(TGT)
    full = model(src, tgt)
    memory = model.encode(src)
    state = model.initial_state(memory)
    for t in range(4):
        logits, state, weights = model.decode_step(tgt[:, t], state, memory)
        same(logits, full[:, t])
        assert (weights is None) == (model.attention is None)
    same(model.decode(tgt, memory), full)


def test_generate_goes_on_from_a_memory() -> None:
    model = translator(pad=0)
    memory = model.encode(tt.tensor(SRC))
    start = tt.tensor([[1], [1], [1]])
    found = nn.generate(lambda idx: model.decode(idx, memory), start, 5)
    token, state = start[:, 0], model.initial_state(memory)
    for t in range(5):
        logits, state, _ = model.decode_step(token, state, memory)
        token = logits.argmax(1)
        assert found[:, t + 1].tolist() == token.tolist()


def test_errors() -> None:
    with pytest.raises(ValueError, match="Seq2SeqRNN: got rnn='rnn', expected 'gru' or 'lstm'"):
        translator(rnn="rnn")
    with pytest.raises(ValueError, match="need_weights=True, but it was made without attention"):
        translator(attention=False)(tt.tensor(SRC), tt.tensor(TGT), need_weights=True)
    with pytest.raises(tt.ShapeError, match=r"Seq2SeqRNN: src has shape \(5,\), expected \(N, S\)"):
        translator()(tt.tensor(SRC[0]), tt.tensor(TGT))
    with pytest.raises(RuntimeError, match="expected numbers from 1 to 2"):
        translator(pad=0)(tt.tensor([[1, 2], [0, 0]]), tt.tensor(TGT[:2]))


STEPS = 350


@pytest.mark.slow
def test_attention_helps_with_long_sentences() -> None:
    """Copying 12 tokens is learned with attention, but hardly through one vector in that time."""
    accuracy = {}
    for attention in (True, False):
        tt.manual_seed(0)
        rng = np.random.default_rng(0)
        model = nn.Seq2SeqRNN(10, 10, 16, 32, attention=attention)
        optimizer = tt.optim.Adam(model.parameters(), lr=1e-2)
        scheduler = tt.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)

        def batch(size: int, rng=rng) -> tuple[tt.Tensor, tt.Tensor]:
            src = rng.integers(1, 10, (size, 12))
            start = np.zeros((size, 1), dtype=np.int64)
            return tt.tensor(src), tt.tensor(np.concatenate([start, src[:, :-1]], 1))

        for _ in range(STEPS):
            src, tgt = batch(32)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(src, tgt).flatten(0, 1), src.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
        src, tgt = batch(256)
        with tt.no_grad():
            accuracy[attention] = float((model(src, tgt).argmax(-1) == src).float().mean())
    assert accuracy[True] > 0.95 and accuracy[False] < 0.8, accuracy
