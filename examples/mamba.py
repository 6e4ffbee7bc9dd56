"""Mamba learns selective copying; a state space without selection does worse.

    python examples/mamba.py
    python examples/mamba.py --length 32 --letters 6

A few letters stand somewhere among blanks, and the model has to repeat them in order at the end.
The number of blanks between two letters is random. A state space whose Δ, B and C are the same for
all tokens counts steps, not letters: its state takes in blanks and letters alike, and only the
convolution and the gates tell them apart. In Mamba they come from the token itself, so that it can
ignore blanks and keep its state.

The result is the fraction of letters that Mamba repeats correctly, on new sequences.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness import Example, run
from plots import bars, heat_map, lines

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress

KINDS = 4  # of letters
BLANK, SAY = KINDS, KINDS + 1  # two more tokens


@dataclass
class Settings(Example):
    quick_run = {"steps": 100, "length": 6, "letters": 2, "target": 0.7}

    length: int = 10  # letters and blanks
    letters: int = 3  # to repeat
    width: int = 32
    state: int = 8
    layers: int = 2
    batch: int = 32
    lr: float = 0.005
    steps: int = 300
    target: float = 0.8


def sequences(count: int, settings: Settings) -> tuple[tt.Tensor, tt.Tensor]:
    """Tokens (count, length + letters) that end with SAY, SAY, …; the letters (count, letters)."""
    letters = tt.randint(KINDS, (count, settings.letters))
    places = tt.rand(count, settings.length).argsort(dim=1)[:, : settings.letters].sort(dim=1)[0]
    tokens = tt.full((count, settings.length), BLANK).scatter(1, places, letters)
    return tt.cat([tokens, tt.full((count, settings.letters), SAY)], dim=1), letters


class PlainStateSpace(nn.Mamba):
    """The same block with learned Δ, B and C that do not depend on the token."""

    def _selection(self, x: tt.Tensor) -> tuple[tt.Tensor, tt.Tensor, tt.Tensor]:
        return super()._selection(tt.ones_like(x))


class Copier(nn.Module):
    """x ← x + mixer(norm(x)) a few times; tokens (N, L) → logits (N, L, KINDS)"""

    def __init__(self, mixer: type[nn.Mamba], settings: Settings):
        super().__init__()
        self.tokens = nn.Embedding(KINDS + 2, settings.width)
        count = range(settings.layers)
        self.norms = nn.ModuleList(nn.RMSNorm(settings.width) for _ in count)
        self.mixers = nn.ModuleList(mixer(settings.width, settings.state) for _ in count)
        self.head = nn.Linear(settings.width, KINDS)

    def forward(self, tokens: tt.Tensor) -> tt.Tensor:
        x = self.tokens(tokens)
        for norm, mixer in zip(self.norms, self.mixers):
            x = x + mixer(norm(x))
        return self.head(x)


def train(name: str, model: Copier, settings: Settings) -> tuple[list[float], float]:
    """The losses, and the accuracy on new sequences."""
    optimizer = optim.Adam(model.parameters(), lr=settings.lr)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, max(settings.steps, 1))
    losses: list[float] = []
    with Progress(True, 0, settings.steps) as progress:
        for step in range(1, settings.steps + 1):
            tokens, letters = sequences(settings.batch, settings)
            said = model(tokens)[:, settings.length :]  # where the tokens are SAY
            loss = F.cross_entropy(said.flatten(0, 1), letters.flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            progress.update(step, {"model": name, "loss": losses[-1]})
    tokens, letters = sequences(1000, settings)
    with tt.no_grad():
        said = model(tokens)[:, settings.length :].argmax(dim=-1)
    return losses, (said == letters).float().mean().item()


def show_influence(model: Copier, settings: Settings) -> None:
    """Draw how much each answer depends on each token: the norm of its gradient."""
    tokens, letters = sequences(1, settings)
    captured = []
    hook = model.tokens.register_forward_hook(lambda *call: captured.append(call[-1]))
    said = model(tokens)[0, settings.length :]  # (letters, KINDS)
    hook.remove()
    embedded = captured[0]
    rows = [
        tt.autograd.grad(logits[letter], embedded, retain_graph=True)[0][0].norm(dim=-1)
        for logits, letter in zip(said, letters[0].tolist())
    ]
    names = [
        ("abcdefgh"[t] if t < BLANK else "·" if t == BLANK else "?") for t in tokens[0].tolist()
    ]
    answers = [f"says {'abcdefgh'[letter]}" for letter in letters[0].tolist()]
    title = "What each answer depends on: the norm of the gradient at each token"
    heat_map(settings.folder / "influence.svg", tt.stack(rows), answers, names, title)


def main(settings: Settings) -> float:
    curves, reached = {}, {}
    for name, mixer in (("Mamba", nn.Mamba), ("no selection", PlainStateSpace)):
        tt.manual_seed(settings.seed)  # both see the same sequences
        model = Copier(mixer, settings)
        losses, reached[name] = train(name, model, settings)
        print(f"{name}: accuracy {reached[name]:.3f}")
        curves[name] = (range(1, len(losses) + 1), losses)
        if mixer is nn.Mamba:
            show_influence(model, settings)
    if settings.steps:
        lines(settings.folder / "loss.svg", curves, "Loss of selective copying", "step", "loss")
    reached["by chance"] = 1 / KINDS
    bars(settings.folder / "accuracy.svg", reached, "Letters said right", "share")
    return reached["Mamba"]


if __name__ == "__main__":
    run(main, Settings)
