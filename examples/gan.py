"""A GAN: one network learns to draw points on a ring of eight spots, against another.

    python examples/gan.py
    python examples/gan.py --modes 12 --penalty 0

The discriminator D learns to tell real points (1) from those of the generator G (0); G learns to
make D answer 1. A generator easily collapses to a few spots that work and forgets the others. A
penalty on the slope of D at the real points helps, γ/2·‖∇ₓ D(x)‖²: it is a gradient inside the
loss, so the backward pass is itself differentiated.

The result is the number of spots that get at least half of their share of the generated points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness import Example, run
from plots import lines, scatter

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress

SPREAD = 0.05  # of each spot, where the ring has radius 1


@dataclass
class Settings(Example):
    measure = "modes"
    quick_run = {"steps": 800, "lr": 0.003, "target": 2}

    modes: int = 8
    noise: int = 8  # inputs of G
    width: int = 64
    penalty: float = 0.5  # γ
    batch: int = 128
    lr: float = 0.001
    steps: int = 2000
    target: float = 8


def real_points(count: int, modes: int) -> tt.Tensor:
    """Points (count, 2) around `modes` equally spaced spots on a circle."""
    angle = 2 * math.pi / modes * tt.randint(modes, (count,))
    return tt.stack([angle.cos(), angle.sin()], dim=1) + SPREAD * tt.randn(count, 2)


def network(inputs: int, width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, width),
        nn.LeakyReLU(0.2),
        nn.Linear(width, width),
        nn.LeakyReLU(0.2),
        nn.Linear(width, outputs),
    )


def discriminator_loss(D: nn.Module, real: tt.Tensor, fake: tt.Tensor, penalty: float) -> tt.Tensor:
    """Binary cross-entropy, with real 1 and fake 0, plus the penalty on slopes."""
    real = real.requires_grad_()
    says_real, says_fake = D(real), D(fake)
    loss = F.softplus(-says_real).mean() + F.softplus(says_fake).mean()  # −log σ(s), −log(1 − σ(s))
    if penalty:
        (slope,) = tt.autograd.grad(says_real.sum(), real, create_graph=True)
        loss = loss + penalty / 2 * slope.square().sum(dim=1).mean()
    return loss


def generator_loss(D: nn.Module, fake: tt.Tensor) -> tt.Tensor:
    """Binary cross-entropy with the labels swapped: D should take fake points for real."""
    return F.softplus(-D(fake)).mean()


def take_step(optimizer: optim.Optimizer, loss: tt.Tensor) -> float:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def covered(points: tt.Tensor, modes: int) -> tuple[int, float]:
    """(spots with at least half of their share of the points, fraction of points near a spot)."""
    angles = 2 * math.pi / modes * tt.arange(modes)
    spots = tt.stack([angles.cos(), angles.sin()], dim=1)
    distance = tt.cdist(points, spots)  # (N, modes)
    near = distance.amin(dim=1) < 4 * SPREAD
    counts = tt.bincount(distance.argmin(dim=1)[near], minlength=modes)
    return int((counts >= len(points) / modes / 2).sum()), near.float().mean().item()


def main(settings: Settings) -> float:
    G = network(settings.noise, settings.width, 2)
    D = network(2, settings.width, 1)
    optimize_G, optimize_D = (
        optim.Adam(net.parameters(), lr=settings.lr, betas=(0.5, 0.99)) for net in (G, D)
    )
    schedules = [
        optim.lr_scheduler.CosineAnnealingLR(optimizer, max(settings.steps, 1))
        for optimizer in (optimize_G, optimize_D)
    ]

    def fake_points(count: int) -> tt.Tensor:
        return G(tt.randn(count, settings.noise))

    losses: dict[str, list[float]] = {"D": [], "G": []}
    found: list[tuple[int, int]] = []
    with Progress(True, 0, settings.steps) as progress:
        for step in range(1, settings.steps + 1):
            with tt.no_grad():
                fake = fake_points(settings.batch)  # D's loss does not train G
            real = real_points(settings.batch, settings.modes)
            loss = discriminator_loss(D, real, fake, settings.penalty)
            losses["D"].append(take_step(optimize_D, loss))
            loss = generator_loss(D, fake_points(settings.batch))
            losses["G"].append(take_step(optimize_G, loss))
            for schedule in schedules:
                schedule.step()
            if step % 50 == 0:
                with tt.no_grad():
                    found.append((step, covered(fake_points(1000), settings.modes)[0]))
                progress.update(step, {"D": losses["D"][-1], "modes": found[-1][1]})
            if step in (settings.steps // 8, settings.steps // 2, settings.steps):
                show(fake_points, step, settings)

    if found:
        drawn = {"modes": tuple(zip(*found))}
        lines(settings.folder / "modes.svg", drawn, "Spots found", "step", "spots")
        curves = {name: (range(1, len(ys) + 1), ys) for name, ys in losses.items()}
        lines(settings.folder / "loss.svg", curves, "Losses of D and G", "step", "loss")
    with tt.no_grad():
        modes, near = covered(fake_points(2000), settings.modes)
    print(f"{modes} of {settings.modes} spots covered; {near:.1%} of the points are near one")
    return modes


def show(fake_points, step: int, settings: Settings) -> None:
    """Draw real and generated points in one plane."""
    with tt.no_grad():
        points = tt.cat([real_points(300, settings.modes), fake_points(300)])
    title = f"Real and generated points after {step} steps"
    names = ["real"] * 300 + ["generated"] * 300
    scatter(settings.folder / f"points_{step:05}.svg", points, names, title)


if __name__ == "__main__":
    run(main, Settings)
