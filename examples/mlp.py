"""A multi-layer perceptron learns two tasks: to tell spiral arms apart, and to read digits.

    python examples/mlp.py
    python examples/mlp.py --arms 5 --width 64

Linear layers with ReLU between them, cross-entropy, Adam: the same training for points in a plane
and for pictures of 256 pixels. The result is the lower of the two accuracies on unseen samples.
"""

from __future__ import annotations

import math
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


@dataclass
class Settings(Example):
    quick_run = {"steps": 150, "samples": 600, "target": 0.75}

    arms: int = 3  # of the spiral
    samples: int = 4000  # to learn from, of each task
    width: int = 128
    batch: int = 64
    lr: float = 0.003
    steps: int = 1500
    target: float = 0.95


def spirals(count: int, arms: int) -> tuple[tt.Tensor, tt.Tensor]:
    """Points (count, 2) on spiral arms, and the number of the arm of each (count)."""
    arm = tt.randint(arms, (count,))
    radius = 0.1 + 0.9 * tt.rand(count)
    angle = 4 * radius + 2 * math.pi / arms * arm + 0.12 * tt.randn(count)
    return tt.stack([radius * angle.cos(), radius * angle.sin()], dim=1), arm


def make_model(inputs: int, width: int, classes: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Flatten(),  # pictures (N, 1, H, W) → (N, H·W); points stay (N, 2)
        nn.Linear(inputs, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, classes),
    )


def accuracy(logits: tt.Tensor, labels: tt.Tensor) -> tt.Tensor:
    return (logits.argmax(dim=1) == labels).float().mean()


def train(
    name: str,
    model: nn.Module,
    data: tuple[tt.Tensor, tt.Tensor],
    test: tuple[tt.Tensor, tt.Tensor],
    settings: Settings,
) -> float:
    """Train, draw the loss curve, and return the accuracy on the test samples."""
    optimizer = optim.Adam(model.parameters(), lr=settings.lr)
    trainer = Trainer(
        model,
        optimizer,
        F.cross_entropy,
        DataLoader(TensorDataset(*data), batch_size=settings.batch, shuffle=True),
        DataLoader(TensorDataset(*test), batch_size=500),
        validate_every=200,
        scheduler=optim.lr_scheduler.CosineAnnealingLR(optimizer, max(settings.steps, 1)),
        metrics={"accuracy": accuracy},
    )
    trainer.fit(steps=settings.steps)
    reached = trainer.evaluate()["accuracy"]
    print(f"{name}: accuracy {reached:.3f} on {len(test[1])} unseen samples")
    if settings.steps:
        trainer.save_curve(settings.folder / f"{name}_loss.svg", f"Loss: {name}")
    return reached


def learn_spirals(settings: Settings) -> float:
    """Learn spirals, and colour the plane by the predicted class of each point."""
    test = spirals(600, settings.arms)
    model = make_model(2, settings.width, settings.arms)
    reached = train("spirals", model, spirals(settings.samples, settings.arms), test, settings)
    scatter(
        settings.folder / "spirals.svg",
        *test,
        f"Unseen points, and what the network says of the plane: {reached:.1%} right",
        predict=lambda points: model(points).argmax(dim=1),
    )
    return reached


def learn_digits(settings: Settings) -> float:
    """Learn digits of 256 pixels; the picture shows the first ones, with mistakes marked."""
    test = digits(1000)
    model = make_model(16 * 16, settings.width, 10)
    reached = train("digits", model, digits(settings.samples), test, settings)
    with tt.no_grad():
        guesses = model(test[0][:40]).argmax(dim=1).tolist()
    labels = test[1][:40].tolist()
    titles = [f"{g}" if g == y else f"{g}, not {y}" for g, y in zip(guesses, labels)]
    caption = f"Unseen digits, and what the network reads: {reached:.1%} right"
    images(settings.folder / "digits.svg", list(test[0][:40]), 10, titles, caption)
    return reached


def main(settings: Settings) -> float:
    return min(learn_spirals(settings), learn_digits(settings))


if __name__ == "__main__":
    run(main, Settings)
