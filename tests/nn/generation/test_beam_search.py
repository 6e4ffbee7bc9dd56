"""Beam search against every continuation, against plain lists, and against greedy search."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from nn import beam_search, generate

from .small_models import V, gpt, markov, tokens

F = nn.functional


def log_probability(model: Any, idx: tt.Tensor, start: int) -> np.ndarray:
    """Σ log p of the tokens from `start` on, for each row."""
    with tt.no_grad():
        log_p = F.log_softmax(model(idx[:, :-1])[0].double(), dim=-1)  # (N, T - 1, V)
        of_next = log_p.gather(2, idx[:, 1:, None]).squeeze(2)  # (N, T - 1)
        return of_next[:, start - 1 :].sum(dim=1).numpy()


def all_continuations(model: Any, prompt: list, steps: int, stop: tuple, penalty: float) -> list:
    """(score, sequence) of all continuations, best first."""
    found: list = []
    for length in range(1, steps + 1):
        sequences = [
            [*prompt, *new]
            for new in itertools.product(range(V), repeat=length)
            if not set(new[:-1]) & set(stop) and (new[-1] in stop or length == steps)
        ]
        if sequences:
            log_p = log_probability(model, tt.tensor(sequences), len(prompt))
            found += zip((log_p / length**penalty).tolist(), sequences, strict=True)
    return sorted(found, reverse=True)


@pytest.mark.parametrize("stop", [(), (3,), (3, 5, 8)], ids=str)
@pytest.mark.parametrize("penalty", [0.0, 1.0, -0.5])
@pytest.mark.parametrize("seed", range(3))
def test_wide_beams_find_the_best_of_all(seed: int, penalty: float, stop: tuple) -> None:
    """With a beam for each word, no two-token continuation is left out."""
    model = gpt(seed, n_layer=1).eval()
    prompts = tokens(2, 3, seed=seed)
    found, score = beam_search(
        model, prompts, 2, V, n_best=5, stop=stop, pad=0, length_penalty=penalty
    )
    for row, prompt in enumerate(prompts.tolist()):
        expected = all_continuations(model, prompt, 2, stop, penalty)[:5]
        assert score[row].tolist() == pytest.approx([s for s, _ in expected], rel=1e-5)
        for hypothesis, (_, sequence) in zip(found[row].tolist(), expected, strict=True):
            assert hypothesis == sequence + [0] * (found.shape[2] - len(sequence))


def beam_search_by_lists(
    model: Any, prompt: list, steps: int, beams: int, stop: tuple, penalty: float
) -> tuple[float, list]:
    """The same search in plain Python; hypotheses are (Σ log p, sequence, whether it is greedy)."""
    growing, finished = [(0.0, prompt, True)], []
    for length in range(1, steps + 1):
        every = []
        for total, sequence, greedy in growing:
            with tt.no_grad():
                logits = model(tt.tensor([sequence]))[0][0, -1].double()
            log_p, top = F.log_softmax(logits, -1).tolist(), int(logits.argmax())
            every += [(total + log_p[v], [*sequence, v], greedy and v == top) for v in range(V)]
        every.sort(key=lambda h: (not h[2], -h[0]))  # the greedy one first
        finished += [(h[0] / length**penalty, h[1]) for h in every[:beams] if h[1][-1] in stop]
        growing = [h for h in every if h[1][-1] not in stop][:beams]
    finished += [(h[0] / steps**penalty, h[1]) for h in growing]
    return max(finished)


@pytest.mark.parametrize("penalty", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("beams", [1, 2, 4])
def test_beam_search_against_plain_lists(beams: int, seed: int, penalty: float) -> None:
    model, prompts = gpt(seed).eval(), tokens(2, 3, seed=seed)
    found, score = beam_search(model, prompts, 6, beams, stop=(3, 5), pad=0, length_penalty=penalty)
    for row, prompt in enumerate(prompts.tolist()):
        best, sequence = beam_search_by_lists(model, prompt, 6, beams, (3, 5), penalty)
        assert found[row, 0].tolist() == sequence + [0] * (found.shape[2] - len(sequence))
        assert float(score[row, 0]) == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_beams_never_score_less_than_greedy(seed: int) -> None:
    model, idx = gpt(seed, block_size=20).eval(), tokens(1, 3, seed=seed)
    greedy = log_probability(model, generate(model, idx, 8), 3)
    for beams in (2, 3):
        _, score = beam_search(model, idx, 8, beams)
        assert float(score) >= greedy - 1e-5


def test_beams_find_what_greedy_misses() -> None:
    """The most probable first token, 1, leads to improbable ones; 2 does not."""
    p = np.full((5, 5), 0.2)
    p[0], p[2] = [0.05, 0.5, 0.4, 0.03, 0.02], [0.02, 0.03, 0.03, 0.02, 0.9]
    model, idx = markov(np.log(p)), tt.tensor([[0]])
    assert generate(model, idx, 2).tolist() == [[0, 1, 0]]
    assert generate(model, idx, 2, beams=2).tolist() == [[0, 2, 4]]
    found, score = beam_search(model, idx, 2, 2, n_best=2)
    assert found.tolist() == [[[0, 2, 4], [0, 1, 0]]]
    assert score.exp().tolist() == [pytest.approx([0.36, 0.1])]


def test_beams_grow_although_the_likeliest_tokens_end() -> None:
    """3 and 4 end, and come first everywhere; with the penalty, log 0.0675 / 2² is the best."""
    p = np.tile([1e-9, 0.15, 0.05, 0.45, 0.35], (5, 1))
    found, score = beam_search(
        markov(np.log(p)), tt.tensor([[0]]), 2, 2, stop=(3, 4), pad=0, length_penalty=2.0
    )
    assert found.tolist() == [[[0, 1, 3]]]
    assert score.tolist() == [[pytest.approx(np.log(0.15 * 0.45) / 4)]]


def test_length_penalty_prefers_longer_ones() -> None:
    """Token 4 ends. p = 0.4 at once; 0.6 · 0.5 after one more: √0.3 > 0.4 > 0.3."""
    p = np.full((5, 5), 1e-9)
    p[0, 4], p[0, 1], p[1, 4], p[1, 1] = 0.4, 0.6, 0.5, 0.49
    model, idx = markov(np.log(p)), tt.tensor([[0]])
    short = generate(model, idx, 2, beams=2, stop=4)
    assert short.tolist() == [[0, 4]]
    long = generate(model, idx, 2, beams=2, stop=4, length_penalty=1.0)
    assert long.tolist() == [[0, 1, 4]]


@pytest.mark.parametrize("options", [{}, {"stop": 3, "pad": 9}, {"repetition_penalty": 1.4}])
@pytest.mark.parametrize("seed", range(4))
def test_one_beam_is_greedy(seed: int, options: dict) -> None:
    model, idx = gpt(seed), tokens(3, 4, seed=seed)
    found, _ = beam_search(model, idx, 20, 1, **options)
    assert found[:, 0].tolist() == generate(model, idx, 20, **options).tolist()
