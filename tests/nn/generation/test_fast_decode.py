"""fast_decode: the same numbers as `Block.forward`, and unused where hooks or modes forbid it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from nn.models import gpt as gpt_module
from tinytensor.kernels import get_kernels

pytestmark = pytest.mark.skipif(get_kernels() != "numba", reason="Numba is not installed")


def model(bias: bool = False, **settings: Any) -> nn.GPT:
    tt.manual_seed(0)
    gpt = nn.GPT(nn.GPTConfig(11, 24, 2, 4, 64, bias=bias, **settings)).eval()
    for parameter in gpt.parameters():
        nn.init.normal_(parameter, std=0.2)
    return gpt


def token_by_token(gpt: nn.GPT, idx: tt.Tensor) -> tt.Tensor:
    """Logits with a cache: three tokens first, then one at a time."""
    cache = gpt.new_cache(idx.shape[0])
    with tt.no_grad():
        steps = [gpt(idx[:, :3], cache=cache)[0]]
        steps += [gpt(idx[:, t : t + 1], cache=cache)[0] for t in range(3, idx.shape[1])]
    return tt.cat(steps, dim=1)


def runs(monkeypatch: pytest.MonkeyPatch) -> list:
    """Collect the results of fast_decode, for each token and block."""
    results: list = []
    inside = gpt_module.fast_decode

    def spy(*args: Any) -> Any:
        results.append(inside(*args))
        return results[-1]

    monkeypatch.setattr(gpt_module, "fast_decode", spy)
    return results


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("bias", [False, True])
def test_agrees_with_the_block(bias: bool, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gpt, idx = model(bias), tt.randint(0, 11, (rows, 20))
    results = runs(monkeypatch)
    found = token_by_token(gpt, idx)
    assert sum(y is not None for y in results) == 2 * 17
    with tt.no_grad():
        expected = gpt(idx)[0]
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-4)


def test_does_not_change_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, seen = gpt_module.fast_decode, []

    def spy(block: Any, x: tt.Tensor, cache: Any) -> Any:
        before = x.numpy().copy()
        y = inside(block, x, cache)
        if y is not None:
            np.testing.assert_array_equal(x.numpy(), before)
            seen.append(y)
        return y

    monkeypatch.setattr(gpt_module, "fast_decode", spy)
    token_by_token(model(), tt.randint(0, 11, (2, 6)))
    assert len(seen) == 2 * 3


CASES = {
    "hook": lambda gpt: gpt.blocks[0].attn.qkv.register_forward_hook(lambda *_: None),
    "training": lambda gpt: gpt.train(),
    "other module": lambda gpt: setattr(
        gpt.blocks[0].mlp, "fc", nn.Sequential(gpt.blocks[0].mlp.fc)
    ),
    "float64": lambda gpt: gpt.double(),
}


@pytest.mark.parametrize("case", list(CASES))
def test_declines_where_the_result_could_differ(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gpt, idx = model(), tt.randint(0, 11, (1, 8))
    CASES[case](gpt)
    results = runs(monkeypatch)
    found = token_by_token(gpt, idx)
    assert results[2::2] == [None] * 5  # the first block, for the tokens that come alone
    with tt.no_grad():
        expected = gpt(idx)[0]
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-4)


def test_is_seen_by_capture_attention() -> None:
    gpt, idx = model(), tt.randint(0, 11, (1, 6))
    with nn.capture_attention() as maps:
        token_by_token(gpt, idx)
    assert len(maps["GPT.blocks.0.attn"]) == 4
    assert tuple(maps["GPT.blocks.0.attn"][-1].shape) == (1, 4, 1, 6)
