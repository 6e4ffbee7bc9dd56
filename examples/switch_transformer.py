"""A switch transformer: in each block a token goes through one of several feed-forward networks.

    python examples/switch_transformer.py
    python examples/switch_transformer.py --experts 8 --capacity-factor 1.0

A message begins with the number of its cipher; each cipher substitutes the letters in its own way.
Attention tells every letter which cipher applies, and the feed-forward network has to know its
meaning there: hundreds of facts, which need parameters more than work. The switch layer has several
such networks, and a gate that sends each token to one of them; it learns to sort them by letter. An
expert takes no more tokens of a batch than its capacity; the rest pass through unchanged.

It is compared with a single network that does the same work per token, gate included, and with one
that has the parameters of all experts and does all their work. The result is the switch layer's
advantage in accuracy on unseen messages over the network with the same work.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_lowercase

from harness import Example, run
from plots import bars, heat_map, lines

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress

LETTERS, LENGTH = 26, 8
SAME_WORK = "one network, the same work"


@dataclass
class Settings(Example):
    measure = "advantage"
    quick_run = {"steps": 300, "batch": 32, "lr": 0.01, "target": 0.05}

    ciphers: int = 32
    experts: int = 16
    capacity_factor: float = 1.5
    balance: float = 0.02  # weight of the load-balancing loss
    width: int = 32
    hidden: int = 8  # width of an expert
    batch: int = 64
    lr: float = 0.005
    steps: int = 500
    target: float = 0.05


def messages(count: int, tables: tt.Tensor) -> tuple[tt.Tensor, tt.Tensor]:
    """Tokens (count, 1 + LENGTH), a cipher and its letters; their meanings (count, LENGTH).

    tables (ciphers, LETTERS): the meaning of each letter, in each cipher.
    """
    cipher = tt.randint(len(tables), (count, 1))
    letters = tt.randint(LETTERS, (count, LENGTH))
    return tt.cat([LETTERS + cipher, letters], dim=1), tables[cipher, letters]


class Block(nn.Module):
    """x ← x + attention(norm(x)),  x ← x + feed_forward(norm(x))"""

    def __init__(self, width: int, feed_forward: nn.Module):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, num_heads=4, batch_first=True)
        self.feed_forward = feed_forward

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        h = self.norm1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.feed_forward(self.norm2(x))


class Decipher(nn.Module):
    """Tokens (N, 1 + LENGTH) → logits (N, LENGTH, LETTERS)"""

    def __init__(self, feed_forward: nn.Module, settings: Settings):
        super().__init__()
        self.tokens = nn.Embedding(LETTERS + settings.ciphers, settings.width)
        self.block = Block(settings.width, feed_forward)
        self.head = nn.Linear(settings.width, LETTERS)

    def forward(self, tokens: tt.Tensor) -> tt.Tensor:
        return self.head(self.block(self.tokens(tokens)))[:, 1:]  # the first names the cipher


def network(width: int, hidden: int) -> nn.Sequential:
    """A feed-forward network with 2·width·hidden multiplications per token."""
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))


def train(
    name: str, model: Decipher, tables: tt.Tensor, settings: Settings
) -> tuple[list[float], float]:
    """Train the model; return the losses, and the accuracy on new messages."""
    optimizer = optim.Adam(model.parameters(), lr=settings.lr)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, max(settings.steps, 1))
    switch = model.block.feed_forward
    losses: list[float] = []
    with Progress(True, 0, settings.steps) as progress:
        for step in range(1, settings.steps + 1):
            tokens, meant = messages(settings.batch, tables)
            loss = F.cross_entropy(model(tokens).flatten(0, 1), meant.flatten())
            losses.append(loss.item())
            if isinstance(switch, nn.SwitchLayer):
                loss = loss + settings.balance * switch.load_balancing_loss()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            progress.update(step, {"model": name, "loss": losses[-1]})
    tokens, meant = messages(1000, tables)
    with tt.no_grad():
        return losses, (model(tokens).argmax(dim=-1) == meant).float().mean().item()


def show_experts(model: Decipher, tables: tt.Tensor, settings: Settings) -> None:
    """Draw which experts each letter goes to; print how many tokens find their expert full."""
    tokens, _ = messages(1000, tables)
    switch = model.block.feed_forward
    with tt.no_grad():
        model(tokens)
    chosen = switch.routing.experts.reshape(tokens.shape)[:, 1:]  # (T, 1) → (N, 1 + LENGTH)
    places = tokens[:, 1:] * settings.experts + chosen  # letter and expert, as one number
    counts = tt.bincount(places.flatten(), minlength=LETTERS * settings.experts).float()
    counts = counts.reshape(LETTERS, settings.experts)  # (LETTERS·experts) → (LETTERS, experts)
    experts = [f"expert {e}" for e in range(settings.experts)]
    shares = counts / counts.sum(dim=1, keepdim=True).clamp(min=1)
    title = "To which experts each letter goes, over all ciphers"
    heat_map(settings.folder / "experts.svg", shares, list(ascii_lowercase), experts, title)
    print(f"{switch.overflowed.float().mean().item():.1%} of the tokens found their expert full")


def main(settings: Settings) -> float:
    tables = tt.stack([tt.randperm(LETTERS) for _ in range(settings.ciphers)])
    width, hidden, experts = settings.width, settings.hidden, settings.experts
    switch = nn.SwitchLayer(
        width, lambda: network(width, hidden), experts, settings.capacity_factor
    )
    layers = {
        "switch": switch,
        SAME_WORK: network(width, hidden + experts // 2),  # the gate costs width·experts
        "one network, the same parameters": network(width, hidden * experts),
    }
    curves, reached = {}, {}
    for name, layer in layers.items():
        model = Decipher(layer, settings)
        losses, reached[name] = train(name, model, tables, settings)
        print(f"{name}: accuracy {reached[name]:.3f}")
        curves[name] = (range(1, len(losses) + 1), losses)
        if layer is switch:
            show_experts(model, tables, settings)
    if settings.steps:
        lines(settings.folder / "loss.svg", curves, "Loss of deciphering", "step", "loss")
    bars(settings.folder / "accuracy.svg", reached, "Accuracy on unseen messages", "accuracy")
    return reached["switch"] - reached[SAME_WORK]


if __name__ == "__main__":
    run(main, Settings)
