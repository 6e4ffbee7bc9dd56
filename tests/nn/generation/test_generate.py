"""Generating: filters and sampling by hand figures, cache or not, streaming, stopping, beams."""

from __future__ import annotations

import gc
import itertools
import math
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from nn import beam_search, generate, stream
from nn.generation.sampling import (
    apply_temperature,
    inverse_cdf,
    penalize_repetition,
    top_k_filter,
    top_p_filter,
)

from ...ops.test_table import needs_torch, torch

F = nn.functional
INF = math.inf
V = 11  # the vocabulary of the models here


def gpt(seed: int = 0, **options: Any) -> nn.GPT:
    """A small GPT with weights so large that its next token is far from a matter of rounding."""
    tt.manual_seed(seed)
    settings = {"vocab_size": V, "block_size": 12, "n_layer": 2, "n_head": 2, "n_embd": 8}
    return sharpen(nn.GPT(nn.GPTConfig(**{**settings, **options})))


def translator(seed: int = 0, **options: Any) -> nn.Seq2SeqTransformer:
    tt.manual_seed(seed)
    sizes = {"d_model": 8, "nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 2}
    settings = {**sizes, "dim_feedforward": 16, "max_len": 16, "pad": 0, "dtype": tt.float64}
    return nn.Seq2SeqTransformer(13, V, **{**settings, **options})


def sharpen(model: Any) -> Any:
    with tt.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8)
    return model


def tokens(*shape: int, high: int = V, seed: int = 0) -> tt.Tensor:
    return tt.tensor(np.random.default_rng(seed).integers(0, high, shape))


def sources() -> tt.Tensor:
    src = tokens(3, 6, high=12) + 1
    src[1, 4:] = 0  # padding
    return src


def uniforms(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).random(shape)


def markov(logits: Any) -> Any:
    """A model whose next token depends on the last one only: logits (V, V)."""
    table = tt.tensor(logits, dtype=tt.float64)
    return lambda idx: table[idx]  # (N, T) → (N, T, V)


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
    """A model that says the same, whatever came before: position t has row t."""
    logits = tt.tensor(probabilities, dtype=tt.float64).log()
    return lambda idx: logits[: idx.shape[1]].expand(len(idx), -1, -1)


def test_sampling_a_sentence_by_hand() -> None:
    """Cumulated from the last word of the list on, the numbers pick "how are you"."""
    bottom_up = tt.tensor(SENTENCE, dtype=tt.float64).flip(-1)
    u = tt.tensor([0.65, 0.92, 0.52], dtype=tt.float64)
    expected = [WORDS[::-1].index(word) for word in ("how", "are", "you")]
    assert inverse_cdf(bottom_up, u).tolist() == expected
    idx = generate(sentence_model(bottom_up), tt.tensor([[0]]), 3, temperature=1.0, uniforms=u)
    assert idx.tolist() == [[0, *expected]]


def test_greedy_sentence_by_hand() -> None:
    """The first of equals: "are" comes before "am"."""
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
    """Even where the probabilities sum to less than u, by rounding."""
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


# ------------------------------------------------------------------------------------------
# The cache changes nothing, nor does streaming
# ------------------------------------------------------------------------------------------

MODES: dict[str, dict] = {
    "greedy": {},
    "repetition penalty": {"repetition_penalty": 1.7},
    "sampling": {"temperature": 1.3, "uniforms": uniforms(3, 20)},
    "one row of numbers": {"temperature": 2.0, "uniforms": uniforms(20)},
    "top-k": {"temperature": 3.0, "top_k": 4, "uniforms": uniforms(3, 20)},
    "top-p": {"temperature": 3.0, "top_p": 0.8, "uniforms": uniforms(3, 20)},
    "all at once": {
        "temperature": 2.0,
        "top_k": 6,
        "top_p": 0.9,
        "repetition_penalty": 1.2,
        "uniforms": uniforms(3, 20),
    },
    "stop": {"temperature": 3.0, "stop": 3, "uniforms": uniforms(3, 20)},
    "several stops": {"temperature": 3.0, "stop": [3, 5], "pad": 9, "uniforms": uniforms(3, 20)},
}
BEAMS: dict[str, dict] = {
    "two beams": {"beams": 2},
    "beams, stop": {"beams": 4, "stop": [3, 5], "pad": 9},
    "beams, length penalty": {"beams": 3, "stop": 3, "length_penalty": 1.0},
    "beams, repetition penalty": {"beams": 3, "repetition_penalty": 1.5},
}
ALL = MODES | BEAMS


