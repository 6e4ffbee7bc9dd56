"""A vision transformer reads digits: a picture is a sentence of patches.

    python examples/vit.py
    python examples/vit.py --patch 2 --layers 3

A digit of 16 × 16 pixels is cut into patches, and a linear layer turns each patch into a token. A
class token is put before them; its output after the last layer classifies the digit. Attention
alone sees a bag of patches: a learned vector for each position tells where a patch was. A second
network does without these vectors, and reads worse.

The result is the accuracy on unseen digits. attention.svg shows where the class token looks.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from digits import digits
from harness import Example, run
from plots import bars, images

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import graph, optim
from tinytensor.train import Trainer
from tinytensor.utils.data import DataLoader, TensorDataset

SIZE = 16  # of a picture
ORANGE = (1.0, 0.5, 0.0)  # of red, green and blue


@dataclass
class Settings(Example):
    quick_run = {"steps": 150, "target": 0.7}

    patch: int = 4
    width: int = 32
    heads: int = 4
    layers: int = 2
    samples: int = 4000
    batch: int = 32
    lr: float = 0.004
    steps: int = 700
    target: float = 0.93


class ViT(nn.Module):
    """Pictures (N, 1, SIZE, SIZE) → logits (N, 10)"""

    def __init__(self, settings: Settings, positions: bool):
        super().__init__()
        width = settings.width
        self.patches = nn.PatchEmbed(settings.patch, in_chans=1, embed_dim=width)
        self.class_token = nn.Parameter(0.02 * tt.randn(1, 1, width))
        tokens = 1 + (SIZE // settings.patch) ** 2
        self.position = nn.LearnedPosition(width, tokens) if positions else nn.Identity()
        if positions:
            nn.init.normal_(self.position.weight, std=0.5)  # as large as patches: learned faster
        layer = nn.TransformerEncoderLayer(
            width, settings.heads, 2 * width, dropout=0.0, activation="gelu",
            batch_first=True, norm_first=True,
        )  # fmt: skip
        self.encoder = nn.TransformerEncoder(layer, settings.layers, norm=nn.LayerNorm(width))
        self.head = nn.Linear(width, 10)

    def forward(self, pictures: tt.Tensor) -> tt.Tensor:
        patches = self.patches(pictures)  # (N, T, C)
        first = self.class_token.expand(len(pictures), -1, -1)  # (1, 1, C) → (N, 1, C)
        x = self.encoder(self.position(tt.cat([first, patches], dim=1)))  # (N, 1 + T, C)
        return self.head(x[:, 0])


def accuracy(logits: tt.Tensor, labels: tt.Tensor) -> tt.Tensor:
    return (logits.argmax(dim=-1) == labels).float().mean()


def train(model: ViT, data: TensorDataset, test: TensorDataset, settings: Settings) -> Trainer:
    optimizer = optim.AdamW(model.parameters(), lr=settings.lr)
    trainer = Trainer(
        model,
        optimizer,
        F.cross_entropy,
        DataLoader(data, batch_size=settings.batch, shuffle=True),
        DataLoader(test, batch_size=500),
        validate_every=100,
        scheduler=optim.lr_scheduler.OneCycleLR(optimizer, settings.lr, settings.steps + 1),
        metrics={"accuracy": accuracy},
        clip_grad_norm=1.0,
    )
    trainer.fit(steps=settings.steps)
    return trainer


def show_attention(model: ViT, pictures: tt.Tensor, labels: tt.Tensor, settings: Settings) -> None:
    """Draw the pictures (N, 1, SIZE, SIZE), in orange where the class token attends."""
    with tt.no_grad(), nn.capture_attention() as maps:
        guesses = model(pictures).argmax(dim=-1)
    weights = maps.calls[-1].weights  # of the last layer, (N, heads, 1 + T, 1 + T)
    rows = SIZE // settings.patch
    seen = weights[:, :, 0, 1:].mean(dim=1).unflatten(1, (1, rows, rows))  # (N, T) → (N, 1, R, R)
    seen = F.interpolate(seen, scale_factor=settings.patch)  # (N, 1, SIZE, SIZE)
    light = seen / seen.amax(dim=(2, 3), keepdim=True)
    ink = pictures.clamp(0, 1)
    colour = 1 + light * (tt.tensor(ORANGE).reshape(3, 1, 1) - 1)  # white → orange
    tinted = colour * (ink + 0.4 * light * (1 - ink))  # (N, 3, SIZE, SIZE)
    pairs = zip(guesses.tolist(), labels.tolist())
    names = [f"read as {a}" if a == b else f"{a}, but is {b}" for a, b in pairs]
    title = "Where the class token looks: the mean of the heads of the last layer"
    images(settings.folder / "attention.svg", list(tinted), 6, names, title)


def main(settings: Settings) -> float:
    if settings.patch < 1 or SIZE % settings.patch:
        sys.exit(f"vit: got --patch {settings.patch}, expected a divisor of {SIZE}")
    data, test = (TensorDataset(*digits(n, SIZE)) for n in (settings.samples, 2000))
    reached = {}
    for name, positions in (("with places", True), ("a bag of patches", False)):
        tt.manual_seed(settings.seed)
        model = ViT(settings, positions)
        trainer = train(model, data, test, settings)
        reached[name] = trainer.evaluate()["accuracy"]
        print(f"{name}: accuracy {reached[name]:.3f}")
        if positions:
            if settings.steps:
                trainer.save_curve(settings.folder / "loss.svg", "Loss of reading digits")
            pictures, labels = test[:18]
            show_attention(model.eval(), pictures, labels, settings)
            rows = range(1, SIZE // settings.patch + 1)
            tokens = ["class", *(f"row {r}, column {c}" for r in rows for c in rows)]
            graph.attention(model, pictures[:1], settings.folder / "attention.html", tokens=tokens)
    bars(settings.folder / "accuracy.svg", reached, "Accuracy on unseen digits", "accuracy")
    return reached["with places"]


if __name__ == "__main__":
    run(main, Settings)
