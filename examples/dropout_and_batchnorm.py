"""Dropout and batch normalisation: what they do in training, in eval mode, and to the result.

    python examples/dropout_and_batchnorm.py
    python examples/dropout_and_batchnorm.py --samples 1000 --dropout 0.2

Four networks, with and without each of the two, learn to read digits from few samples. The plain
network memorises them. Dropout, which hides half of each layer in training, makes that harder;
batch normalisation, which keeps each feature at mean 0 and deviation 1, makes training faster. The
result is the gain in accuracy on unseen digits of the network with both over the plain one.
"""

from __future__ import annotations

from dataclasses import dataclass

from digits import digits
from harness import Example, run
from plots import bars, lines

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train.progress import Progress


@dataclass
class Settings(Example):
    measure = "gain"
    quick_run = {"steps": 150, "target": 0.01}

    samples: int = 500
    width: int = 256
    dropout: float = 0.5
    batch: int = 50
    lr: float = 0.05
    steps: int = 600
    target: float = 0.01


def make_model(settings: Settings, dropout: bool, batch_norm: bool) -> nn.Sequential:
    """Two hidden layers, each of Linear, optionally BatchNorm1d, ReLU, optionally Dropout."""
    layers: list[nn.Module] = [nn.Flatten()]  # (N, 1, 16, 16) → (N, 256)
    for inputs in (16 * 16, settings.width):
        layers.append(nn.Linear(inputs, settings.width))
        if batch_norm:
            layers.append(nn.BatchNorm1d(settings.width))
        layers.append(nn.ReLU())
        if dropout:
            layers.append(nn.Dropout(settings.dropout))
    return nn.Sequential(*layers, nn.Linear(settings.width, 10))


def accuracy(model: nn.Module, data: tuple[tt.Tensor, tt.Tensor], training: bool) -> float:
    """The accuracy in train or eval mode; leaves the model in train mode."""
    model.train(training)
    with tt.no_grad():
        reached = (model(data[0]).argmax(dim=1) == data[1]).float().mean().item()
    model.train()
    return reached


def show_modes(settings: Settings) -> None:
    """Print what each layer does to the same numbers in train mode and in eval mode."""
    x = 3 + 2 * tt.randn(1000, 4)
    dropout = nn.Dropout(settings.dropout)
    hidden = (dropout(x) == 0).float().mean().item()
    print(f"Dropout({settings.dropout}): training zeroes {hidden:.0%} and scales up the others")
    print(f"  mean before {x.mean():.3f}, after {dropout(x).mean():.3f}")
    print(f"  in eval mode nothing changes: {tt.equal(dropout.eval()(x), x)}")
    norm = nn.BatchNorm1d(4, affine=False)
    for _ in range(50):
        y = norm(x)
    print(f"BatchNorm1d: uses the batch's own mean {x.mean():.2f} and deviation {x.std():.2f}")
    print(f"  mean after {y.mean():.3f}, deviation {y.std():.3f}")
    one = norm.eval()(x[:1])[0].numpy().round(2)
    print(f"  in eval mode it uses the running ones, so a batch of one works: {one}\n")


def train(
    name: str,
    model: nn.Module,
    data: tuple[tt.Tensor, tt.Tensor],
    test: tuple[tt.Tensor, tt.Tensor],
    settings: Settings,
) -> tuple[list[int], list[float]]:
    """Train the model; return some steps and the accuracy on unseen digits after each."""
    optimizer = optim.SGD(model.parameters(), lr=settings.lr, momentum=0.9)
    steps, reached = [0], [accuracy(model, test, training=False)]
    with Progress(True, 0, settings.steps) as progress:
        for step in range(1, settings.steps + 1):
            batch = tt.randint(len(data[1]), (settings.batch,))
            loss = F.cross_entropy(model(data[0][batch]), data[1][batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 25 == 0 or step == settings.steps:
                steps.append(step)
                reached.append(accuracy(model, test, training=False))
            progress.update(step, {"model": name, "loss": loss.item(), "test": reached[-1]})
    return steps, reached


def main(settings: Settings) -> float:
    show_modes(settings)
    data, test = digits(settings.samples), digits(2000)
    curves, reached = {}, {}
    print("accuracy on            training digits  unseen  unseen, in train mode")
    for name, dropout, batch_norm in (
        ("plain", False, False),
        ("dropout", True, False),
        ("batch norm", False, True),
        ("both", True, True),
    ):
        tt.manual_seed(settings.seed)
        model = make_model(settings, dropout, batch_norm)
        curves[name] = train(name, model, data, test, settings)
        reached[name] = curves[name][1][-1]
        own, wrong_mode = accuracy(model, data, False), accuracy(model, test, True)
        print(f"  {name:24} {own:11.3f}  {reached[name]:6.3f}  {wrong_mode:8.3f}")
    title = f"Unseen digits read, after training on {settings.samples}"
    lines(settings.folder / "accuracy.svg", curves, title, "step", "accuracy")
    bars(settings.folder / "result.svg", reached, title, "accuracy")
    return reached["both"] - reached["plain"]


if __name__ == "__main__":
    run(main, Settings)