@pytest.mark.parametrize("options", ALL.values(), ids=ALL)
@pytest.mark.parametrize("position", ["learned", "rotary"])
@pytest.mark.parametrize("block_size", [12, 40])
def test_cache_changes_nothing(position: str, block_size: int, options: dict) -> None:
    """Within block_size and past it."""
    model, idx = gpt(position=position, block_size=block_size), tokens(3, 4)
    expected = generate(model, idx, 20, use_cache=False, **options)
    found = generate(model, idx, 20, **options)
    assert found.tolist() == expected.tolist()
    assert found.dtype == tt.int64 and (found[:, :4] == idx).all()
    if "stop" not in options:
        assert found.shape == (3, 24)


@pytest.mark.parametrize("options", ALL.values(), ids=ALL)
@pytest.mark.parametrize("norm_first", [False, True])
def test_cache_changes_nothing_for_the_translator(norm_first: bool, options: dict) -> None:
    model, src = translator(norm_first=norm_first), sources()
    if "uniforms" in options:
        options = options | {"uniforms": options["uniforms"][..., :15]}
    expected = model.generate(src, 1, 2, 16, use_cache=False, **options)
    found = model.generate(src, 1, 2, 16, **options)
    assert found.tolist() == expected.tolist()
    assert found.shape[0] == 3 and 1 < found.shape[1] <= 16 and (found[:, 0] == 1).all()


@pytest.mark.parametrize("options", ALL.values(), ids=ALL)
def test_each_row_of_a_batch_is_as_alone(options: dict) -> None:
    model, idx = gpt(), tokens(3, 4)
    batch = generate(model, idx, 20, **options)
    for row in range(3):
        own = dict(options)
        if np.ndim(own.get("uniforms")) == 2:
            own["uniforms"] = own["uniforms"][[row]]
        alone = generate(model, idx[[row]], 20, **own)[0].tolist()
        assert batch[row, : len(alone)].tolist() == alone
        assert set(batch[row, len(alone) :].tolist()) <= {options.get("pad", options.get("stop"))}


@pytest.mark.parametrize("options", MODES.values(), ids=MODES)
def test_streaming_gives_the_same(options: dict) -> None:
    model, idx = gpt(), tokens(3, 4)
    columns = list(stream(model, idx, 20, **options))
    assert all(column.shape == (3,) and column.dtype == idx.dtype for column in columns)
    found = tt.cat([idx, tt.stack(columns, dim=1)], dim=1)
    assert found.tolist() == generate(model, idx, 20, **options).tolist()


def test_past_block_size_the_model_reads_the_last_tokens() -> None:
    model, idx = gpt(block_size=5).eval(), tokens(2, 8)
    with tt.no_grad():
        for _ in range(4):
            token = model(idx[:, -5:])[0][:, -1].argmax(dim=-1, keepdim=True)
            idx = tt.cat([idx, token], dim=1)
    assert generate(model, idx[:, :8], 4).tolist() == idx.tolist()


def test_cache_is_used_up_to_block_size() -> None:
    model, read = gpt(block_size=8), []
    model.register_forward_pre_hook(lambda module, args: read.append(args[0].shape[1]))
    generate(model, tokens(1, 4), 7)
    assert read == [4, 1, 1, 1, 1, 8, 8]
    read.clear()
    generate(model, tokens(1, 4), 3, use_cache=False)
    assert read == [4, 5, 6]


def test_any_function_of_token_ids_will_do() -> None:
    model, idx = gpt().eval(), tokens(2, 3)
    expected = generate(model, idx, 6).tolist()
    assert generate(lambda idx: model(idx)[0], idx, 6).tolist() == expected
    assert generate(lambda idx: model(idx), idx, 6).tolist() == expected
    assert generate(lambda idx: model(idx)[0][:, -1:], idx, 6).tolist() == expected
    seen: list[int] = []
    generate(lambda idx: (seen.append(idx.shape[1]), model(idx)[0])[1], idx, 4, block_size=4)
    assert seen == [3, 4, 4, 4]


# ------------------------------------------------------------------------------------------
# Stopping, modes, GPT's own method
# ------------------------------------------------------------------------------------------

