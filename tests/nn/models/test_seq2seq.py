"""Seq2SeqTransformer: decoding step by step, memory, padding, initial weights."""

from __future__ import annotations

import pytest

import nn
import tinytensor as tt

from ..generation.small_models import sources, tokens, translator

F = nn.functional


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("pieces", [[1] * 6, [6], [1, 2, 3]], ids=str)
def test_teacher_forcing_equals_step_by_step(norm_first: bool, pieces: list) -> None:
    model, src = translator(norm_first=norm_first).eval(), sources()
    tgt = tokens(3, 6, seed=1)
    expected = model(src, tgt)
    with tt.no_grad():
        memory, padding, cache = model.encode(src), model.padding(src), model.new_cache(3, 6)
        found, start = [], 0
        for size in pieces:
            found.append(model.decode(tgt[:, start : start + size], memory, padding, cache))
            start += size
    assert cache.length == 6
    assert (tt.cat(found, dim=1) - expected).abs().max() < 1e-12


def test_translator_is_greedy_by_its_own_logits() -> None:
    model, src = translator().eval(), sources()
    tgt = model.generate(src, 1, 2, 10)
    for row in range(3):
        for t in range(1, tgt.shape[1]):
            assert int(model(src[[row]], tgt[[row], :t])[0, -1].argmax()) == int(tgt[row, t])
            if tgt[row, t] == 2:
                assert (tgt[row, t + 1 :] == 0).all()  # padding
                break


def test_translator_reads_the_memory_once() -> None:
    model, calls = translator(), []
    for layer in model.transformer.decoder.layers:
        project = layer.multihead_attn._project
        layer.multihead_attn._project = lambda *x, project=project: calls.append(1) or project(*x)
    model.generate(sources(), 1, 2, 10, stop=())
    assert len(calls) == 2  # once in each layer


def test_translator_does_not_see_padding() -> None:
    model, src = translator(), tokens(1, 4, high=12) + 1
    for beams in (1, 3):
        expected = model.generate(src, 1, 2, 12, beams=beams)
        assert model.generate(F.pad(src, (0, 3)), 1, 2, 12, beams).tolist() == expected.tolist()


def test_translator_gets_its_mode_back() -> None:
    model = translator()
    model.generate(sources(), 1, 2, 4)
    assert all(module.training for module in model.modules())


@pytest.mark.parametrize("norm_first", [False, True])
def test_decoding_without_a_cache_equals_forward(norm_first: bool) -> None:
    model = translator(norm_first=norm_first).eval()
    src, tgt = tokens(2, 6, high=12) + 1, tokens(2, 5, high=11, seed=1)
    src[1, 4:] = 0
    expected = model(src, tgt)
    assert expected.shape == (2, 5, 11)
    memory, padding = model.encode(src), model.padding(src)
    for t in range(1, 6):
        logits = model.decode(tgt[:, :t], memory, padding)
        assert (logits[:, -1] - expected[:, t - 1]).abs().max() < 1e-12


def test_padding_changes_no_logits() -> None:
    model = translator().eval()
    src, tgt = tokens(1, 4, high=12) + 1, tokens(1, 3, high=11)
    assert (model(F.pad(src, (0, 3)), tgt) - model(src, tgt)).abs().max() < 1e-12
    assert model.padding(src) is not None and translator(pad=None).padding(src) is None


def test_weights_start_and_are_tied() -> None:
    model = translator(tie_weights=True, d_model=64)
    assert model.head.weight is model.tgt_tokens.weight
    assert float(model.src_tokens.weight.std()) == pytest.approx(1 / 8, rel=0.1)
