"""Attention pages: what is in them is what the engine computed; and the SVG and text forms."""

from __future__ import annotations

import base64
import importlib
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor.graph.data.attention_maps import collect_maps
from tinytensor.graph.drawing.attention_picture import attention_svg, attention_text
from tinytensor.graph.drawing.palette import DIVERGING, SEQUENTIAL
from tinytensor.graph.pages.attention import attention

SOURCE, TARGET = list("abcd"), ["<s>", "x", "y"]


def small_gpt() -> nn.GPT:
    tt.manual_seed(0)
    return nn.GPT(nn.GPTConfig(vocab_size=7, block_size=6, n_layer=2, n_head=2, n_embd=8))


def translator() -> nn.Seq2SeqTransformer:
    tt.manual_seed(0)
    return nn.Seq2SeqTransformer(
        9, 9, d_model=8, nhead=2, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=8,
        pad=0,
    ).eval()  # fmt: skip


def gpt_inputs() -> tuple[tt.Tensor, tt.Tensor]:
    return tt.tensor([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]]), tt.tensor([[2, 3, 4, 5, 6]] * 2)


SENTENCES = tt.tensor([[3, 4, 5, 0]]), tt.tensor([[1, 6, 7]])


def translation_loss(logits: tt.Tensor) -> tt.Tensor:
    return F.cross_entropy(logits.reshape(-1, 9), tt.tensor([6, 7, 2]))  # (1, 3, 9) → (3, 9)


def data_of(html: str) -> dict[str, Any]:
    found = re.search(r'id="data-attention">(.*?)</script>', html, re.DOTALL)
    assert found
    return json.loads(found[1])


def floats(text: str, *shape: int) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4").reshape(shape)


# ------------------------------------------------------------------------------------------
# Arrays
# ------------------------------------------------------------------------------------------


def test_maps_are_the_engines_numbers() -> None:
    model, inputs = small_gpt(), gpt_inputs()
    maps = collect_maps(model, inputs, tokens=list("hello"), sample=1)
    with nn.capture_attention() as captured:
        _, loss = model(*inputs)
    loss.backward()
    assert [each.path for each in maps] == list(captured)
    for each in maps:
        (A,) = captured[each.path]
        np.testing.assert_array_equal(each.weights, A[1].detach().numpy())
        np.testing.assert_array_equal(each.grad, A.grad[1].numpy())
        assert each.rows == each.columns == list("hello")


def test_scores_and_their_gradients_follow_from_the_weights() -> None:
    """softmax(scores) = weights; dS against autograd through the softmax."""
    for each in collect_maps(translator(), SENTENCES, translation_loss):
        assert each.scores is not None and each.grad is not None
        scores = tt.tensor(each.scores, requires_grad=True)
        weights = scores.softmax(dim=-1)
        np.testing.assert_allclose(each.weights, weights.detach().numpy(), atol=1e-6)
        weights.backward(tt.tensor(each.grad))
        assert scores.grad is not None and each.score_grad is not None
        np.testing.assert_allclose(each.score_grad, scores.grad.numpy(), atol=1e-7)
        np.testing.assert_allclose(each.score_grad.sum(axis=-1), 0, atol=1e-7)


def test_kinds_and_tokens_of_an_encoder_and_a_decoder() -> None:
    maps = collect_maps(translator(), SENTENCES, tokens=(SOURCE, TARGET))
    assert [each.kind for each in maps] == ["encoder"] * 2 + ["decoder", "cross"] * 2
    axes = {each.kind: (each.rows, each.columns) for each in maps}
    assert axes == {
        "encoder": (SOURCE, SOURCE), "decoder": (TARGET, TARGET), "cross": (TARGET, SOURCE),
    }  # fmt: skip
    assert all(each.grad is None for each in maps)
    masked = {each.kind: np.isneginf(each.bias[0]) for each in maps if each.bias is not None}
    assert (masked["encoder"] == [False, False, False, True]).all()
    assert (masked["cross"] == [False, False, False, True]).all()
    assert (masked["decoder"] == ~np.tri(3, dtype=bool)).all()