CYCLE = [[1.0 if j == (i + 1) % 5 else 0.0 for j in range(5)] for i in range(5)]  # 0 1 2 3 4 0 …


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, [[0, 1, 2, 3, 4, 0], [2, 3, 4, 0, 1, 2]]),
        ({"stop": 4}, [[0, 1, 2, 3, 4], [2, 3, 4, 4, 4]]),
        ({"stop": 4, "pad": 7}, [[0, 1, 2, 3, 4], [2, 3, 4, 7, 7]]),
        ({"stop": (4, 2), "pad": 7}, [[0, 1, 2], [2, 3, 4]]),  # in the prompt it stops nothing
        ({"stop": [1]}, [[0, 1, 1, 1, 1], [2, 3, 4, 0, 1]]),
        ({"stop": []}, [[0, 1, 2, 3, 4, 0], [2, 3, 4, 0, 1, 2]]),
        ({"stop": np.int64(4)}, [[0, 1, 2, 3, 4], [2, 3, 4, 4, 4]]),
    ],
    ids=str,
)
@pytest.mark.parametrize("beams", [1, 2])
def test_stop_tokens(options: dict, expected: list, beams: int) -> None:
    logits = 100 * np.asarray(CYCLE)
    found = generate(markov(logits), tt.tensor([[0], [2]]), 5, beams=beams, **options)
    assert found.tolist() == expected


@pytest.mark.parametrize("beams", [1, 2])
def test_no_new_tokens(beams: int) -> None:
    idx = tokens(2, 3)
    assert generate(gpt(), idx, 0, beams=beams).tolist() == idx.tolist()
    assert list(stream(gpt(), idx, 0)) == []


@pytest.mark.parametrize("beams", [1, 2])
def test_model_runs_in_eval_mode_and_gets_its_mode_back(beams: int) -> None:
    model, modes = gpt(dropout=0.5), []
    model.blocks[1].eval()
    before = [module.training for module in model.modules()]
    model.register_forward_hook(
        lambda *_: modes.append((any(m.training for m in model.modules()), tt.is_grad_enabled()))
    )
    first = generate(model, tokens(1, 3), 4, beams=beams)
    assert first.tolist() == generate(model.eval(), tokens(1, 3), 4, beams=beams).tolist()
    assert modes == [(False, False)] * 8 and tt.is_grad_enabled()
    model = gpt(dropout=0.5)
    model.blocks[1].eval()
    generate(model, tokens(1, 3), 4, beams=beams)
    assert [module.training for module in model.modules()] == before


def test_modes_come_back_after_an_error() -> None:
    def fail(*_: Any) -> None:
        raise KeyError("stop here")

    model = gpt()
    model.head.register_forward_hook(fail)
    with pytest.raises(KeyError):
        generate(model, tokens(1, 3), 4)
    assert all(module.training for module in model.modules()) and tt.is_grad_enabled()


def test_an_abandoned_stream_leaves_nothing_behind() -> None:
    model = gpt(dropout=0.5)
    parts = stream(model, tokens(1, 3), 8)
    next(parts)
    assert model.training and model.blocks[0].training and tt.is_grad_enabled()
    _, loss = model(tokens(1, 3), tokens(1, 3))  # training goes on in between
    loss.backward()
    next(parts)
    del parts
    gc.collect()
    assert all(module.training for module in model.modules()) and tt.is_grad_enabled()


def test_gpt_draws_unless_told_otherwise() -> None:
    """The signature of the small GPTs: generate(idx, max_new_tokens, temperature, top_k)."""
    model, idx = gpt(), tokens(2, 3)
    for arguments in [(), (0.8,), (1.0, 3)]:
        tt.manual_seed(5)
        found = model.generate(idx, 6, *arguments)
        tt.manual_seed(5)
        assert found.tolist() == generate(model, idx, 6, *(arguments or (1.0,))).tolist()
    assert model.generate(idx, 6, 0.0).tolist() == generate(model, idx, 6).tolist()
    greedy = model.generate(idx, 6, top_k=1)
    assert greedy.tolist() == generate(model, idx, 6).tolist()
    assert model.generate(idx, 6, beams=3).tolist() == generate(model, idx, 6, beams=3).tolist()


# ------------------------------------------------------------------------------------------
# Beam search
# ------------------------------------------------------------------------------------------


