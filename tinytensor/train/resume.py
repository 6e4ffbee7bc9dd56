"""Resumable: save and restore everything that a training run depends on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..serialize import cannot_write, load, save, sync_folder
from ..utils.data import DataLoader
from .figures import Averages
from .log import Log
from .random_state import random_state, set_random_state

CHECKPOINT, BEST, LOG = "checkpoint.safetensors", "best.safetensors", "log.jsonl"


class Resumable:
    """The part of the Trainer that saves and restores checkpoints.

    step, epoch  completed steps and epochs
    position     the position of the next batch in train_data
    kept         {name: object with state_dict and load_state_dict}: the model, the optimiser, …
    """

    folder: Path | None
    train_data: DataLoader
    val_data: DataLoader | None
    kept: dict[str, Any]
    log: Log

    def __init__(self) -> None:
        self.step = self.epoch = 0
        self.position: dict[str, Any] | None = None
        self.seconds = 0.0  # spent in training
        self.best: float | None = None
        self.best_step = 0
        self.validations_without_better = 0
        self.results: dict[str, float] = {}
        self.averages = Averages()  # over the epoch so far
        self._saved: tuple[int, int] | None = None  # (step, epoch) of the latest checkpoint

    def state_dict(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "epoch": self.epoch,
            "position": self.position,
            "seconds": self.seconds,
            "best": self.best,
            "best_step": self.best_step,
            "validations_without_better": self.validations_without_better,
            "results": dict(self.results),
            "averages": self.averages.state_dict(),
            "log_bytes": self.log.size,
            "random": random_state(),
            "val_data": None if self.val_data is None else self.val_data.state_dict(),
            "kept": {name: thing.state_dict() for name, thing in self.kept.items()},
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for name in ("step", "epoch", "position", "seconds", "best", "best_step", "results"):
            setattr(self, name, state_dict[name])
        self.validations_without_better = state_dict["validations_without_better"]
        self.averages.load_state_dict(state_dict["averages"])
        for name, thing in self.kept.items():
            thing.load_state_dict(state_dict["kept"][name])
        if self.val_data is not None and state_dict["val_data"] is not None:
            self.val_data.load_state_dict(state_dict["val_data"])
        set_random_state(state_dict["random"])  # last: the code above may draw random numbers

    def save_checkpoint(self) -> None:
        """Write the checkpoint. The old one is replaced only when the new one is complete."""
        if self.folder is None or self._saved == (self.step, self.epoch):
            return
        with naming(self.folder / LOG):
            self.log.sync()  # the checkpoint refers to these lines
        with naming(self.folder / CHECKPOINT):
            save(self.state_dict(), self.folder / CHECKPOINT)
        self._saved = (self.step, self.epoch)

    def load_checkpoint(self) -> None:
        """Restore the folder's checkpoint, and cut off later lines of the log."""
        if self.folder is None:
            raise RuntimeError("Trainer.load_checkpoint: the Trainer has no folder to load from")
        path = self.folder / CHECKPOINT
        state = load(path)
        if not isinstance(state, dict) or not self.state_dict().keys() <= state.keys():
            raise RuntimeError(f"Trainer: {path} is not a checkpoint of a Trainer")
        if state["kept"].keys() != self.kept.keys():
            raise RuntimeError(
                f"Trainer: {path} has states of {[*state['kept']]}, expected {[*self.kept]}"
            )
        try:
            self.load_state_dict(state)
        except (ValueError, KeyError, RuntimeError) as error:
            raise RuntimeError(f"Trainer: {path} is from another training ({error})") from error
        with naming(self.folder / LOG):
            self.log.begin(state["log_bytes"])
        self._saved = (self.step, self.epoch)

    def begin(self, resume: bool) -> None:
        """Resume from the folder's checkpoint, or start with an empty log.

        The first checkpoint is written before the first step, so that a run killed early can be
        resumed, and a folder that cannot be written to is reported at once.
        """
        if self.val_data is not None:
            self.val_data.reset()
        if self.step or self._saved:
            return  # a second `fit`
        self.train_data.reset()
        self.position = self.train_data.state_dict()
        if self.folder is None:
            return
        with naming(self.folder):
            make_folder(self.folder)
            for half_written in self.folder.glob(".*.part"):  # left by a killed process
                half_written.unlink(missing_ok=True)
        if resume and (self.folder / CHECKPOINT).exists():
            self.load_checkpoint()
        else:
            # This checkpoint records an empty log, so it is written before the log is emptied:
            # whenever the process dies, the folder holds a run that can be resumed, old or new.
            self.save_checkpoint()
            with naming(self.folder / LOG):
                self.log.begin()
        if self.best is None:
            with naming(self.folder / BEST):
                (self.folder / BEST).unlink(missing_ok=True)  # from an earlier run


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, synced to the disk to survive a power cut."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in new:
        sync_folder(path.parent)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Restate disk errors: which file, that the existing one is unchanged, and what to do."""
    try:
        yield
    except OSError as error:
        raise cannot_write(error, path, "Trainer") from None
