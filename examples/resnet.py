"""A small residual network of convolutions reads digits.

    python examples/resnet.py
    python examples/resnet.py --width 16 --blocks 2

There are three stages, each with half the resolution and twice the channels of the one before. A
block is two 3×3 convolutions with batch normalisation, with its input added to its output. Where
the shape changes, the input goes through a 1×1 convolution. The last features are means over all
pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

from digits import digits
from harness import Example, run
from plots import heat_map, images

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train import Trainer
from tinytensor.utils.data import DataLoader, TensorDataset


@dataclass
class Settings(Example):
    quick_run = {"steps": 60, "samples": 1000, "target": 0.6}

    width: int = 8  # channels of the first stage
    blocks: int = 1  # of each stage
    samples: int = 3000
    batch: int = 50
    lr: float = 0.01
    steps: int = 300
    target: float = 0.96


class Block(nn.Module):
    """y = ReLU(F(x) + skip(x)): x (N, inputs, H, W) → (N, outputs, H/stride, W/stride)"""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        same = inputs == outputs and stride == 1
        self.skip = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return F.relu(y + self.skip(x))


class ResNet(nn.Module):
    """Logits (N, 10) of pictures (N, 1, H, W)."""

    def __init__(self, width: int, blocks: int):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        channels = [width, width, 2 * width, 4 * width]
        self.stages = nn.Sequential()
        for stage, (inputs, outputs) in enumerate(zip(channels, channels[1:])):
            for number in range(blocks):
                first = number == 0
                stride = 2 if first and stage > 0 else 1
                self.stages.append(Block(inputs if first else outputs, outputs, stride))
        self.head = nn.Linear(channels[-1], 10)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        x = F.relu(self.norm(self.stem(x)))
        x = self.stages(x)
        return self.head(x.mean(dim=(2, 3)))  # (N, C, H, W) → (N, C) → (N, 10)


def accuracy(logits: tt.Tensor, labels: tt.Tensor) -> tt.Tensor:
    return (logits.argmax(dim=1) == labels).float().mean()


def draw(model: ResNet, test: tuple[tt.Tensor, tt.Tensor], settings: Settings) -> None:
    """Draw the confusion matrix, the mistakes, and the filters of the first layer."""
    model.eval()
    with tt.no_grad():
        guesses = model(test[0]).argmax(dim=1)
    labels = test[1]
    table = (F.one_hot(labels, 10).T @ F.one_hot(guesses, 10)).float()  # (10, N) @ (N, 10)
    names = [str(digit) for digit in range(10)]
    title = "Share of each digit (row) read as each (column)"
    shares = table / table.sum(dim=1, keepdim=True).clamp(min=1)
    heat_map(settings.folder / "confusion.svg", shares, names, names, title)
    wrong = (guesses != labels).nonzero().flatten()[:20].tolist()
    if wrong:
        captions = [f"{guesses[i].item()}, not {labels[i].item()}" for i in wrong]
        pictures = [test[0][i] for i in wrong]
        images(settings.folder / "mistakes.svg", pictures, 10, captions, "What it gets wrong")
    filters = model.stem.weight.detach()  # (C, 1, 3, 3)
    filters = 0.5 + filters / (2 * filters.abs().amax())
    images(settings.folder / "filters.svg", list(filters), 8, title="Filters of the first layer")


def main(settings: Settings) -> float:
    data, test = digits(settings.samples), digits(1000)
    model = ResNet(settings.width, settings.blocks)
    count = sum(p.numel() for p in model.parameters())
    print(f"{count} parameters")
    optimizer = optim.Adam(model.parameters(), lr=settings.lr)
    trainer = Trainer(
        model,
        optimizer,
        F.cross_entropy,
        DataLoader(TensorDataset(*data), batch_size=settings.batch, shuffle=True),
        DataLoader(TensorDataset(*test), batch_size=100),
        scheduler=optim.lr_scheduler.OneCycleLR(
            optimizer, settings.lr, total_steps=settings.steps + 1
        ),
        metrics={"accuracy": accuracy},
        validate_every=100,
    )
    trainer.fit(steps=settings.steps)
    if settings.steps:
        trainer.save_curve(settings.folder / "loss.svg", "Loss of the residual network")
    draw(model, test, settings)
    return trainer.evaluate()["accuracy"]


if __name__ == "__main__":
    run(main, Settings)
