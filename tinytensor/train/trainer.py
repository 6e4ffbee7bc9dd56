"""Trainer: epoch → batch → step, with validation, checkpoints and a log.

    trainer = Trainer(model, optimizer, F.cross_entropy, train_data, val_data, folder="out/run")
    trainer.fit(epochs=10, resume=True)

The loop is `fit`, `_train_epoch` and `_train_step`, in this order; `update` does one optimiser
step. The checkpoint holds everything that a step depends on. So a run that was killed and resumed
ends with the same weights, to the last bit, as an uninterrupted one.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ..autograd.settings import no_grad
from ..create.generator import Generator, use_generator
from ..optim.clip_grad import clip_grads_with_norm_, get_total_norm
from ..optim.lr_scheduler import ReduceLROnPlateau
from ..serialize import load, save, write_whole
from ..svg import svg_to_png
from ..utils.data import DataLoader
from .batches import as_loader, on_device, samples_in
from .curve import loss_curve
from .figures import Averages, eval_mode, loss_and_figures
from .log import Log
from .progress import Progress, Stop
from .resume import BEST, LOG, Resumable, naming
from .watch import Watch


class Trainer(Resumable):
    """Trains a model.

    model             a Module
    optimizer         of the model's parameters
    loss              loss(output, target); None: the model returns the loss itself
    train_data        a DataLoader, or any iterable of batches that can be iterated over repeatedly
    val_data          the same, for validation
    scheduler         of the learning rate; ReduceLROnPlateau gets the monitored figure
    scheduler_every   "step" or "epoch": when to step the scheduler
    metrics           {name: function(output, target)}, each a mean over the batch
    clip_grad_norm    the largest allowed norm of the gradients
    validate_every    steps between validations; None: at the end of each epoch
    monitor           the validation figure that decides which model is best: "loss", or a metric
    maximize          whether a larger monitored figure is better
    patience          stop after this many validations in a row without improvement
    folder            for checkpoint.safetensors, best.safetensors, log.jsonl and curve.svg; None:
                      nothing is written
    checkpoint_every  steps between checkpoints; None: at the end of each epoch
    log_every         steps between lines of the log
    progress          whether to show progress, on stderr
    on_nan            "error", or "skip": skip steps whose loss or gradient is not finite
    watch             whether to log statistics of each layer, see `Watch`

    A subclass overrides `training_step(batch)`, which returns the loss, or (loss, {metric: value});
    or, for more than one optimiser, `update(batch)`. To add an object to the checkpoint, put it in
    `self.kept[name]`; it needs state_dict and load_state_dict.

    step, epoch       completed steps and epochs
    results           the latest means: of the epoch as loss, …, of validation as val_loss, …
    best, best_step   the best monitored figure, and its step
    stopped           why `fit` ended: "epochs", "steps", "patience", or "interrupted" by a signal
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        loss: Callable[[Any, Any], Any] | None = None,
        train_data: Iterable = (),
        val_data: Iterable | None = None,
        *,
        scheduler: Any = None,
        scheduler_every: str = "step",
        metrics: dict[str, Callable[[Any, Any], Any]] | None = None,
        clip_grad_norm: float | None = None,
        validate_every: int | None = None,
        monitor: str = "loss",
        maximize: bool = False,
        patience: int | None = None,
        folder: str | os.PathLike | None = None,
        checkpoint_every: int | None = None,
        log_every: int = 1,
        progress: bool = True,
        on_nan: str = "error",
        watch: bool = False,
    ):
        super().__init__()
        self.model, self.optimizer, self.loss = model, optimizer, loss
        self.train_data: DataLoader = as_loader(train_data)
        self.val_data = None if val_data is None else as_loader(val_data)
        self.scheduler, self.scheduler_every = scheduler, scheduler_every
        self.metrics = metrics or {}
        self.clip_grad_norm = clip_grad_norm
        self.validate_every = validate_every
        self.monitor, self.maximize, self.patience = monitor, maximize, patience
        self.folder = None if folder is None else Path(folder)
        self.checkpoint_every = checkpoint_every
        self.log_every = log_every
        self.progress = progress
        self.on_nan = on_nan
        self.watch = Watch(model) if watch else None
        self._check_settings()
        self.stopped = ""
        self.log = Log(None if self.folder is None else self.folder / LOG)
        self.kept: dict[str, Any] = {"model": model, "optimizer": optimizer}
        if scheduler is not None:
            self.kept["scheduler"] = scheduler

    def _check_settings(self) -> None:
        choices_of = {"scheduler_every": ("step", "epoch"), "on_nan": ("error", "skip")}
        for name, choices in choices_of.items():
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"Trainer: got {name}={getattr(self, name)!r}, expected {' or '.join(choices)}"
                )
        for name in ("log_every", "validate_every", "checkpoint_every", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"Trainer: got {name}={value}, expected at least 1")
        by_validation = {
            "patience": self.patience is not None,
            "ReduceLROnPlateau": isinstance(self.scheduler, ReduceLROnPlateau),
        }
        for name, used in by_validation.items():
            if used and self.val_data is None:
                raise ValueError(f"Trainer: {name} needs validation; pass val_data")

    # --------------------------------------------------------------------------------------
    # The loop
    # --------------------------------------------------------------------------------------

    def fit(
        self, epochs: int | None = None, steps: int | None = None, resume: bool = False
    ) -> dict[str, float]:
        """Train up to a total number of epochs or steps; returns `results`.

        resume: continue from the folder's checkpoint, if there is one. Otherwise the first `fit`
        starts from scratch and overwrites the folder. A second `fit` continues where the first
        ended.

        Ctrl-C ends the training after the current step, with a checkpoint. So does SIGTERM, which
        batch systems and containers send before they kill a process; the process then exits with
        code 143, as it would have without the checkpoint. A second signal acts at once.
        """
        if epochs is None and steps is None:
            raise TypeError("Trainer.fit: got neither epochs nor steps; pass one of them")
        self.epochs, self.steps = epochs, steps
        self.begin(resume)
        self.model.train()
        self._clock = time.monotonic()
        bar = Progress(self.progress, self.step, self._total_steps())
        with bar as self._bar, Stop() as self._stop:
            while not self._is_over():
                self._train_epoch()
            self._end()
        number = self._stop.signal
        if number is not None and (number == signal.SIGTERM or self.stopped != "interrupted"):
            signal.raise_signal(number)  # act on it now
        return self.results

    def _train_epoch(self) -> None:
        """Train on all batches of an epoch, or on the remaining ones after a resume."""
        assert self.position is not None
        self.train_data.load_state_dict(self.position)
        for batch in self.train_data:
            self._train_step(batch)
            if self._is_over() and not self._is_last_batch():
                return
        if self.position["batches"] == 0:
            raise RuntimeError(
                f"Trainer: train_data gave no batch in epoch {self.epoch + 1}, expected at least "
                "one; is it smaller than one batch, with drop_last, or an exhausted iterator?"
            )
        self._end_epoch()

    def _train_step(self, batch: Any) -> None:
        """One step, then logging, validation and checkpoint if they are due."""
        batch = on_device(batch, self.device)
        lr = float(self.optimizer.param_groups[0]["lr"])
        with self._watched() as layers:
            figures = self.update(batch)
        self.step += 1
        self.position = self.train_data.state_dict()
        if math.isfinite(figures["loss"]):
            means = {name: value for name, value in figures.items() if name != "grad_norm"}
            self.averages.add(means, samples_in(batch))
        if self.scheduler_every == "step":
            self._step_scheduler()
        figures = {"loss": figures.pop("loss"), "lr": lr, **figures}
        if self.step % self.log_every == 0:
            self._write_log(figures if layers is None else {**figures, "layers": layers})
        if self.validate_every and self.step % self.validate_every == 0:
            self._write_log(self._validate())
        if self.checkpoint_every and self.step % self.checkpoint_every == 0:
            self.save_checkpoint()
        self._bar.update(self.step, {"epoch": self.epoch + 1, **figures, **self._validated()})

    def _watched(self) -> Any:
        """A context for the next step: yields its figures by layer, if they will be logged."""
        if self.watch is None or (self.step + 1) % self.log_every:
            return nullcontext()
        return self.watch.step()

    def _end_epoch(self) -> None:
        means = self.averages.means()
        self.results.update(means)
        validated = {} if self.validate_every else self._validate()
        self._write_log({**{f"train_{name}": mean for name, mean in means.items()}, **validated})
        if self.scheduler_every == "epoch":
            self._step_scheduler()
        self.averages = Averages()
        self.epoch += 1
        self.position = self.train_data.state_dict()
        if not self.checkpoint_every:
            self.save_checkpoint()
        self._bar.update(self.step, {"epoch": self.epoch, **self.results})

    def _is_over(self) -> bool:
        """Whether to stop, and why."""
        reasons = {
            "interrupted": self._stop.signal is not None,
            "patience": self.patience and self.validations_without_better >= self.patience,
            "epochs": self.epochs is not None and self.epoch >= self.epochs,
            "steps": self.steps is not None and self.step >= self.steps,
        }
        self.stopped = next((reason for reason, holds in reasons.items() if holds), "")
        return bool(self.stopped)

    def _is_last_batch(self) -> bool:
        """Whether `steps` was reached on the last batch: then the epoch ends as usual."""
        assert self.position is not None
        return self.stopped == "steps" and self.position["batches"] == self._batches()

    def _batches(self) -> int | None:
        """The number of batches in an epoch, if that is known."""
        try:
            return len(self.train_data)
        except TypeError:
            return None

    def _total_steps(self) -> int | None:
        batches = self._batches()
        by_epochs = self.epochs * batches if self.epochs is not None and batches else None
        known = [total for total in (by_epochs, self.steps) if total is not None]
        return min(known) if known else None

    def _end(self) -> None:
        self.save_checkpoint()
        if self.folder is not None and self.log.records:
            self.save_curve(self.folder / "curve.svg")
        if self.stopped == "interrupted":
            where = f"; {self.folder} has the checkpoint" if self.folder else ""
            self._bar.say(f"interrupted after step {self.step}{where}")

    # --------------------------------------------------------------------------------------
    # One optimiser step: what subclasses override
    # --------------------------------------------------------------------------------------

    def training_step(self, batch: Any) -> Any:
        """The loss of a batch (inputs …, target), or (loss, {metric: value}).

        Validation uses it too, in eval mode and without gradients, unless `validation_step` is
        overridden.
        """
        if self.loss is None:
            return self.model(*batch)
        *inputs, target = batch
        output = self.model(*inputs)
        with no_grad():
            metrics = {name: metric(output, target) for name, metric in self.metrics.items()}
        return self.loss(output, target), metrics

    def validation_step(self, batch: Any) -> Any:
        """The loss of a batch of val_data, or (loss, {metric: value})."""
        return self.training_step(batch)

    def update(self, batch: Any) -> dict[str, float]:
        """Train on one batch; returns the figures to log, including "loss"."""
        self.optimizer.zero_grad()
        loss, figures = loss_and_figures(self.training_step(batch))
        if not self.is_finite("loss", figures["loss"]):
            return figures
        loss.backward()
        figures["grad_norm"] = self.clip_gradients()
        if self.is_finite("norm of the gradient", figures["grad_norm"]):
            self.optimizer.step()
        return figures

    def clip_gradients(self) -> float:
        """Scale the gradients down to clip_grad_norm; returns their norm before that."""
        parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        norm = get_total_norm([p.grad for p in parameters if p.grad is not None])
        if self.clip_grad_norm is not None:
            clip_grads_with_norm_(parameters, self.clip_grad_norm, norm)
        return float(norm)

    def is_finite(self, name: str, value: float) -> bool:
        """Whether the value is finite; if not, raises unless on_nan is "skip"."""
        if not math.isfinite(value) and self.on_nan == "error":
            raise FloatingPointError(
                f"Trainer: the {name} is {value} at step {self.step + 1} (epoch {self.epoch + 1}); "
                "lower the learning rate, or set clip_grad_norm=1.0, or on_nan='skip' to skip such "
                "steps"
            )
        return math.isfinite(value)

    def _step_scheduler(self) -> None:
        if self.scheduler is not None and not isinstance(self.scheduler, ReduceLROnPlateau):
            self.scheduler.step()

    @property
    def device(self) -> Any:
        """The device of the parameters; batches are moved there."""
        return self.optimizer.param_groups[0]["params"][0].device

    # --------------------------------------------------------------------------------------
    # Validation, log and loss curve
    # --------------------------------------------------------------------------------------

    def evaluate(self, data: Iterable | None = None) -> dict[str, float]:
        """The means of loss and metrics over val_data, or over other data.

        Runs in eval mode, without gradients, and with its own random numbers, the same every time:
        training continues as if there had been no evaluation.
        """
        loader = self.val_data if data is None else as_loader(data)
        if loader is None:
            raise TypeError("Trainer.evaluate: got no data, and there is no val_data")
        loader.reset()
        averages = Averages()
        with no_grad(), eval_mode(self.model), use_generator(Generator().manual_seed(0)):
            for batch in loader:
                batch = on_device(batch, self.device)
                _, figures = loss_and_figures(self.validation_step(batch))
                averages.add(figures, samples_in(batch))
        if not averages.samples:
            raise RuntimeError("Trainer.evaluate: the data gave no batch, expected at least one")
        return averages.means()

    def _validate(self) -> dict[str, float]:
        """Evaluate, save the model if it is the best so far, and return the figures as val_…"""
        if self.val_data is None:
            return {}
        figures = self.evaluate()
        if self.monitor not in figures:
            raise KeyError(f"Trainer: got monitor={self.monitor!r}, expected one of {[*figures]}")
        now = figures[self.monitor]
        best = self.best
        if best is None or (now > best if self.maximize else now < best) or math.isnan(best):
            if self.folder is not None:
                with naming(self.folder / BEST):
                    save(self.model.state_dict(), self.folder / BEST)
            self.best, self.best_step, self.validations_without_better = now, self.step, 0
        else:
            self.validations_without_better += 1
        if isinstance(self.scheduler, ReduceLROnPlateau):
            self.scheduler.step(now)
        self.results.update({f"val_{name}": value for name, value in figures.items()})
        return self._validated()

    def _validated(self) -> dict[str, float]:
        return {name: value for name, value in self.results.items() if name.startswith("val_")}

    def load_best(self) -> None:
        """Load the weights of the best validation so far into the model."""
        if self.folder is None or self.best is None:
            raise RuntimeError("Trainer.load_best: no best model; it needs a folder and val_data")
        self.model.load_state_dict(load(self.folder / BEST))

    def _write_log(self, figures: dict[str, Any]) -> None:
        """One line: step, epoch, loss, lr, …, and the seconds of training so far."""
        now = time.monotonic()
        self.seconds, self._clock = self.seconds + now - self._clock, now
        if figures:
            where = {"step": self.step, "epoch": self.epoch + 1}
            with naming(self.log.path or Path()):
                self.log.write({**where, **figures, "time": round(self.seconds, 3)})

    def save_curve(self, path: str | os.PathLike, title: str = "Loss") -> None:
        """Plot the losses over the steps to a .svg or .png file."""
        path = Path(path)
        picture = loss_curve(self.log.records, title)
        content = svg_to_png(picture) if path.suffix == ".png" else picture.encode()
        write_whole(path, content, "Trainer")
