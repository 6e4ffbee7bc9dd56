"""A small training with all that a checkpoint must keep: dropout, shuffling, noise, a schedule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train import Trainer
from tinytensor.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    """Points with labels; each time a point is taken it has another noise."""

    def __init__(self, n: int):
        generator = tt.Generator().manual_seed(1)
        self.x = tt.randn(n, 4, generator=generator)
        self.y = (self.x.prod(dim=1) > 0).long()

    def __getitem__(self, i: int) -> tuple[tt.Tensor, tt.Tensor]:
        return self.x[i] + 0.1 * tt.randn(4), self.y[i]

    def __len__(self) -> int:
        return len(self.x)


def make_trainer(folder: Path, seed: int = 0, workers: int = 0, **options: Any) -> Trainer:
    """A Trainer of a model with dropout and batch norm; `seed` matters only if it starts anew."""
    tt.manual_seed(seed)
    model = nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2)
    )
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    options = {"checkpoint_every": 3, **options}
    return Trainer(
        model, optimizer, F.cross_entropy,
        DataLoader(Noisy(30), 6, shuffle=True, num_workers=workers), DataLoader(Noisy(8), 8),
        scheduler=optim.lr_scheduler.CosineAnnealingLR(optimizer, 100),
        clip_grad_norm=1.0, folder=folder, progress=False, **options,
    )  # fmt: skip


def left_behind(folder: Path) -> Any:
    """All that a training left in its folder, without times."""
    state = tt.load(folder / "checkpoint.safetensors")
    del state["seconds"], state["log_bytes"]  # a longer time has more digits
    for name in ("numpy", "python"):  # not used here, and shared with the tests
        del state["random"][name]
    records = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    for record in records:
        del record["time"]
    return plain(state), records, (folder / "best.safetensors").read_bytes()


def plain(value: Any) -> Any:
    """Tensors as their bytes, so that all can be compared."""
    if isinstance(value, tt.Tensor):
        return str(value.dtype), tuple(value.shape), value.numpy().tobytes()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value
