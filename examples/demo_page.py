"""The pages of the demo: index.html links to report, attention, backward pass and worksheet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plots import heat_map

import nn
import tinytensor as tt
from tinytensor import graph
from tinytensor.graph.pages.html import page, write_page
from tinytensor.text import escape
from tinytensor.train import Trainer

MOST_VALUES = 4096  # elements of a matrix that the step-through page shows one by one

STYLE = """<style>
main { max-width: 62rem; margin: 1rem auto 3rem; padding: 0 1rem; }
.cards { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(24rem, 1fr)); }
.card { border: 1px solid var(--line); border-radius: var(--radius); background: var(--panel);
  padding: 0 1rem 1rem; }
.card svg { max-width: 100%; height: auto; border-radius: var(--radius); }
.wide { grid-column: 1 / -1; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: 0.2rem 1.2rem 0.2rem 0; border-bottom: 1px solid var(--line); }
td + td { font-family: var(--code); }
</style>"""


@dataclass
class Translation:
    """A date as written, its translations by greedy and beam search, and the correct one."""

    written: str
    greedy: str
    beam: str
    date: str

    @property
    def right(self) -> bool:
        return self.greedy == self.beam == self.date


def write_pages(
    folder: Path,
    model: nn.Seq2SeqTransformer,
    trainer: Trainer,
    translations: list[Translation],
    exact: float,
    sample: tuple[tt.Tensor, tt.Tensor, tt.Tensor],
    tokens: tuple[list[str], list[str]],
    loss: Callable[[Any, Any], tt.Tensor],
) -> None:
    """Write all pages into the folder.

    sample: ids of a sentence (1, S), of the decoder's input (1, T) and of its target (1, T).
    tokens: the words of the sentence and of the decoder's input.
    """
    cards = [_translations(translations, exact, trainer)]
    *inputs, target = sample
    attention = graph.attention(
        model, inputs, folder / "attention.html", lambda logits: loss(logits, target), tokens,
        title=f"Attention: {''.join(tokens[1][1:])}",
    )  # fmt: skip
    cards.append(_alignment(attention.maps[-1], folder))
    if trainer.log.records:
        trainer.save_curve(folder / "curve.svg", "Loss on dates that are learnt, and unseen ones")
        graph.training_report(trainer.log.records, folder / "report.html", "Training report")
        text = "Loss, learning rate and accuracy; gradients and updates, layer by layer."
        picture = (folder / "curve.svg").read_text("utf-8")
        cards.append(_card("The training", text, "report.html", picture))
    cards.append(_backward(model, inputs, target, loss, folder))
    cards.append(_worksheet(folder))
    body = f'{STYLE}<main><div class="cards">{"".join(cards)}</div></main>'
    write_page(folder / "index.html", page("A transformer translates dates", body))


def _card(title: str, text: str, link: str = "", picture: str = "", wide: bool = False) -> str:
    """text, picture: HTML."""
    more = f'<p><a href="{escape(link)}">{escape(link)}</a></p>' if link else ""
    kind = "card wide" if wide else "card"
    return f'<section class="{kind}"><h2>{escape(title)}</h2><p>{text}</p>{more}{picture}</section>'


def _translations(translations: list[Translation], exact: float, trainer: Trainer) -> str:
    rows = "".join(
        f"<tr><td>{escape(t.written)}</td><td>{escape(t.greedy)}</td><td>{escape(t.beam)}</td>"
        f"<td>{'✓' if t.right else '✗ ' + escape(t.date)}</td></tr>"
        for t in translations
    )
    text = (
        f"After {trainer.step} steps, {trainer.seconds:.0f} seconds, {exact:.1%} of 2,000 unseen "
        "dates are correct to the last digit. Ten of them:"
    )
    head = "<tr><th>written</th><th>greedy</th><th>beam search</th><th></th></tr>"
    return _card("Translations", text, "", f"<table>{head}{rows}</table>", wide=True)


def _alignment(last: Any, folder: Path) -> str:
    """The decoder's last attention to the sentence, as the mean of its heads."""
    # Row t belongs to the token that the decoder reads; label it with the one it then writes.
    written = [*last.rows[1:], "<end>"]
    path = folder / "cross_attention.svg"
    heat_map(path, last.weights.mean(axis=0), written, last.columns, "What each sign looks at")
    text = (
        "Rows are the characters of the date as they are written, columns the words of the "
        "sentence: year, month and day are each looked up where they stand. The page has every "
        "head of every layer, with its scores and their gradients."
    )
    return _card("Attention", text, "attention.html", path.read_text("utf-8"))


def _backward(
    model: nn.Seq2SeqTransformer,
    inputs: list[tt.Tensor],
    target: tt.Tensor,
    loss: Callable[[Any, Any], tt.Tensor],
    folder: Path,
) -> str:
    """One backward pass through the decoder's last attention to the sentence, op by op."""
    title = "Backpropagation through attention, step by step"
    block = model.transformer.decoder.layers[-1].multihead_attn
    calls: list[tuple[tt.Tensor, tt.Tensor, tt.Tensor]] = []
    hook = block.register_forward_hook(
        lambda module, args, output: calls.append((args[0], args[1], output[0]))
    )
    value = loss(model(*inputs), target)
    hook.remove()
    query, memory, output = calls[0]
    (gradient,) = tt.autograd.grad(value, output)  # the gradient of the block's output
    query, memory = (x.detach().requires_grad_() for x in (query, memory))
    try:
        with graph.record(MOST_VALUES):
            again, _ = block(query, memory, memory, need_weights=True)
            value = (again * gradient).sum()  # a loss with the same gradient, for the block alone
        path = folder / "backward.html"
        graph.explore(value, path, model=block, max_values=MOST_VALUES, title=title)
    except graph.GraphvizMissing as missing:
        return _card(title, f"Not drawn: {escape(str(missing))}")
    text = (
        "The decoder's last attention to the sentence, in the trained model: step from the "
        "gradient of its output back to queries, keys, values and weights, with all numbers."
    )
    return _card(title, text, "backward.html", wide=True)


def _worksheet(folder: Path) -> str:
    """The same backward pass with numbers that can be worked out by hand."""
    sheet = graph.worksheet("attention-backward", folder / "worksheet.html", e_is_3=True)
    assert sheet.key_path is not None
    text = (
        "Fill in forward and backward through one small attention head: each number is checked "
        "as you type, and a wrong one comes with its likely cause. "
        f'<a href="{sheet.key_path.name}">All answers</a>'
    )
    return _card("Now by hand", text, "worksheet.html", wide=True)


__all__ = ["Translation", "write_pages"]
