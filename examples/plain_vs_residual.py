"""Deep networks, plain and residual: the deeper plain one trains worse, the residual one does not.

    python examples/plain_vs_residual.py
    python examples/plain_vs_residual.py --deep 110 --skip concatenate

Networks of 20 and of 56 layers learn the same digits. A layer is Linear, BatchNorm1d and ReLU; the
residual networks have the same layers, with a skip connection around every two of them: y =
ReLU(F(x) + x). 56 layers could do all that 20 can, if the others were the identity; a plain network
does not find that solution, and ends with a higher training loss. With skips, the identity is easy.
gradients.svg shows the effect of skips on the gradient, in tanh layers without normalisation: in
the plain network it vanishes on its way to the first layer.

The result is how much more depth raises the training loss of the plain network than that of the
residual one.
"""

from __future__ import annotations

from dataclasses import dataclass

from digits import digits
from harness import Example, run
from plots import lines

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import graph, optim
from tinytensor.train.progress import Progress

SKIPS = ("before", "after", "concatenate")  # ReLU(F(x) + x), ReLU(F(x)) + x, [ReLU(F(x)), x]


@dataclass
class Settings(Example):
    measure = "harm_of_depth"
    quick_run = {"steps": 100, "shallow": 8, "deep": 32, "samples": 500, "target": 0.3}
    choices = {"skip": SKIPS}

    skip: str = "before"
    shallow: int = 20
    deep: int = 56
    width: int = 32
    samples: int = 2000
    batch: int = 100
    lr: float = 0.05
    steps: int = 250
    target: float = 0.3


def layer(inputs: int, outputs: int) -> list[nn.Module]:
    return [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs)]


def make_model(depth: int, kind: str, width: int) -> nn.Sequential:
    """A first and a last layer, and (depth − 2) / 2 blocks of two layers between them.

    kind: "plain", or one of SKIPS.
    """
    layers = [nn.Flatten(), *layer(8 * 8, width), nn.ReLU()]  # (N, 1, 8, 8) → (N, 64) → (N, width)
    features = width
    for _ in range((depth - 2) // 2):
        added = width // 8 if kind == "concatenate" else width  # concatenation widens the features
        block = nn.Sequential(*layer(features, width), nn.ReLU(), *layer(width, added))
        if kind == "before":
            layers.append(nn.AddBeforeActivation(block))
        elif kind == "after":
            layers.append(nn.AddAfterActivation(block))
        elif kind == "concatenate":
            layers.append(nn.ConcatenateSkip(block.append(nn.ReLU())))
            features += added
        else:
            layers.append(block.append(nn.ReLU()))
    return nn.Sequential(*layers, nn.Linear(features, 10))


def train(
    name: str, model: nn.Module, data: tuple[tt.Tensor, tt.Tensor], settings: Settings
) -> list[float]:
    """Train; return the loss before the first step and after each, as a running mean."""
    optimizer = optim.SGD(model.parameters(), lr=settings.lr, momentum=0.9)
    with tt.no_grad():
        losses = [F.cross_entropy(model(data[0]), data[1]).item()]
    with Progress(True, 0, settings.steps) as progress:
        for step in range(1, settings.steps + 1):
            batch = tt.randint(len(data[1]), (settings.batch,))
            loss = F.cross_entropy(model(data[0][batch]), data[1][batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(0.95 * losses[-1] + 0.05 * loss.item())
            progress.update(step, {"model": name, "loss": losses[-1]})
    return losses


def show_gradients(settings: Settings) -> None:
    """Draw the gradient norm in each layer of an untrained deep network without normalisation."""
    norms = graph.compare_depth(settings.deep, settings.folder / "gradients.svg")
    for name, values in (("plain", norms.plain), ("residual", norms.residual)):
        print(
            f"{name}: the gradient norm of layer 1 of {settings.deep} is {values[0]:.2g}, "
            f"that of the last layer {values[-1]:.2g}"
        )


def main(settings: Settings) -> float:
    data = digits(settings.samples, size=8)
    show_gradients(settings)
    curves, harm = {}, {}
    for kind, name in (("plain", "plain"), (settings.skip, "residual")):
        final = []
        for depth in (settings.shallow, settings.deep):
            tt.manual_seed(settings.seed)
            model = make_model(depth, kind, settings.width)
            losses = train(f"{name}, {depth} layers", model, data, settings)
            curves[f"{name}, {depth} layers"] = (range(len(losses)), losses)
            final.append(losses[-1])
            print(f"{name}, {depth} layers: training loss {losses[-1]:.3f}")
        harm[name] = final[1] - final[0]
    lines(settings.folder / "loss.svg", curves, "Training loss", "step", "loss")
    return harm["plain"] - harm["residual"]


if __name__ == "__main__":
    run(main, Settings)
