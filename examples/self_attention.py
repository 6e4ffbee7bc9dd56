"""Self-attention looks things up; dividing its scores by √d is what lets it learn.

    python examples/self_attention.py
    python examples/self_attention.py --width 64

A sequence holds pairs of a letter and a digit in any order, and ends with one of its letters; the
answer is that letter's digit. One attention head of width d is enough. The score q·k is a sum of d
products, so its variance grows with d. Without the division, the softmax of the scores is almost
one-hot from the start, little gradient gets through it, and the head learns slowly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness import Example, run
from plots import heat_map, lines

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress

LETTERS, DIGITS = 8, 10
PAIRS = 6


@dataclass
class Settings(Example):
    measure = "gain"  # in accuracy, by the division
    quick_run = {"steps": 60, "target": 0.2}

    width: int = 256
    batch: int = 64
    lr: float = 0.001
    steps: int = 100
    target: float = 0.2


def lookups(count: int) -> tuple[tt.Tensor, tt.Tensor]:
    """Sequences (count, PAIRS + 1, 2) of (letter, digit), the last without a digit; answers."""
    letters = tt.rand(count, LETTERS).argsort(dim=1)[:, :PAIRS]  # all different
    digits = tt.randint(DIGITS, (count, PAIRS))
    asked = tt.randint(PAIRS, (count, 1))
    letters = tt.cat([letters, letters.gather(1, asked)], dim=1)
    answers = digits.gather(1, asked).squeeze(1)
    digits = tt.cat([digits, tt.full((count, 1), DIGITS)], dim=1)  # one more "digit": the question
    return tt.stack([letters, digits], dim=-1), answers


class Lookup(nn.Module):
    """logits = head(softmax(Q·Kᵀ·scale)·V of the last token), for tokens (N, T, 2)"""

    def __init__(self, width: int, scale: float):
        super().__init__()
        self.letters = nn.Embedding(LETTERS, width)
        self.digits = nn.Embedding(DIGITS + 1, width)
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        for layer in (self.query, self.key, self.value):
            nn.init.normal_(layer.weight, std=width**-0.5)  # variance 1 in, variance 1 out
        self.head = nn.Linear(width, DIGITS)
        self.scale = scale

    def weights(self, x: tt.Tensor) -> tt.Tensor:
        """Attention (N, T, T) of embedded tokens (N, T, C)."""
        scores = self.query(x) @ self.key(x).mT  # (N, T, C) @ (N, C, T) → (N, T, T)
        return (scores * self.scale).softmax(dim=-1)

    def embed(self, tokens: tt.Tensor) -> tt.Tensor:
        return self.letters(tokens[..., 0]) + self.digits(tokens[..., 1])

    def forward(self, tokens: tt.Tensor) -> tt.Tensor:
        x = self.embed(tokens)
        y = self.weights(x) @ self.value(x)
        return self.head(y[:, -1])  # (N, T, C) → (N, C) → (N, DIGITS)


def train(name: str, model: Lookup, settings: Settings) -> tuple[list[float], float]:
    """Train the model; return the losses, and the accuracy on new sequences."""
    optimizer = optim.Adam(model.parameters(), lr=settings.lr)
    losses = []
    with Progress(True, 0, settings.steps) as progress:
        for step in range(settings.steps):
            tokens, answers = lookups(settings.batch)
            loss = F.cross_entropy(model(tokens), answers)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            progress.update(step + 1, {"model": name, "loss": losses[-1]})
    tokens, answers = lookups(2000)
    with tt.no_grad():
        return losses, (model(tokens).argmax(dim=1) == answers).float().mean().item()


def at_the_start(width: int, divided: bool) -> tuple[float, float]:
    """(largest weight of a row, gradient norm of the scores) of random q and k with variance 1."""
    q, k = tt.randn(200, 16, width), tt.randn(200, 16, width)
    scores = (q @ k.mT / (math.sqrt(width) if divided else 1)).requires_grad_()
    weights = scores.softmax(dim=-1)
    (weights @ tt.randn(200, 16, 1)).sum().backward()
    return weights.amax(dim=-1).mean().item(), scores.grad.norm().item()


def show_saturation(settings: Settings) -> None:
    """Draw, against the width, how close to one-hot the weights are, and the gradient left."""
    widths = [1, 4, 16, 64, 256, 1024]
    largest, gradient = {}, {}
    for name, divided in (("q·k / √d", True), ("q·k", False)):
        largest[name], gradient[name] = zip(*(at_the_start(d, divided) for d in widths))
    logs = [math.log2(d) for d in widths]
    for file, title, curves in (
        ("largest_weight", "Mean of the largest of 16 attention weights", largest),
        ("gradient", "Norm of the gradient of the scores", gradient),
    ):
        drawn = {name: (logs, values) for name, values in curves.items()}
        lines(settings.folder / f"{file}.svg", drawn, title, "log₂ of the width d", "")


def main(settings: Settings) -> float:
    show_saturation(settings)
    scales = {"divided by √d": settings.width**-0.5, "undivided": 1.0}
    curves, reached = {}, {}
    for name, scale in scales.items():
        tt.manual_seed(settings.seed)  # both start from the same weights
        model = Lookup(settings.width, scale)
        losses, reached[name] = train(name, model, settings)
        print(f"{name}: accuracy {reached[name]:.3f}")
        means = [sum(losses[i : i + 10]) / 10 for i in range(0, len(losses) - 9, 10)]
        curves[name] = (range(5, 10 * len(means), 10), means)
        sample = lookups(1)[0]
        with tt.no_grad():
            weights = model.weights(model.embed(sample))[0]
        tokens = [f"{'abcdefgh'[a]}{'?' if b == DIGITS else b}" for a, b in sample[0].tolist()]
        file = f"attention_{name.split()[0]}.svg"
        heat_map(settings.folder / file, weights, tokens, tokens, f"Attention, {name}")
    if settings.steps >= 10:
        lines(settings.folder / "loss.svg", curves, "Loss of the lookup", "step", "loss")
    return reached["divided by √d"] - reached["undivided"]


if __name__ == "__main__":
    run(main, Settings)
