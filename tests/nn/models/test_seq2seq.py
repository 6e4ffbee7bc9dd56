"""The translator: decoding step by step, its memory, its padding."""

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
