"""An autoencoder learns to compress a picture into a few numbers, and to redraw it from them.

    python examples/autoencoder.py
    python examples/autoencoder.py --code 8

The encoder turns a digit of 256 pixels into a code of three numbers, and the decoder draws the
digit from the code; the loss is the squared error of the pixels. There are no labels, but codes of
the same digit still end up close together. The baseline is the best linear map with as many
numbers: principal components.

The result is the error on unseen pictures, divided by that of principal components.
"""

from __future__ import annotations

from dataclasses import dataclass

from digits import digits
from harness import Example, run
from plots import images, scatter

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train import Trainer
from tinytensor.utils.data import DataLoader, TensorDataset

SIZE = 16


@dataclass
class Settings(Example):
    measure = "error_over_linear"
    lower_is_better = True
    quick_run = {"steps": 600, "samples": 2000, "target": 0.9}

    code: int = 3  # numbers in a code
    width: int = 128
    samples: int = 4000
    batch: int = 64
    lr: float = 0.002
    steps: int = 2500
    target: float = 0.7


class Autoencoder(nn.Module):
    """256 → width → width/2 → code → width/2 → width → 256"""

    def __init__(self, width: int, code: int):
        super().__init__()
        sizes = [SIZE * SIZE, width, width // 2, code]
        self.encoder = nn.Sequential(nn.Flatten(), *layers(sizes))  # (N, 1, H, W) → (N, H·W)
        self.decoder = nn.Sequential(*layers(sizes[::-1]), nn.Unflatten(1, (1, SIZE, SIZE)))

    def forward(self, pictures: tt.Tensor) -> tt.Tensor:
        return self.decoder(self.encoder(pictures))


def layers(sizes: list[int]) -> list[nn.Module]:
    """Linear layers with GELU between them."""
    made: list[nn.Module] = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        made += [nn.Linear(inputs, outputs), nn.GELU()]
    return made[:-1]


def by_components(train: tt.Tensor, test: tt.Tensor, count: int) -> tt.Tensor:
    """The test pictures, redrawn from their first `count` principal components."""
    mean = train.flatten(1).mean(dim=0)
    _, _, axes = tt.linalg.svd(train.flatten(1) - mean, full_matrices=False)
    codes = (test.flatten(1) - mean) @ axes[:count].T  # (N, H·W) → (N, count)
    return (codes @ axes[:count] + mean).reshape(test.shape)  # (N, H·W) → (N, 1, H, W)


def show(model: Autoencoder, test: tt.Tensor, linear: tt.Tensor, settings: Settings) -> None:
    """Draw pictures next to their reconstructions, and digits interpolated between two others."""
    drawn = model(test)
    rows = [*test[:10], *drawn[:10], *linear[:10]]
    names = ["picture"] * 10 + ["drawn again"] * 10 + ["linear"] * 10
    title = f"Unseen digits, and drawn from {settings.code} numbers: network, components"
    images(settings.folder / "drawn_again.svg", rows, 10, names, title)

    shares = tt.linspace(0, 1, 10).unsqueeze(1)  # (10, 1)
    starts, ends = model.encoder(test[:4]), model.encoder(test[4:8])
    walks = [model.decoder(a + shares * (b - a)) for a, b in zip(starts, ends)]
    title = "From one digit to another, in equal steps of the code"
    images(settings.folder / "between.svg", list(tt.cat(walks)), 10, title=title)


def main(settings: Settings) -> float:
    train, test = digits(settings.samples, SIZE, noise=0.0)[0], digits(1000, SIZE, noise=0.0)
    model = Autoencoder(settings.width, settings.code)
    optimizer = optim.Adam(model.parameters(), lr=settings.lr)
    trainer = Trainer(
        model,
        optimizer,
        F.mse_loss,
        DataLoader(TensorDataset(train, train), batch_size=settings.batch, shuffle=True),
        [(test[0], test[0])],
        validate_every=250,
        scheduler=optim.lr_scheduler.CosineAnnealingLR(optimizer, max(settings.steps, 1)),
    )
    trainer.fit(steps=settings.steps)
    if settings.steps:
        trainer.save_curve(settings.folder / "loss.svg", "Squared error of the pixels")

    linear = by_components(train, test[0], settings.code)
    with tt.no_grad():
        error = F.mse_loss(model(test[0]), test[0]).item()
        linear_error = F.mse_loss(linear, test[0]).item()
        show(model, test[0], linear, settings)
        codes = model.encoder(test[0][:600])
    title = "Codes of unseen digits: the first two numbers"
    scatter(settings.folder / "codes.svg", codes[:, :2], test[1][:600], title)
    print(f"squared error {error:.4f}; of {settings.code} principal components {linear_error:.4f}")
    return error / linear_error


if __name__ == "__main__":
    run(main, Settings)
