"""Trainings that are killed at any moment, and go on: they end as if nothing had happened.

The program below trains a small model with dropout on shuffled data with random noise, and writes
a checkpoint every few steps. It is killed with SIGKILL, which no process can catch, and ended with
SIGTERM, at random moments and in the middle of writing a checkpoint, and started again. At the end
weights, optimiser, random state, data order and log equal those of a run that was left alone, bit
for bit. (Power cuts are in tests/faults/test_power_cut.py.)
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import tinytensor as tt

pytest.importorskip("safetensors")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="SIGKILL is POSIX's"),
]

KILLS = 100
STEPS = 500
PROGRAM = """
import os, random, signal, sys
import numpy as np
import nn, nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train import Trainer
from tinytensor.utils.data import DataLoader, Dataset

folder, steps, workers, deadly_call, deadly_count = sys.argv[1:]

class Noisy(Dataset):
    def __init__(self, n):
        generator = tt.Generator().manual_seed(1)
        self.x = tt.randn(n, 4, generator=generator)
        self.y = (self.x.prod(dim=1) > 0).long()

    def __getitem__(self, i):
        return self.x[i] + 0.1 * tt.randn(4), self.y[i]

    def __len__(self):
        return len(self.x)

class Watched(Trainer):
    def training_step(self, batch):
        loss, metrics = super().training_step(batch)
        return loss, {**metrics, "chance": random.random()}

if deadly_call:  # die at the n-th call of a function of the module os
    function, calls = getattr(os, deadly_call), []
    def die(*args, **kwargs):
        calls.append(1)
        if len(calls) == int(deadly_count):
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    setattr(os, deadly_call, die)

starts_anew = not os.path.exists(os.path.join(folder, "checkpoint.safetensors"))
tt.manual_seed(0 if starts_anew else os.getpid())  # a run that goes on needs no seed
random.seed(0 if starts_anew else os.getpid())
np.random.seed(0 if starts_anew else os.getpid())
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))
optimizer = optim.Adam(model.parameters(), lr=0.01)
Watched(
    model, optimizer, F.cross_entropy,
    DataLoader(Noisy(90), 8, shuffle=True, num_workers=int(workers)), DataLoader(Noisy(20), 8),
    scheduler=optim.lr_scheduler.CosineAnnealingLR(optimizer, int(steps)),
    metrics={"accuracy": lambda output, target: (output.argmax(1) == target).float().mean()},
    clip_grad_norm=1.0, folder=folder, checkpoint_every=5, progress=False,
).fit(steps=int(steps), resume=True)
"""


class Run:
    """A training in a folder, run by one process after another."""

    def __init__(self, folder: Path, workers: int, steps: int = STEPS):
        self.folder, self.workers, self.steps = folder, workers, steps
        self.log = folder / "log.jsonl"

    def start(self, deadly_call: str = "", deadly_count: int = 0) -> subprocess.Popen:
        arguments = [self.folder, self.steps, self.workers, deadly_call, deadly_count]
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *map(str, arguments)],
            stderr=subprocess.PIPE,
            env={**os.environ, "TINYTENSOR_KERNELS": "numpy"},  # which starts faster
        )

    def finish(self) -> Any:
        """Let it run to its end; all that it left behind, without times."""
        process = self.start()
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors.decode()
        state = tt.load(self.folder / "checkpoint.safetensors")
        del state["seconds"], state["log_bytes"]  # a longer time has more digits
        records = [json.loads(line) for line in self.log.read_text().splitlines()]
        for record in records:
            del record["time"]
        best = (self.folder / "best.safetensors").read_bytes()
        assert {path.name for path in self.folder.iterdir()} == {
            "checkpoint.safetensors", "best.safetensors", "log.jsonl", "curve.svg"
        }  # fmt: skip
        return plain(state), records, best

    def last_step(self) -> int:
        """The step of the last whole line of the log."""
        whole = self.log.read_bytes().rpartition(b"\n")[0]
        return json.loads(whole.splitlines()[-1])["step"] if whole else 0

    def lines(self) -> int:
        return self.log.read_bytes().count(b"\n") if self.log.exists() else 0


def plain(value: Any) -> Any:
    """Tensors as their bytes, so that all can be compared."""
    if isinstance(value, tt.Tensor):
        return str(value.dtype), tuple(value.shape), value.numpy().tobytes()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def end_after(run: Run, signal_number: int, steps: int, delay: float) -> bool:
    """Start it, and end it when it has gone on by so many steps; whether it was still running.

    By SIGTERM it ends after the step that it is in, with a checkpoint.
    """
    saved = run.folder / "checkpoint.safetensors"
    begin = tt.load(saved)["step"] if saved.exists() else 0
    process = run.start()
    until = time.monotonic() + 60
    before = run.lines()
    has_begun = before <= begin  # the lines after the checkpoint are cut off at the start
    while process.poll() is None and time.monotonic() < until:
        lines = run.lines()
        has_begun = has_begun or lines != before
        if has_begun and lines >= begin + steps:
            break
        time.sleep(0.002)
    time.sleep(delay)
    logged = run.last_step() if has_begun else 0
    process.send_signal(signal_number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode in (0, -signal_number), errors.decode()
    if signal_number == signal.SIGTERM:
        assert tt.load(saved)["step"] >= logged, "no step is lost"
    return process.returncode == -signal_number


def test_a_hundred_random_kills(tmp_path: Path) -> None:
    dice = random.Random(0)
    expected = Run(tmp_path / "alone", 0).finish()
    assert len(expected[1]) == STEPS + STEPS // 12
    kills = number = 0
    while kills < KILLS:
        workers = number % 2 * 2  # the batches are the same with workers and without
        run = Run(tmp_path / f"killed {number}", workers)
        goes_on = True
        while goes_on and kills < KILLS:
            by = signal.SIGTERM if dice.random() < 0.25 else signal.SIGKILL
            goes_on = end_after(run, by, dice.randrange(1, 30), dice.uniform(0, 0.004))
            kills += goes_on
        assert run.finish() == expected
        number += 1


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_kills_while_a_checkpoint_is_written(call: str, tmp_path: Path) -> None:
    """fsync: a part of the file may be there; replace: all of it, under another name."""
    expected = Run(tmp_path / "alone", 0, 30).finish()
    run = Run(tmp_path / "killed", 0, 30)
    for count in (1, 2, 3, 5):
        process = run.start(call, count)
        process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL
    assert run.finish() == expected
