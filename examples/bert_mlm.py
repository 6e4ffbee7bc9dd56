"""BERT learns a small language by filling in words, then uses it for a second task.

    python examples/bert_mlm.py
    python examples/bert_mlm.py --labelled 100

First, the model fills in masked words ("the dogs near the [mask] chase a cat"), which needs no
labels. Then it is fine-tuned on a few labelled sentences, right or wrong ("the dogs near the girl
chases a cat"), and compared with a model that was not pretrained. The result is the accuracy of the
pretrained model on unseen sentences.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness import Example, run
from plots import bars, lines
from sentences import LENGTH, MASK, PAD, WORDS, ids_of, sentence

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import graph, optim
from tinytensor.train.progress import Progress


@dataclass
class Settings(Example):
    quick_run = {"steps": 400, "fine_tuning": 80, "width": 32, "batch": 32, "lr": 0.005,
                 "target": 0.75}  # fmt: skip

    layers: int = 2
    heads: int = 4
    width: int = 64
    batch: int = 64
    lr: float = 0.002
    labelled: int = 300  # sentences with a label
    fine_tuning: int = 200  # steps
    steps: int = 1000  # of pretraining
    target: float = 0.9


def masked(ids: tt.Tensor) -> tuple[tt.Tensor, tt.Tensor]:
    """(ids with some words hidden, the original words there and −100 elsewhere)

    A fifth of the words is chosen: of these, 7 in 10 become [mask], 2 a random word, 1 stays. So
    the model has to question every word that it reads.
    """
    chosen = (tt.rand(*ids.shape) < 0.2) & (ids > MASK)
    kind = tt.rand(*ids.shape)
    hidden = ids.masked_fill(chosen & (kind < 0.7), MASK)
    others = tt.randint(MASK + 1, len(WORDS), ids.shape)
    hidden = tt.where(chosen & (kind > 0.8), others, hidden)
    return hidden, ids.masked_fill(~chosen, -100)


def pretrain(model: nn.BERT, settings: Settings) -> None:
    """Train the model to fill in words, and draw the loss."""
    data = ids_of([sentence() for _ in range(min(4000, 40 * settings.steps + 1))])
    optimizer = optim.AdamW(model.parameters(), lr=settings.lr)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, settings.lr, settings.steps + 1)
    losses = []
    with Progress(True, 0, settings.steps) as progress:
        for step in range(settings.steps):
            hidden, targets = masked(data[tt.randint(len(data), (settings.batch,))])
            _, loss = model(hidden, targets=targets)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            progress.update(step + 1, {"filling in": losses[-1]})
    means = [sum(losses[i : i + 10]) / 10 for i in range(0, len(losses) - 9, 10)]
    if means:
        curve = {"filling in": (range(5, 10 * len(means), 10), means)}
        lines(settings.folder / "loss.svg", curve, "Loss of masked words", "step", "loss")


class Judge(nn.Module):
    """logits = head(mean of BERT's vectors): is a sentence (N, T) wrong, 0, or right, 1?"""

    def __init__(self, bert: nn.BERT):
        super().__init__()
        self.bert = bert
        self.head = nn.Linear(bert.config.n_embd, 2)

    def forward(self, ids: tt.Tensor) -> tt.Tensor:
        x = self.bert.encode(ids)  # (N, T) → (N, T, C)
        return self.head(x.mean(dim=1))


def labelled(count: int) -> tuple[tt.Tensor, tt.Tensor]:
    """Sentences (count, LENGTH), every other one wrong, and their labels (count)."""
    labels = tt.arange(count) % 2
    return ids_of([sentence(bool(label)) for label in labels.tolist()]), labels


def fine_tune(bert: nn.BERT, data: tuple, test: tuple, settings: Settings) -> float:
    """Train on data; return the accuracy on the test sentences."""
    judge, (ids, labels) = Judge(bert), data
    optimizer = optim.AdamW(judge.parameters(), lr=settings.lr / 4)
    with Progress(True, 0, settings.fine_tuning) as progress:
        for step in range(settings.fine_tuning):
            batch = tt.randint(len(ids), (32,))
            loss = F.cross_entropy(judge(ids[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            progress.update(step + 1, {"judging": loss.item()})
    judge.eval()
    with tt.no_grad():
        return (judge(test[0]).argmax(dim=1) == test[1]).float().mean().item()


def main(settings: Settings) -> float:
    size = {"n_layer": settings.layers, "n_head": settings.heads, "n_embd": settings.width}
    config = nn.BERTConfig(len(WORDS), LENGTH, **size, dropout=0.0, pad=PAD)
    model, fresh = nn.BERT(config), nn.BERT(config)
    pretrain(model, settings)
    text = "[start] the dogs near the girl [mask] the cat because [mask] are late"
    ids = ids_of([text.split()])
    with tt.no_grad():
        guesses = model(ids)[0][0].softmax(dim=-1)  # (T, V)
    for at in (ids[0] == MASK).nonzero().flatten().tolist():
        p, words = guesses[at].topk(3)
        print(f"word {at}: ", *(f"{WORDS[w]} {x:.2f}" for x, w in zip(p.tolist(), words.tolist())))
    graph.attention(model, ids, settings.folder / "attention.html", tokens=text.split())

    data, test = labelled(settings.labelled), labelled(1000)
    reached = {
        name: fine_tune(bert, data, test, settings)
        for name, bert in (("after filling in", model), ("from nothing", fresh))
    }
    title = f"Right or wrong? Accuracy after {settings.labelled} labelled sentences"
    bars(settings.folder / "accuracy.svg", reached, title, "accuracy")
    print("  ".join(f"{name}: {value:.3f}" for name, value in reached.items()))
    return reached["after filling in"]


if __name__ == "__main__":
    run(main, Settings)