def test_no_gradient_of_the_user_is_touched() -> None:
    model = small_gpt()
    model(*gpt_inputs())[1].backward()
    before = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    with tt.no_grad():  # gradients come nevertheless
        maps = collect_maps(model, gpt_inputs())
    assert all(each.grad is not None for each in maps)
    after = [p.grad for p in model.parameters() if p.grad is not None]
    assert len(before) == len(after) and all((a == b).all() for a, b in zip(after, before))


def test_a_recurrent_decoder_gives_one_map_of_all_its_steps() -> None:
    tt.manual_seed(0)
    model = nn.Seq2SeqRNN(9, 9, 4, 4)
    (each,) = collect_maps(model, SENTENCES, lambda y: y.square().sum(), (SOURCE, TARGET))
    assert each.weights.shape == (1, 3, 4) and each.kind == "cross" and each.scores is None
    assert each.grad is not None and each.grad.shape == (1, 3, 4)
    assert (each.rows, each.columns) == (TARGET, SOURCE)
    with nn.capture_attention() as captured:
        model(*SENTENCES)
    (calls,) = captured.values()
    expected = [A[0, 0].tolist() for A in calls]
    np.testing.assert_allclose(each.weights[0], expected, rtol=1e-6)


class Twice(nn.Module):
    """One module, called twice, without a batch, and with one more key of zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.MultiheadAttention(4, 2, add_zero_attn=True)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        for _ in range(2):
            x, _ = self.mix(x, x, x)
        return x


def test_repeated_calls_and_additional_keys() -> None:
    tt.manual_seed(0)
    first, second = collect_maps(Twice(), {"x": tt.randn(3, 4)}, lambda y: y.sum(), list("abc"))
    assert (first.call, second.call) == (0, 1) and first.path == second.path
    assert first.weights.shape == (2, 3, 4)
    assert first.rows == list("abc") and first.columns == ["a", "b", "c", "+1"]


def plain(x: tt.Tensor) -> tt.Tensor:
    return x


ERRORS: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "no attention": (plain, {"inputs": tt.ones(2)}, ValueError, "no attention module ran in func"),
    "too many tokens": (None, {"tokens": list("abcdefg")}, ValueError, "got 7 tokens, expected 5"),
    "nested tokens": (None, {"tokens": [["a"], ["b"], ["c"]]}, ValueError, "tokens of 3 parts"),
    "sample": (None, {"sample": 2}, IndexError, "sample=2, expected one of a batch of 2"),
    "loss": (None, {"loss": lambda out: out[0]}, ValueError, r"the loss is \(2, 5, 7\), expected"),
    "no function": (None, {"loss": tt.ones(())}, TypeError, "loss is of Tensor, expected a func"),
}


@pytest.mark.parametrize("name", list(ERRORS))
def test_errors(name: str) -> None:
    model, arguments, error, message = ERRORS[name]
    settings = {"inputs": gpt_inputs(), **arguments}
    with pytest.raises(error, match=message):
        attention(small_gpt() if model is None else model, path=None, **settings)


# ------------------------------------------------------------------------------------------
# The page
# ------------------------------------------------------------------------------------------


def test_the_page_has_what_it_needs_to_work_out_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "attention.html"
    result = attention(translator(), SENTENCES, path, translation_loss, (SOURCE, TARGET))
    assert path.read_text() == result.html
    data = data_of(result.html)
    assert len(data["biases"]) == 3 and data["tokens"] == [SOURCE, TARGET]
    for each, sent in zip(result.maps, data["maps"]):
        heads, queries, keys = each.weights.shape
        width = sent["width"]
        q, k = floats(sent["query"], heads, queries, width), floats(sent["key"], heads, keys, width)
        bias = [floats(data["biases"][b], queries, keys) for b in sent["bias"]]
        scores = q @ k.swapaxes(-1, -2) * sent["scale"] + bias
        a = np.exp(scores - scores.max(axis=-1, keepdims=True))
        np.testing.assert_allclose(a / a.sum(-1, keepdims=True), each.weights, atol=1e-6)
        np.testing.assert_array_equal(floats(sent["grad"], heads, queries, keys), each.grad)
        assert max(sent["rowErrors"]["weights"]) < 1e-6
        assert max(sent["rowErrors"]["scoreGrad"]) < 1e-7


def test_hostile_tokens_and_notebooks() -> None:
    result = attention(small_gpt(), gpt_inputs(), None, tokens=["</script>", "<b>", '"', "\0", "é"])
    assert data_of(result.html)["tokens"] == [["</script>", "<b>", '"', "�", "é"]]
    bundle = result._repr_mimebundle_()
    assert bundle["text/plain"] == "AttentionPage(4 heads of 2 layers)"
    assert bundle["text/html"].startswith("<iframe srcdoc=")
    assert "<script" not in bundle["text/html"]


def test_too_much_for_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(
        "tinytensor.graph.pages.attention"
    )  # not the function of that name
    monkeypatch.setattr(module, "MOST_VALUES", 10)
    with pytest.raises(ValueError, match="the maps have 260 numbers, expected at most 10"):
        attention(small_gpt(), gpt_inputs(), None)


# ------------------------------------------------------------------------------------------
# SVG and text
# ------------------------------------------------------------------------------------------

A = np.array([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.1, 0.2, 0.7]])
SVG = "{http://www.w3.org/2000/svg}"


def cells_in(svg: str) -> dict[str, int]:
    """How many cells there are of each colour."""
    paths = ET.fromstring(svg).iter(f"{SVG}path")
    return {p.get("fill", ""): p.get("d", "").count("z") for p in paths if p.get("fill")}


def test_svg_of_weights(tmp_path: Path) -> None:
    svg = attention_svg(tt.tensor(A), ["the", "<b>", "&"], tmp_path / "a.svg", "Layer <0>")
    assert (tmp_path / "a.svg").read_text() == svg
    assert sum(cells_in(svg).values()) == 9 and cells_in(svg)[SEQUENTIAL["light"][0]] == 3
    texts = [text.text for text in ET.fromstring(svg).iter(f"{SVG}text")]
    assert texts[:4] == ["Layer <0>", "the", "<b>", "&"]
    assert texts.count(".75") == 1 and texts.count("1.00") == 1


def test_svg_of_gradients_has_zero_in_the_middle() -> None:
    colours = cells_in(attention_svg([[-2.0, 0.0], [1.0, 2.0]]))
    light = DIVERGING["light"]
    assert colours == {light[0]: 1, light[4]: 1, light[6]: 1, light[8]: 1}


def test_svg_of_heads_of_rows_and_columns_and_of_nan() -> None:
    weights = np.full((2, 2, 3), 0.5)
    weights[1, 0, 0] = np.nan
    svg = attention_svg(weights, (["q1", "q2"], ["k1", "k2", "k3"]))
    assert svg.count(">head ") == 2 and svg.count(">q1<") == svg.count(">k3<") == 2
    assert cells_in(svg)["url(#none)"] == 1
    assert attention_svg(np.zeros((1, 1)))  # all alike, and zero


def test_text() -> None:
    assert attention_text(A, ["a", "bc", "d"]) == (
        "      b\n    a c d\n a │██    │\nbc │░░▓▓  │\n d │  ░░▓▓│\n    ░ … █: up to 1\n"
    )


def test_text_of_gradients_and_heads() -> None:
    text = attention_text(np.array([[[-1.0, 0.0]], [[0.5, 1.0]]]), (["q"], ["x", "y"]))
    assert text == (
        "head 0\n   x y\nq │−█  │\n   ░ … █: up to 1, − below zero\n"
        "\nhead 1\n   x y\nq │▒▒██│\n   ░ … █: up to 1\n"
    )


@pytest.mark.parametrize(
    ("weights", "tokens", "message"),
    [
        (np.zeros((2, 2, 2, 2)), None, r"weights have shape \(2, 2, 2, 2\) .* weights\[0\]"),
        (np.zeros(3), None, r"weights have shape \(3,\)"),
        (A, ["a"], "got 1 tokens, expected 3"),
        (np.array([["a"]]), None, "expected numbers"),
    ],
    ids=["batch", "vector", "tokens", "text"],
)
def test_errors_of_pictures(weights: np.ndarray, tokens: Any, message: str) -> None:
    for function in (attention_svg, attention_text):
        with pytest.raises(ValueError, match=message):
            function(weights, tokens)
