"""Deep networks, plain and residual: the deeper plain one trains worse, the residual one does not.

    python examples/plain_vs_residual.py
    python examples/plain_vs_residual.py --deep 110

Networks of 20 and of 56 layers learn the same digits. A layer is Linear, BatchNorm1d and ReLU; the
residual networks have the same layers, and around every two of them a skip connection: y =
ReLU(F(x) + x). 56 layers could do all that 20 can, if the others did nothing; a plain network does
not find that out, and ends with the higher training loss. With skips, doing nothing is the start.

The result: by how much more depth raises the training loss of the plain network than that of the
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
from tinytensor import optim
from tinytensor.train.progress import Progress


@dataclass
class Settings(Example):
    measure = "harm_of_depth"
    quick_run = {"steps": 100, "shallow": 8, "deep": 32, "samples": 500, "target": 0.3}

    shallow: int = 20
    deep: int = 56
    width: int = 32
    samples: int = 2000
    batch: int = 100
    lr: float = 0.05
    steps: int = 250
    target: float = 0.3


def make_model(depth: int, residual: bool, width: int, norm: bool = True) -> nn.Sequential:
    """A first and a last layer, and (depth − 2) / 2 blocks of two layers between them."""

    def layer(inputs: int) -> list[nn.Module]:
        return [nn.Linear(inputs, width), nn.BatchNorm1d(width) if norm else nn.Identity()]

    blocks: list[nn.Module] = []
    for _ in range((depth - 2) // 2):
        block = nn.Sequential(*layer(width), nn.ReLU(), *layer(width))
        blocks.append(nn.AddBeforeActivation(block) if residual else block.append(nn.ReLU()))
    first = [nn.Flatten(), *layer(8 * 8), nn.ReLU()]  # (N, 1, 8, 8) → (N, 64) → (N, width)
    return nn.Sequential(*first, *blocks, nn.Linear(width, 10))


def train(
    name: str, model: nn.Module, data: tuple[tt.Tensor, tt.Tensor], settings: Settings
) -> list[float]:
    """The training loss at each step, as a running mean."""
    optimizer = optim.SGD(model.parameters(), lr=settings.lr, momentum=0.9)
    losses: list[float] = []
    with Progress(True, 0, settings.steps) as progress:
        for step in range(1, settings.steps + 1):
            batch = tt.randint(len(data[1]), (settings.batch,))
            loss = F.cross_entropy(model(data[0][batch]), data[1][batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            before = losses[-1] if losses else loss.item()
            losses.append(0.95 * before + 0.05 * loss.item())
            progress.update(step, {"model": name, "loss": losses[-1]})
    return losses


def gradient_norms(model: nn.Module, data: tuple[tt.Tensor, tt.Tensor]) -> list[float]:
    """Of the weight of each linear layer, from the first to the last."""
    F.cross_entropy(model(data[0]), data[1]).backward()
    linear = [m for m in model.modules() if isinstance(m, nn.Linear)]
    return [m.weight.grad.double().norm().item() for m in linear]  # float32 squares underflow


def show_gradients(data: tuple[tt.Tensor, tt.Tensor], settings: Settings) -> None:
    """How the gradient of a fresh deep network changes on its way from the last layer to the first.

    Without normalisation it vanishes in the plain network; with it, it explodes.
    """
    depth, curves = settings.deep, {}
    for residual in (False, True):
        for norm in (False, True):
            kind = "residual" if residual else "plain"
            name = f"{kind}, {'batch norm' if norm else 'no norm'}"
            norms = gradient_norms(make_model(depth, residual, settings.width, norm), data)
            print(f"{name}: gradient norm of layer 1 {norms[0]:.2g}, of {depth} {norms[-1]:.2g}")
            curves[name] = (range(1, depth + 1), norms)
    title = f"Gradient norm by layer of {depth}, before the first step"
    lines(settings.folder / "gradients.svg", curves, title, "layer", "norm of dL/dW", log_y=True)


def main(settings: Settings) -> float:
    data = digits(settings.samples, size=8)
    show_gradients((data[0][:200], data[1][:200]), settings)
    curves, final = {}, {}
    for kind in ("plain", "residual"):
        for depth in (settings.shallow, settings.deep):
            name = f"{kind}, {depth} layers"
            tt.manual_seed(settings.seed)
            model = make_model(depth, kind == "residual", settings.width)
            losses = train(name, model, data, settings)
            curves[name], final[kind, depth] = (range(1, len(losses) + 1), losses), losses[-1]
            print(f"{name}: training loss {losses[-1]:.3f}")
    lines(settings.folder / "loss.svg", curves, "Training loss", "step", "loss")
    plain, residual = (
        final[kind, settings.deep] - final[kind, settings.shallow] for kind in ("plain", "residual")
    )
    return plain - residual


if __name__ == "__main__":
    run(main, Settings)
