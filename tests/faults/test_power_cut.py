"""Power cuts, replayed: whatever a disk may hold after one, the training goes on from it.

A training runs while each fsync, rename and removal is recorded. A power cut may strike before and
after each of them. What has been written since a file's last fsync may then be there, be there in
part, be zeros, or be missing; of the names that changed since the folder's last fsync, all up to
some point are there. Every such state of the folder is made, and from each a training goes on: it
must find a whole checkpoint, and end bit-equal to one that was left alone.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

import tinytensor as tt
from tests.faults.training import left_behind, make_trainer
from tinytensor.train.log import Log

pytest.importorskip("safetensors")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/fd"),
]

STEPS = 11
Names = dict[str, int]  # file name → inode
State = frozenset[tuple[str, bytes]]  # (file name, content)


class Disk:
    """What of a folder has reached the disk, and what has been written since."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.files: dict[int, BinaryIO] = {}  # kept open, so that no inode is used a second time
        self.content: dict[int, bytes] = {}
        self.durable: dict[int, bytes] = {}
        self.names: list[Names] = [{}]  # on the disk, and after each change since
        self.states: dict[State, None] = {}

    def look(self) -> None:
        """Record what is in the folder now, and what a power cut would leave of it."""
        names = {}
        for path in self.folder.iterdir() if self.folder.exists() else ():
            inode = path.stat().st_ino
            if inode not in self.files:
                self.files[inode] = path.open("rb")
            names[path.name] = inode
        for inode, file in self.files.items():
            file.seek(0)
            self.content[inode] = file.read()
        if names != self.names[-1]:
            self.names.append(names)
        for known in self.names:
            choices = [[(name, left) for left in self.left_of(i)] for name, i in known.items()]
            for state in itertools.product(*choices):
                self.states[frozenset(state)] = None

    def left_of(self, inode: int) -> set[bytes]:
        """What may be left of a file: the new content, the old, a half, or zeros at its end."""
        new, old = self.content[inode], self.durable.get(inode, b"")
        if new == old:
            return {new}
        common = next(
            (i for i, (a, b) in enumerate(zip(new, old)) if a != b), min(len(new), len(old))
        )
        half = new[: (common + len(new)) // 2]
        return {new, old, half, new[:common] + bytes(len(new) - common)}

    def sync(self, path: Path) -> None:
        """Note that an fsync of a file or the folder is done."""
        if path == self.folder:
            self.names = self.names[-1:]
        elif path.parent == self.folder:
            inode = path.stat().st_ino
            self.durable[inode] = self.content[inode]


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    """A Disk for the folder `run`, which it inspects before and after each call."""
    disk = Disk(tmp_path / "run")

    def watch(owner: Any, name: str) -> None:
        call = getattr(owner, name)

        def watched(*args: Any, **options: Any) -> Any:
            disk.look()
            result = call(*args, **options)
            disk.look()
            if name == "fsync":
                disk.sync(Path(os.readlink(f"/proc/self/fd/{args[0]}")))
            return result

        monkeypatch.setattr(owner, name, watched)

    for name in ("fsync", "replace", "unlink", "truncate"):
        watch(os, name)
    watch(Log, "write")
    yield disk
    for file in disk.files.values():
        file.close()


def make(state: State, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in state:
        (folder / name).write_bytes(content)


def check_all(disk: Disk, whole: dict[int, Any], folder: Path) -> None:
    """From every state the training goes on, to what is expected of its seed."""
    dice = random.Random(0)
    states = list(disk.states)
    to_the_end = set(dice.sample(states, min(30, len(states))))
    for state in states:
        make(state, folder)
        names = dict(state)
        if "checkpoint.safetensors" in names:
            assert tt.load(folder / "checkpoint.safetensors")["step"] <= STEPS
        if state in to_the_end:
            trainer = make_trainer(folder, seed=5)
            trainer.fit(steps=STEPS, resume=True)
            assert left_behind(folder) in whole.values()
            extra = {p.name for p in folder.iterdir()} - {
                "checkpoint.safetensors", "best.safetensors", "log.jsonl", "curve.svg"
            }  # fmt: skip
            assert not extra


def finished(folder: Path, seed: int) -> Any:
    make_trainer(folder, seed=seed).fit(steps=STEPS)
    return left_behind(folder)


def test_every_state_that_a_power_cut_may_leave(tmp_path: Path, disk: Disk) -> None:
    expected = {seed: finished(tmp_path / str(seed), seed) for seed in (0, 5)}
    make_trainer(disk.folder).fit(steps=STEPS)
    assert len(disk.states) > 100, len(disk.states)
    begun = [state for state in disk.states if "checkpoint.safetensors" in dict(state)]
    assert 0 < len(disk.states) - len(begun) < 10, "only before the first checkpoint"
    check_all(disk, expected, tmp_path / "after")


def test_power_cut_while_a_former_training_is_replaced(tmp_path: Path, disk: Disk) -> None:
    expected = {seed: finished(tmp_path / str(seed), seed) for seed in (0, 1)}
    make_trainer(disk.folder, seed=1).fit(steps=5)
    disk.states.clear()
    make_trainer(disk.folder).fit(steps=1)
    assert all("checkpoint.safetensors" in dict(state) for state in disk.states)
    check_all(disk, expected, tmp_path / "after")
