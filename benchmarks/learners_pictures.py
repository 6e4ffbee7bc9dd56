"""Networks for pictures as learners write them: one training step each; see learners.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models import Step


def step_of(optimizer: Any, loss_of: Callable[[], Any]) -> Step:
    """zero_grad, loss, backward, the optimiser's step."""

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return step


def lenet(lib: Any) -> Step:
    """LeNet on 28×28 pictures, batch 64."""
    nn, F = lib.nn, lib.nn.functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(16 * 5 * 5, 120)
            self.fc2 = nn.Linear(120, 84)
            self.fc3 = nn.Linear(84, 10)

        def forward(self, x: Any) -> Any:
            x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            x = x.view(x.size(0), -1)
            return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))

    model, criterion = Net(), nn.CrossEntropyLoss()
    x, y = lib.randn(64, 1, 28, 28), lib.randint(0, 10, (64,))
    optimizer = lib.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return step_of(optimizer, lambda: criterion(model(x), y))


def conv_mixer(lib: Any) -> Step:
    """ConvMixer: depthwise and 1×1 convolutions, width 64, depth 4, batch 16."""
    nn = lib.nn

    class Residual(nn.Module):
        def __init__(self, fn: Any) -> None:
            super().__init__()
            self.fn = fn

        def forward(self, x: Any) -> Any:
            return self.fn(x) + x

    dim = 64
    blocks = [
        nn.Sequential(
            Residual(nn.Sequential(
                nn.Conv2d(dim, dim, 5, groups=dim, padding="same"), nn.GELU(),
                nn.BatchNorm2d(dim))),
            nn.Conv2d(dim, dim, kernel_size=1), nn.GELU(), nn.BatchNorm2d(dim),
        )
        for _ in range(4)
    ]  # fmt: skip
    model = nn.Sequential(
        nn.Conv2d(3, dim, 4, stride=4), nn.GELU(), nn.BatchNorm2d(dim), *blocks,
        nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(dim, 10),
    )  # fmt: skip
    x, y = lib.randn(16, 3, 32, 32), lib.randint(0, 10, (16,))
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-3)
    return step_of(optimizer, lambda: nn.functional.cross_entropy(model(x), y))


def small_alexnet(lib: Any) -> Step:
    """AlexNet for 64×64 pictures, batch 8."""
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(3, 32, 11, stride=4, padding=5), nn.ReLU(inplace=True), nn.MaxPool2d(2, 2),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(2, 2),
        nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(inplace=True),
        nn.Conv2d(128, 96, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Dropout(0.5), nn.Linear(96 * 4, 256), nn.ReLU(), nn.Linear(256, 10),
    )  # fmt: skip
    x, y = lib.randn(8, 3, 64, 64), lib.randint(0, 10, (8,))
    optimizer = lib.optim.Adam(model.parameters(), lr=1e-3)
    return step_of(optimizer, lambda: nn.functional.cross_entropy(model(x), y))


def resnet(lib: Any) -> Step:
    """A ResNet of 8 layers on 32×32 pictures, batch 16."""
    nn, F = lib.nn, lib.nn.functional

    class BasicBlock(nn.Module):
        def __init__(self, in_planes: int, planes: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(in_planes, planes, 3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(planes)
            self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(planes)
            self.shortcut = nn.Sequential()
            if stride != 1 or in_planes != planes:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(in_planes, planes, 1, stride=stride, bias=False),
                    nn.BatchNorm2d(planes),
                )

        def forward(self, x: Any) -> Any:
            out = F.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += self.shortcut(x)
            return F.relu(out)

    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        BasicBlock(16, 16, 1), BasicBlock(16, 32, 2), BasicBlock(32, 64, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    x, y = lib.randn(16, 3, 32, 32), lib.randint(0, 10, (16,))
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    return step_of(optimizer, lambda: F.cross_entropy(model(x), y))


def unet(lib: Any) -> Step:
    """A U-Net of two levels with a dice loss, 32×32 pictures, batch 4."""
    nn, F = lib.nn, lib.nn.functional

    def double(a: int, b: int) -> Any:
        return nn.Sequential(
            nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
            nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
        )  # fmt: skip

    into, down, up = double(3, 16), double(16, 32), double(32, 16)
    back, out = nn.ConvTranspose2d(32, 16, 2, stride=2), nn.Conv2d(16, 2, 1)
    model = nn.ModuleList([into, down, up, back, out])
    x, masks = lib.randn(4, 3, 32, 32), lib.randint(0, 2, (4, 32, 32))
    hot = F.one_hot(masks, 2).permute(0, 3, 1, 2).float()

    def loss_of() -> Any:
        x1 = into(x)
        y = out(up(lib.cat([x1, back(down(F.max_pool2d(x1, 2)))], dim=1)))
        p = F.softmax(y, dim=1)
        dice = (2 * (p * hot).sum(dim=(-1, -2)) + 1e-6) / ((p + hot).sum(dim=(-1, -2)) + 1e-6)
        return F.cross_entropy(y, masks) + 1 - dice.mean()

    return step_of(lib.optim.RMSprop(model.parameters(), lr=1e-4, momentum=0.9), loss_of)
