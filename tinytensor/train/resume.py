"""Resumable: save the whole state of a training to a file, and restore it."""

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
    """The half of the Trainer that saves and restores.

    step, epoch  steps and epochs that are done
    position     where in train_data the next batch is
    kept         {name: what has state_dict and load_state_dict}: the model, the optimiser, …
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
        set_random_state(state_dict["random"])  # last: nothing of the above may draw after it

    def save_checkpoint(self) -> None:
        """Write the checkpoint. The old one is there until the new one is whole."""
        if self.folder is None or self._saved == (self.step, self.epoch):
            return
        with naming(self.folder / LOG):
            self.log.sync()  # the lines that the checkpoint counts on
        with naming(self.folder / CHECKPOINT):
            save(self.state_dict(), self.folder / CHECKPOINT)
        self._saved = (self.step, self.epoch)

    def load_checkpoint(self) -> None:
        """Go back to the folder's checkpoint; later lines of the log are cut off."""
        if self.folder is None:
            raise RuntimeError("Trainer.load_checkpoint: there is no folder to load from")
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
            raise RuntimeError(f"Trainer: {path} is of another training ({error})") from error
        with naming(self.folder / LOG):
            self.log.begin(state["log_bytes"])
        self._saved = (self.step, self.epoch)

    def begin(self, resume: bool) -> None:
        """Go on from the folder's checkpoint, or start anew with an empty log.

        The first checkpoint is written before the first step: a training that is killed early can
        go on from it, and a folder that cannot be written to shows at once.
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
            for half_written in self.folder.glob(".*.part"):  # by a killed process
                half_written.unlink(missing_ok=True)
        if resume and (self.folder / CHECKPOINT).exists():
            self.load_checkpoint()
        else:
            # It says that the log is empty, and so comes before the log is emptied: whenever the
            # process dies, the folder has a training that can go on, a former one or this.
            self.save_checkpoint()
            with naming(self.folder / LOG):
                self.log.begin()
        if self.best is None:
            with naming(self.folder / BEST):
                (self.folder / BEST).unlink(missing_ok=True)  # of a former training


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, so that a power cut does not undo it."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in new:
        sync_folder(path.parent)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors of the disk say which file, that nothing is lost, and what to do."""
    try:
        yield
    except OSError as error:
        raise cannot_write(error, path, "Trainer") from None
