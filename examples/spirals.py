"""A small MLP learns to tell spiral arms apart.

    python examples/spirals.py --arms 3 --steps 600

Everything is spelled out: the parameters are plain tensors, a step is forward, backward, Adam.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass, fields

import tinytensor as tt
from tinytensor import optim


@dataclass
class Settings:
    """What can be changed on the command line."""

    arms: int = 3
    points: int = 200  # on each arm
    width: int = 64
    steps: int = 600
    lr: float = 0.01
    noise: float = 0.12
    seed: int = 0
    target: float = 0.97  # accuracy on points that were not trained on


def spirals(settings: Settings) -> tuple[tt.Tensor, tt.Tensor]:
    """Points (N, 2) on spiral arms, and the number of the arm of each (N)."""
    radius = tt.linspace(0.1, 1, settings.points).repeat(settings.arms)
    arm = tt.arange(settings.arms).repeat_interleave(settings.points)
    angle = 4 * radius + 2 * math.pi / settings.arms * arm
    angle = angle + settings.noise * tt.randn(len(angle))
    return tt.stack([radius * angle.cos(), radius * angle.sin()], dim=1), arm


def make_parameters(sizes: list[int]) -> list[tuple[tt.Tensor, tt.Tensor]]:
    """A weight (out, in) and a bias (out) for each layer."""
    layers = []
    for fan_in, fan_out in zip(sizes, sizes[1:]):
        weight = tt.randn(fan_out, fan_in) * math.sqrt(2 / fan_in)
        layers.append((weight.requires_grad_(), tt.zeros(fan_out, requires_grad=True)))
    return layers


def forward(x: tt.Tensor, layers: list[tuple[tt.Tensor, tt.Tensor]]) -> tt.Tensor:
    """(N, 2) → logits (N, arms)"""
    *hidden, last = layers
    for weight, bias in hidden:
        x = tt.relu(tt.linear(x, weight, bias))
    return tt.linear(x, *last)


def accuracy(x: tt.Tensor, y: tt.Tensor, layers: list[tuple[tt.Tensor, tt.Tensor]]) -> float:
    with tt.no_grad():
        return (forward(x, layers).argmax(dim=1) == y).float().mean().item()


def train(settings: Settings) -> float:
    """Train, showing progress; returns the accuracy on new points."""
    tt.manual_seed(settings.seed)
    x, y = spirals(settings)
    test_x, test_y = spirals(settings)
    layers = make_parameters([2, settings.width, settings.width, settings.arms])
    optimizer = optim.Adam([p for layer in layers for p in layer], lr=settings.lr)

    with progress_bar(settings.steps) as bar:
        for _ in range(settings.steps):
            optimizer.zero_grad()
            loss = tt.cross_entropy(forward(x, layers), y)
            loss.backward()
            optimizer.step()
            bar.set_postfix(loss=f"{loss.item():.4f}", refresh=False)
            bar.update()
    return accuracy(test_x, test_y, layers)


def progress_bar(steps: int):
    try:
        from tqdm import tqdm
    except ImportError:
        sys.exit("spirals: tqdm is not installed; run `pip install tqdm`, or `make demo`")
    return tqdm(total=steps, desc="spirals", unit="step")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for field in fields(Settings):
        parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    settings = Settings(**vars(parser.parse_args()))
    reached = train(settings)
    verdict = "ok" if reached >= settings.target else "missed"
    print(f"result: accuracy={reached:.3f} target={settings.target} {verdict}")
    return 0 if verdict == "ok" else 1


if __name__ == "__main__":
    sys.exit(main())
