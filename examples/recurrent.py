"""RNN, LSTM and GRU: which of them remembers?

    python examples/recurrent.py
    python examples/recurrent.py --delay 50

The input is a few letters, then blanks, then a sign, after which the network has to repeat the
letters in order. Backpropagation has to carry the error at the end back over the whole delay.
Through the tanh of a plain RNN little of it arrives; the gates of LSTM and GRU let it pass. The
result is the lower accuracy of the two gated networks.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness import Example, run
from plots import bars, lines

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress

LETTERS, BLANK, SIGN = 4, 4, 5  # letters are 0 … 3
COPIED = 2


@dataclass
class Settings(Example):
    quick_run = {"steps": 150, "delay": 5, "target": 0.4}

    delay: int = 20  # blanks between the letters and the sign
    width: int = 64
    batch: int = 64
    lr: float = 0.02
    steps: int = 800
    target: float = 0.95


def sequences(count: int, delay: int) -> tuple[tt.Tensor, tt.Tensor]:
    """Inputs (count, T): letters, blanks, signs; and the letters (count, COPIED)."""
    letters = tt.randint(LETTERS, (count, COPIED))
    blanks = tt.full((count, delay), BLANK)
    signs = tt.full((count, COPIED), SIGN)
    return tt.cat([letters, blanks, signs], dim=1), letters


class Copier(nn.Module):
    """Logits (N, COPIED, LETTERS) at the signs, for inputs (N, T)."""

    def __init__(self, layer: type[nn.Module], width: int):
        super().__init__()
        self.layer = layer(LETTERS + 2, width, batch_first=True)
        if layer is not nn.RNN:
            with tt.no_grad():  # gate f of LSTM, z of GRU: at first, keep the state
                self.layer.bias_hh_l0[width : 2 * width] = 3.0 if layer is nn.LSTM else 2.0
        self.head = nn.Linear(width, LETTERS)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        """x (N, T, LETTERS + 2): one-hot."""
        states, _ = self.layer(x)  # (N, T, width)
        return self.head(states[:, -COPIED:])


def one_hot(tokens: tt.Tensor) -> tt.Tensor:
    return F.one_hot(tokens, LETTERS + 2).float()  # (N, T) → (N, T, LETTERS + 2)


def loss_of(model: Copier, x: tt.Tensor, letters: tt.Tensor) -> tt.Tensor:
    return F.cross_entropy(model(x).flatten(0, 1), letters.flatten())  # (N·COPIED, LETTERS)


def gradient_over_time(model: Copier, settings: Settings) -> list[float]:
    """‖d loss / d x‖ at each step of the input: how far back the gradient reaches."""
    tokens, letters = sequences(256, settings.delay)
    x = one_hot(tokens).requires_grad_()
    loss_of(model, x, letters).backward()
    return x.grad.square().sum(dim=(0, 2)).sqrt().tolist()  # (N, T, C) → (T)


def train(name: str, model: Copier, settings: Settings) -> list[float]:
    """Train the model; return the loss at each step."""
    optimizer = optim.Adam(model.parameters(), lr=settings.lr)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, max(settings.steps, 1))
    losses = []
    with Progress(True, 0, settings.steps) as progress:
        for step in range(settings.steps):
            tokens, letters = sequences(settings.batch, settings.delay)
            loss = loss_of(model, one_hot(tokens), letters)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
            progress.update(step + 1, {"model": name, "loss": losses[-1]})
    return losses


def accuracy(model: Copier, settings: Settings) -> float:
    tokens, letters = sequences(1000, settings.delay)
    with tt.no_grad():
        return (model(one_hot(tokens)).argmax(dim=-1) == letters).float().mean().item()


def main(settings: Settings) -> float:
    losses, before, reached = {}, {}, {}
    for name, layer in (("RNN", nn.RNN), ("LSTM", nn.LSTM), ("GRU", nn.GRU)):
        tt.manual_seed(settings.seed)
        model = Copier(layer, settings.width)
        norms = gradient_over_time(model, settings)
        before[name] = (range(len(norms)), norms)
        values = train(name, model, settings)
        losses[name] = (range(1, len(values) + 1), values)
        reached[name] = accuracy(model, settings)
        print(f"{name}: accuracy {reached[name]:.3f}, chance {1 / LETTERS:.3f}")
    folder = settings.folder
    title = f"Letters copied over a delay of {settings.delay}"
    bars(folder / "accuracy.svg", {**reached, "chance": 1 / LETTERS}, title, "accuracy")
    lines(folder / "loss.svg", losses, title, "step", "loss")
    title = "Gradient of the loss by time, before training; the letters come first"
    lines(folder / "gradients.svg", before, title, "time", "norm of dL/dx", log_y=True)
    return min(reached["LSTM"], reached["GRU"])


if __name__ == "__main__":
    run(main, Settings)