def log_probability(model: Any, idx: tt.Tensor, start: int) -> np.ndarray:
    """Σ log p of the tokens from start on, for each row."""
    with tt.no_grad():
        log_p = F.log_softmax(model(idx[:, :-1])[0].double(), dim=-1)  # (N, T - 1, V)
        of_next = log_p.gather(2, idx[:, 1:, None]).squeeze(2)  # (N, T - 1)
        return of_next[:, start - 1 :].sum(dim=1).numpy()


def all_continuations(model: Any, prompt: list, steps: int, stop: tuple, penalty: float) -> list:
    """(score, sequence) of everything that can follow, best first."""
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
    """The likeliest first token, 1, leads to unlikely ones; 2 does not."""
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


# ------------------------------------------------------------------------------------------
# The translator
# ------------------------------------------------------------------------------------------


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


# ------------------------------------------------------------------------------------------
# Errors
# ------------------------------------------------------------------------------------------


def run(*args: Any, **options: Any) -> Any:
    prompt, count, *more = args or (tokens(1, 3), 4)
    return generate(gpt(), prompt, count, *more, **options)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: run(tokens(1, 0), 4), RuntimeError, ["(1, 0)", "(N, T)", "at least one token"]),
        (lambda: run(tokens(3), 4), RuntimeError, ["(3,)", "(N, T)"]),
        (lambda: run([[1, 2], [3]], 4), TypeError, ["list", "different lengths"]),
        (lambda: run(tt.ones(1, 3), 4), TypeError, ["float32", "integers"]),
        (lambda: run(tokens(1, 3), -1), ValueError, ["max_new_tokens=-1", "0 or more"]),
        (lambda: run(tokens(1, 3), 1.5), TypeError, ["float"]),
        (lambda: run(temperature=-0.5), ValueError, ["temperature", "-0.5"]),
        (lambda: run(temperature=INF), ValueError, ["temperature", "inf"]),
        (lambda: run(temperature=math.nan), ValueError, ["temperature", "nan"]),
        (lambda: run(top_k=0), ValueError, ["top_k", "0", "at least 1"]),
        (lambda: run(top_p=0.0), ValueError, ["top_p", "0.0", "0 < top_p <= 1"]),
        (lambda: run(top_p=1.1), ValueError, ["top_p", "1.1"]),
        (lambda: run(repetition_penalty=0), ValueError, ["repetition penalty", "above 0"]),
        (lambda: run(uniforms=[0.5] * 4), ValueError, ["uniforms", "temperature"]),
        (lambda: run(temperature=1, uniforms=[0.5] * 3), RuntimeError, ["(3,)", "(1, 4)"]),
        (lambda: run(temperature=1, uniforms=[0, 0, 0, 1]), ValueError, ["uniforms", "[0, 1)"]),
        (lambda: run(beams=0), ValueError, ["beams=0", "1 <= n_best <= beams"]),
        (lambda: run(beams=V + 1), ValueError, [f"beams={V + 1}", f"at most {V}"]),
        (lambda: run(beams=2, temperature=0.5), ValueError, ["beams=2", "sampling"]),
        (lambda: run(beams=2, top_k=2), ValueError, ["beams=2", "sampling"]),
        (lambda: beam_search(gpt(), tokens(1, 3), 4, 2, n_best=3), ValueError, ["n_best=3"]),
        (lambda: stream(gpt(), tokens(1, 3), 4, top_p=2), ValueError, ["top_p"]),  # at once
        (lambda: generate(lambda x: tt.ones(1, 5), tokens(1, 3), 1), RuntimeError, ["(N, T, V)"]),
        (lambda: translator().generate(sources(), 1, 2, 17), ValueError, ["max_len=17", "16"]),
        (lambda: translator().generate(sources(), 1, 2, 0), ValueError, ["max_len=0"]),
        (lambda: top_k_filter(tt.ones(3), 0), ValueError, ["top_k"]),
        (lambda: top_p_filter(tt.ones(3), -1), ValueError, ["top_p"]),
        (lambda: apply_temperature(tt.ones(3), 0), ValueError, ["temperature"]),
        (lambda: inverse_cdf(tt.ones(2, 3), tt.ones(3)), RuntimeError, ["(3,)", "(2,)"]),
    ],
)
def test_errors_say_what_was_got_and_expected(call: Any, error: type, words: list) -> None:
    with pytest.raises(error) as caught:
        call()
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)
