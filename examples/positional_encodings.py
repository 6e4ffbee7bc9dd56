"""Five ways to tell attention the position of a token, on a task that needs it.

    python examples/positional_encodings.py
    python examples/positional_encodings.py --length 24

At each position, the model has to output the letter `back` positions earlier. Attention alone sees
a set of tokens: without positions it can only guess. Integers drown the letters that they are added
to. Sinusoidal and learned vectors are added; rotary positions rotate queries and keys, so that
scores depend on distances. The result is the lowest accuracy of the last three.
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

LETTERS = 10
KINDS = ("none", "integer", "sinusoidal", "learned", "rotary")


@dataclass
class Settings(Example):
    quick_run = {"steps": 120, "length": 8, "target": 0.5}

    length: int = 16
    back: int = 3
    width: int = 32
    heads: int = 2
    batch: int = 64
    lr: float = 0.01
    steps: int = 300
    target: float = 0.95


def shifted(count: int, settings: Settings) -> tuple[tt.Tensor, tt.Tensor]:
    """Letters (count, length), and the targets for positions back, …, length − 1."""
    letters = tt.randint(LETTERS, (count, settings.length))
    return letters, letters[:, : -settings.back]


class Attention(nn.Module):
    """Multi-head attention without a mask, optionally with rotary positions."""

    def __init__(self, width: int, heads: int, rotary: bool):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.rotary = nn.RotaryPosition(width // heads, base=100.0) if rotary else None

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        # (N, T, 3·C) → (N, T, 3, H, D) → 3 × (N, H, T, D)
        if self.rotary is not None:
            q, k = self.rotary(q, k)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).flatten(2))  # (N, H, T, D) → (N, T, C)


class Shifter(nn.Module):
    """Logits (N, T, LETTERS) for letters (N, T): an attention and a feed-forward layer."""

    def __init__(self, kind: str, settings: Settings):
        super().__init__()
        width = settings.width
        self.letters = nn.Embedding(LETTERS, width)
        self.position = {
            "integer": nn.IntegerPosition,
            "sinusoidal": lambda: nn.SinusoidalPosition(width, settings.length, base=100.0),
            "learned": lambda: nn.LearnedPosition(width, settings.length),
        }.get(kind, nn.Identity)()
        if kind == "learned":
            nn.init.normal_(self.position.weight)  # as large as the letters: learned faster
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, settings.heads, kind == "rotary")
        self.feed_forward = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.head = nn.Linear(width, LETTERS)

    def forward(self, letters: tt.Tensor) -> tt.Tensor:
        x = self.position(self.letters(letters))
        x = x + self.attention(self.norm1(x))
        x = x + self.feed_forward(self.norm2(x))
        return self.head(x)


def train(kind: str, model: Shifter, settings: Settings) -> list[float]:
    """Train the model; return the loss at each step."""
    optimizer = optim.Adam(model.parameters(), lr=settings.lr)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, max(settings.steps, 1))
    losses = []
    with Progress(True, 0, settings.steps) as progress:
        for step in range(settings.steps):
            letters, targets = shifted(settings.batch, settings)
            logits = model(letters)[:, settings.back :]  # (N, T − back, LETTERS)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
            progress.update(step + 1, {"positions": kind, "loss": losses[-1]})
    return losses


def accuracy(model: Shifter, settings: Settings) -> float:
    letters, targets = shifted(500, settings)
    with tt.no_grad():
        guesses = model(letters)[:, settings.back :].argmax(dim=-1)
    return (guesses == targets).float().mean().item()


def main(settings: Settings) -> float:
    curves, reached = {}, {}
    for kind in KINDS:
        tt.manual_seed(settings.seed)
        model = Shifter(kind, settings)
        losses = train(kind, model, settings)
        curves[kind] = (range(1, len(losses) + 1), losses)
        reached[kind] = accuracy(model, settings)
        print(f"{kind:10}  accuracy {reached[kind]:.3f}")
    waves = nn.SinusoidalPosition(settings.width, settings.length, base=100.0).table
    places = [str(t) for t in range(settings.length)]
    components = [str(i) for i in range(settings.width)]
    title = "Sinusoidal positions: a row for each place"
    heat_map(settings.folder / "sinusoidal.svg", waves, places, components, title)
    title = f"The letter {settings.back} places earlier, by kind of position"
    bars(settings.folder / "accuracy.svg", reached, title, "accuracy")
    lines(settings.folder / "loss.svg", curves, title, "step", "loss")
    return min(reached[kind] for kind in ("sinusoidal", "learned", "rotary"))


if __name__ == "__main__":
    run(main, Settings)
