"""generate and stream: with and without a cache, stopping, modes, errors."""

from __future__ import annotations

import gc
import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from nn import beam_search, generate, stream
from nn.generation.sampling import apply_temperature, inverse_cdf, top_k_filter, top_p_filter

from .small_models import V, gpt, markov, sources, tokens, translator, uniforms

INF = math.inf

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
