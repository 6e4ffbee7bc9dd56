"""A mixture of experts: a gate sends each input to the few small networks that know its region.

    python examples/mixture_of_experts.py
    python examples/mixture_of_experts.py --experts 16 --top-k 1

The plane is divided into regions, each with its own linear rule; at the borders the values jump.
The gate learns which experts to use for a point, the experts learn the rules. Only top_k of them
run for a point. A single dense network with the same work per point fits the jumps worse. Without
the load-balancing loss, some experts are never used.

The result is the fraction of the variance that the mixture explains, on unseen points.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness import Example, run
from plots import bars, lines, scatter

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress


@dataclass
class Settings(Example):
    measure = "variance_explained"
    quick_run = {"steps": 250, "target": 0.5}

    regions: int = 8
    experts: int = 12
    top_k: int = 2
    width: int = 8  # of an expert
    balance: float = 0.05  # weight of the load-balancing loss
    batch: int = 256
    lr: float = 0.02
    steps: int = 800
    target: float = 0.8


class Rules:
    """y = slopeᵣ·x + heightᵣ, where r is the region with the nearest centre."""

    def __init__(self, regions: int):
        self.centres = 6 * tt.rand(regions, 2) - 3
        self.slopes = 0.7 * tt.randn(regions, 2)
        self.heights = 2 * tt.randn(regions)

    def region(self, x: tt.Tensor) -> tt.Tensor:
        return tt.cdist(x, self.centres).argmin(dim=1)

    def sample(self, count: int) -> tuple[tt.Tensor, tt.Tensor]:
        """Points (count, 2) of the square from −3 to 3, and their values (count, 1)."""
        x = 6 * tt.rand(count, 2) - 3
        region = self.region(x)
        y = (self.slopes[region] * x).sum(dim=1) + self.heights[region]
        return x, y.unsqueeze(1)


def network(width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, 1))


def make_mixture(settings: Settings) -> nn.MixtureOfExperts:
    return nn.MixtureOfExperts(
        2, lambda: network(settings.width), settings.experts, settings.top_k, gate_bias=True
    )


def train(
    name: str, model: nn.Module, rules: Rules, settings: Settings, balance: float = 0.0
) -> list[float]:
    """Train the model; return the squared error at each step, as a running mean."""
    optimizer = optim.Adam(model.parameters(), lr=settings.lr)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, max(settings.steps, 1))
    errors: list[float] = []
    with Progress(True, 0, settings.steps) as progress:
        for step in range(1, settings.steps + 1):
            x, y = rules.sample(settings.batch)
            error = loss = F.mse_loss(model(x), y)
            if balance:
                loss = error + balance * model.load_balancing_loss()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            before = errors[-1] if errors else error.item()
            errors.append(0.97 * before + 0.03 * error.item())
            progress.update(step, {"model": name, "error": errors[-1]})
    return errors


def explained(model: nn.Module, test: tuple[tt.Tensor, tt.Tensor]) -> float:
    """1 − the mean squared error / the variance of the values."""
    x, y = test
    with tt.no_grad():
        return 1 - (F.mse_loss(model(x), y) / y.var(correction=0)).item()


def chosen_experts(mixture: nn.MixtureOfExperts, x: tt.Tensor) -> tt.Tensor:
    """The indices of the experts that the gate chooses for points (N, 2): (N, top_k)."""
    with tt.no_grad():
        return mixture.route(x).experts


def main(settings: Settings) -> float:
    rules = Rules(settings.regions)
    test = rules.sample(4000)
    mixture = make_mixture(settings)
    models = {
        "mixture": mixture,
        "mixture, not balanced": make_mixture(settings),
        "one network, the same work": network(settings.width * settings.top_k),
    }
    curves, reached = {}, {}
    for name, model in models.items():
        errors = train(name, model, rules, settings, settings.balance * (name == "mixture"))
        curves[name] = (range(1, len(errors) + 1), errors)
        reached[name] = explained(model, test)
        print(f"{name}: {reached[name]:.3f} of the variance explained")
        if isinstance(model, nn.MixtureOfExperts):
            experts = chosen_experts(model, test[0])
            counts = tt.bincount(experts.flatten(), minlength=settings.experts).tolist()
            shares = {f"expert {e}": n / len(test[0]) for e, n in enumerate(counts)}
            print(f"{name}: {counts.count(0)} experts unused, busiest {max(shares.values()):.1%}")
            title = f"Points that each expert is asked for: {name}"
            file = f"shares_{'balanced' if name == 'mixture' else 'unbalanced'}.svg"
            bars(settings.folder / file, shares, title, "share of the points")
    if settings.steps:
        lines(settings.folder / "error.svg", curves, "Squared error", "step", "error", log_y=True)
    scatter(
        settings.folder / "regions.svg",
        test[0][:600],
        rules.region(test[0][:600]),
        "Points by the rule that holds; background by the expert the gate prefers",
        predict=lambda points: chosen_experts(mixture, points)[:, 0],
    )
    bars(settings.folder / "explained.svg", reached, "Variance explained on unseen points", "")
    return reached["mixture"]


if __name__ == "__main__":
    run(main, Settings)
