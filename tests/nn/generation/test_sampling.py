"""Filters of logits and drawing a token, checked by hand and against PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from nn import generate
from nn.generation.sampling import (
    apply_temperature,
    inverse_cdf,
    penalize_repetition,
    top_k_filter,
    top_p_filter,
)

from ...ops.test_table import needs_torch, torch
from .small_models import gpt, markov, tokens

F = nn.functional
INF = math.inf

# ------------------------------------------------------------------------------------------
# Filters
# ------------------------------------------------------------------------------------------

P = [0.1, 0.5, 0.15, 0.25]  # from the likeliest on: 0.5, 0.75, 0.9, 1


@pytest.mark.parametrize(
    "filtered, expected",
    [
        (lambda x: top_k_filter(x, 1), [0, 1, 0, 0]),
        (lambda x: top_k_filter(x, 2), [0, 1, 0, 1]),
        (lambda x: top_k_filter(x, 4), [1, 1, 1, 1]),
        (lambda x: top_k_filter(x, 99), [1, 1, 1, 1]),
        (lambda x: top_p_filter(x, 1e-9), [0, 1, 0, 0]),
        (lambda x: top_p_filter(x, 0.49), [0, 1, 0, 0]),
        (lambda x: top_p_filter(x, 0.51), [0, 1, 0, 1]),
        (lambda x: top_p_filter(x, 0.76), [0, 1, 1, 1]),
        (lambda x: top_p_filter(x, 0.91), [1, 1, 1, 1]),
        (lambda x: top_p_filter(x, 1.0), [1, 1, 1, 1]),
    ],
)
@pytest.mark.parametrize("shape", [(4,), (1, 4), (2, 3, 4)])
def test_filters_keep_the_likeliest(filtered: Any, expected: list, shape: tuple) -> None:
    logits = tt.tensor(P).log().expand(shape)
    found = filtered(logits)
    kept = tt.tensor(expected, dtype=tt.bool).expand(shape)
    assert found.dtype == tt.float32 and found.shape == shape
    assert (found[kept] == logits[kept]).all() and (found[~kept] == -INF).all()


def test_ties_with_the_last_of_top_k_stay() -> None:
    assert top_k_filter(tt.tensor([1.0, 2.0, 1.0, 0.0]), 2).tolist() == [1, 2, 1, -INF]


def test_repetition_penalty_divides_what_is_positive_and_multiplies_what_is_negative() -> None:
    logits = tt.tensor([[3.0, -3.0, 0.0, 6.0, -INF], [1.0, 2.0, 3.0, 4.0, 5.0]])
    idx = tt.tensor([[0, 1, 0, 4], [2, 2, 2, 2]])  # one that occurs twice counts once
    expected = [[1.5, -6.0, 0.0, 6.0, -INF], [1.0, 2.0, 1.5, 4.0, 5.0]]
    assert penalize_repetition(logits, idx, 2.0).tolist() == expected
    assert (penalize_repetition(logits, idx, 1.0) == logits).all()
    assert logits[0, 0] == 3  # not in place


@pytest.mark.parametrize("temperature", [0.5, 2.0, 1e-30])
def test_temperature(temperature: float) -> None:
    p = np.asarray(P) ** (1 / max(temperature, 1e-3))  # softmax(log p / t) = p^(1/t) / Σ p^(1/t)
    found = F.softmax(apply_temperature(tt.tensor(P, dtype=tt.float64).log(), temperature), dim=-1)
    assert found.tolist() == pytest.approx(p / p.sum())


@needs_torch
@pytest.mark.parametrize("seed", range(5))
def test_filters_as_they_are_usually_written_for_pytorch(seed: int) -> None:
    raw = np.random.default_rng(seed).normal(size=(3, 20)).astype(np.float32)
    ours, theirs = tt.tensor(raw), torch.tensor(raw)
    smallest, _ = torch.topk(theirs, 6)
    top_k = theirs.masked_fill(theirs < smallest[:, [-1]], -INF)
    assert top_k_filter(ours, 6).tolist() == top_k.tolist()

    ordered, order = torch.sort(theirs, descending=True)
    remove = ordered.softmax(-1).cumsum(-1) > 0.7
    remove[:, 1:] = remove[:, :-1].clone()  # the one that crosses the line stays
    remove[:, 0] = False
    top_p = theirs.masked_fill(remove.scatter(1, order, remove), -INF)
    assert top_p_filter(ours, 0.7).tolist() == top_p.tolist()

    idx = np.random.default_rng(seed).integers(0, 20, (3, 5))
    score = torch.gather(theirs, 1, torch.tensor(idx))
    score = torch.where(score < 0, score * 1.3, score / 1.3)
    penalized = theirs.scatter(1, torch.tensor(idx), score)
    assert penalize_repetition(ours, tt.tensor(idx), 1.3).tolist() == penalized.tolist()


# ------------------------------------------------------------------------------------------
# Drawing with given random numbers
# ------------------------------------------------------------------------------------------

WORDS = ["I", "you", "they", "are", "am", "how", "why", "where", "who", "what"]
SENTENCE = [  # the probabilities of the words at three positions
    [0.01, 0.01, 0.01, 0.01, 0.01, 0.5, 0.1, 0.1, 0.15, 0.1],
    [0.01, 0.01, 0.01, 0.4, 0.4, 0.05, 0.05, 0.05, 0.01, 0.01],
    [0.03, 0.5, 0.4, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01],
]


def sentence_model(probabilities: Any) -> Any:
    """A model that ignores its input: position t has row t of the probabilities."""
    logits = tt.tensor(probabilities, dtype=tt.float64).log()
    return lambda idx: logits[: idx.shape[1]].expand(len(idx), -1, -1)


def test_sampling_a_sentence_by_hand() -> None:
    """Accumulated from the end of the list, the random numbers pick "how are you"."""
    bottom_up = tt.tensor(SENTENCE, dtype=tt.float64).flip(-1)
    u = tt.tensor([0.65, 0.92, 0.52], dtype=tt.float64)
    expected = [WORDS[::-1].index(word) for word in ("how", "are", "you")]
    assert inverse_cdf(bottom_up, u).tolist() == expected
    idx = generate(sentence_model(bottom_up), tt.tensor([[0]]), 3, temperature=1.0, uniforms=u)
    assert idx.tolist() == [[0, *expected]]


def test_greedy_sentence_by_hand() -> None:
    """Ties go to the first word: "are" comes before "am"."""
    idx = generate(sentence_model(SENTENCE), tt.tensor([[0]]), 3)
    assert [WORDS[i] for i in idx[0, 1:].tolist()] == ["how", "are", "you"]


@pytest.mark.parametrize(
    "u, token",
    [(0.0, 1), (0.2499, 1), (0.25, 3), (0.4999, 3), (0.5, 4), (0.9999, 4), (1 - 2**-53, 4)],
)
def test_inverse_cdf_takes_the_first_that_exceeds(u: float, token: int) -> None:
    p = tt.tensor([0.0, 0.25, 0.0, 0.25, 0.5, 0.0])
    assert int(inverse_cdf(p, tt.tensor(u, dtype=tt.float64))) == token


def test_inverse_cdf_never_takes_what_has_no_probability() -> None:
    """Even where rounding leaves the sum of the probabilities below u."""
    p = tt.tensor([[0.3, 0.699999, 0.0, 0.0]])
    assert inverse_cdf(p, tt.tensor([1 - 2**-53], dtype=tt.float64)).tolist() == [1]


def test_uniform_numbers_give_the_probabilities() -> None:
    u = (tt.arange(1000, dtype=tt.float64) + 0.5) / 1000
    p = tt.tensor(SENTENCE[0], dtype=tt.float64).expand(1000, 10)
    count = np.bincount(inverse_cdf(p, u).numpy(), minlength=10)
    assert count.tolist() == [round(1000 * x) for x in SENTENCE[0]]


def test_order_of_penalty_temperature_top_k_top_p() -> None:
    """By hand: logits 4, 3, 2, 1 become 2, 3, 2, 1, then 4, 6, 4, 2, then p = .11, .79, .11."""
    model = markov([[4.0, 3.0, 2.0, 1.0]] * 4)
    options: dict = {"temperature": 0.5, "top_k": 3, "repetition_penalty": 2.0}

    def draw(u: float, **more: Any) -> int:
        return int(generate(model, tt.tensor([[0]]), 1, **options, **more, uniforms=[u])[0, 1])

    assert [draw(u) for u in (0.10, 0.11, 0.89, 0.90, 0.999)] == [0, 1, 1, 2, 2]
    # The nucleus of 0.85 has two tokens, p = .12, .88: the tie goes to the one that comes first.
    assert [draw(u, top_p=0.85) for u in (0.115, 0.12, 0.999)] == [0, 1, 1]


def test_generator_and_seed_decide_what_is_drawn() -> None:
    model, idx = gpt(), tokens(2, 3)

    def draw(seed: int) -> list:
        source = tt.Generator().manual_seed(seed)
        return generate(model, idx, 8, temperature=2.0, generator=source).tolist()

    assert draw(1) == draw(1) != draw(2)
    tt.manual_seed(3)
    first = generate(model, idx, 8, temperature=2.0).tolist()
    tt.manual_seed(3)
    assert generate(model, idx, 8, temperature=2.0).tolist() == first
