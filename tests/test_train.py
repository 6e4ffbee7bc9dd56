"""The Trainer: what it learns, measures, writes, and how it goes on."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.train import Trainer, loss_curve, svg_to_png
from tinytensor.train.log import Log
from tinytensor.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    TensorDataset,
)

pytest.importorskip("safetensors")


class Noisy(Dataset):
    """Points on either side of a line, each time with other noise."""

    def __init__(self, n: int = 38):
        rng = np.random.default_rng(0)
        self.x = tt.tensor(rng.normal(size=(n, 4)), dtype=tt.float32)
        self.y = (self.x.sum(dim=1) > 0).long()

    def __getitem__(self, i: int) -> Any:
        return self.x[i] + 0.1 * tt.randn(4), self.y[i]

    def __len__(self) -> int:
        return len(self.x)


class NoisyStream(IterableDataset):
    """The same, one after the other."""

    def __iter__(self) -> Iterator[Any]:
        data = Noisy()
        return (data[i] for i in range(len(data)))


class NoisyBatches:
    """Not a DataLoader: batches of random numbers, made here."""

    def __iter__(self) -> Iterator[Any]:
        for _ in range(10):
            x = tt.randn(4, 4)
            yield x, (x.sum(dim=1) > 0).long()


def accuracy(output: tt.Tensor, target: tt.Tensor) -> tt.Tensor:
    return (output.argmax(dim=1) == target).float().mean()


def make_model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))


def make_trainer(folder: Any = None, data: Any = None, seed: int = 0, **settings: Any) -> Trainer:
    """A small training with everything random in it: dropout, shuffled data, noise."""
    tt.manual_seed(seed)
    model = make_model()
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    settings.setdefault("scheduler", optim.lr_scheduler.CosineAnnealingLR(optimizer, 60))
    settings.setdefault("val_data", DataLoader(Noisy(13), 4))
    settings.setdefault("metrics", {"accuracy": accuracy})
    train_data = DataLoader(Noisy(), 4, shuffle=True) if data is None else data
    return Trainer(
        model, optimizer, F.cross_entropy, train_data, folder=folder, progress=False, **settings
    )


def content(trainer: Trainer) -> Any:
    """All that a training depends on, and its log, without times, in a form that compares."""
    state = trainer.state_dict()
    del state["seconds"], state["log_bytes"]
    records = [{k: v for k, v in r.items() if k != "time"} for r in trainer.log.records]
    return plain(state), records


def plain(value: Any) -> Any:
    if isinstance(value, tt.Tensor):
        return value.dtype, tuple(value.shape), value.detach().numpy().tobytes()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


# ------------------------------------------------------------------------------------------
# Learning
# ------------------------------------------------------------------------------------------


def test_it_does_what_a_loop_written_out_does() -> None:
    x, y = Noisy().x, Noisy().y
    loader = DataLoader(TensorDataset(x, y), 4)
    tt.manual_seed(0)
    model = make_model()
    optimizer = optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 7)
    twin = make_model()
    twin.load_state_dict(model.state_dict())
    twin_optimizer = optim.SGD(twin.parameters(), lr=0.5, momentum=0.9)
    twin_scheduler = optim.lr_scheduler.StepLR(twin_optimizer, 7)

    norms = []
    state = tt.get_rng_state()
    for _ in range(3):
        for xs, ys in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(xs), ys).backward()
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.3).item())
            optimizer.step()
            scheduler.step()

    tt.set_rng_state(state)
    trainer = Trainer(twin, twin_optimizer, F.cross_entropy, loader, scheduler=twin_scheduler,
                      clip_grad_norm=0.3, progress=False)  # fmt: skip
    trainer.fit(epochs=3)
    assert plain(twin.state_dict()) == plain(model.state_dict())
    assert plain(twin_optimizer.state_dict()) == plain(optimizer.state_dict())
    lines = [record for record in trainer.log.records if "loss" in record]
    assert [line["grad_norm"] for line in lines] == norms and max(norms) > 0.3
    assert [line["lr"] for line in lines[5:9]] == [0.5, 0.5, 0.05, 0.05]


def test_it_learns_and_tells() -> None:
    trainer = make_trainer()
    results = trainer.fit(epochs=30)
    assert (trainer.step, trainer.epoch, trainer.stopped) == (300, 30, "epochs")
    assert results is trainer.results
    assert set(results) == {"loss", "accuracy", "val_loss", "val_accuracy"}
    assert results["val_accuracy"] > 0.8 and results["loss"] < 0.6, results
    steps = [r for r in trainer.log.records if "loss" in r]
    epochs = [r for r in trainer.log.records if "val_loss" in r]
    assert [r["step"] for r in steps] == [*range(1, 301)]
    assert [*steps[0]] == ["step", "epoch", "loss", "lr", "accuracy", "grad_norm", "time"]
    assert [*epochs[0]] == ["step", "epoch", "train_loss", "train_accuracy", "val_loss",
                            "val_accuracy", "time"]  # fmt: skip
    assert [(r["step"], r["epoch"]) for r in epochs] == [(10 * i, i) for i in range(1, 31)]
    times = [r["time"] for r in trainer.log.records]
    assert times == sorted(times)


def test_means_weigh_batches_by_their_samples() -> None:
    model = nn.Linear(1, 1)
    seen = []

    class Sum(Trainer):
        def training_step(self, batch: Any) -> Any:
            seen.append((len(batch), self.model.training, tt.is_grad_enabled()))
            return self.model(batch).sum() * 0 + batch.mean(), {"most": batch.max()}

    data = tt.arange(10).float().reshape(10, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    trainer = Sum(model, optimizer, train_data=DataLoader(data, 4), progress=False)
    means = {"loss": 4.5, "most": (3 * 4 + 7 * 4 + 9 * 2) / 10}
    assert trainer.evaluate(trainer.train_data) == means
    assert seen == [(4, False, False), (4, False, False), (2, False, False)]
    seen.clear()
    assert trainer.fit(epochs=1) == means
    assert seen == [(4, True, True), (4, True, True), (2, True, True)]


def test_evaluating_leaves_no_trace() -> None:
    whole = make_trainer()
    whole.fit(steps=15)
    expected = content(whole)
    trainer = make_trainer()
    trainer.fit(steps=7)
    trainer.model[2].eval()  # one module in another mode than the rest
    first = trainer.evaluate(DataLoader(Noisy(9), 4, shuffle=True))
    assert first == trainer.evaluate(DataLoader(Noisy(9), 4, shuffle=True))
    assert [module.training for module in trainer.model] == [True, True, False, True]
    assert trainer.model.training and tt.is_grad_enabled()
    trainer.evaluate(trainer.train_data)
    trainer.fit(steps=15)
    assert content(trainer) == expected


def test_best_model_and_early_stop(tmp_path: Path) -> None:
    scores = [3.0, 2.0, 2.5, 1.0, float("nan"), 1.5, 1.2, 0.1]
    weights = []

    class Scored(Trainer):
        def evaluate(self, data: Any = None) -> dict[str, float]:
            weights.append(plain(self.model.state_dict()))
            return {"loss": scores[len(weights) - 1]}

    def scored() -> Scored:
        model = nn.Linear(4, 2)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        loader = DataLoader(TensorDataset(Noisy().x, Noisy().y), 19)
        return Scored(model, optimizer, F.cross_entropy, loader, loader, patience=3,
                      folder=tmp_path, progress=False)  # fmt: skip

    trainer = scored()
    with pytest.raises(RuntimeError, match="no best model"):
        trainer.load_best()
    trainer.fit(epochs=6)
    assert (trainer.best, trainer.best_step, trainer.stopped) == (1.0, 8, "epochs")
    again = scored()
    again.fit(epochs=20, resume=True)
    assert (again.epoch, again.stopped, again.validations_without_better) == (7, "patience", 3)
    again.load_best()
    assert plain(again.model.state_dict()) == weights[3] != weights[6]
    finished = scored()
    finished.fit(epochs=20, resume=True)
    assert (finished.epoch, finished.stopped) == (7, "patience")


def test_more_can_be_better() -> None:
    trainer = make_trainer(monitor="accuracy", maximize=True, validate_every=3)
    trainer.fit(steps=30)
    found = [r["val_accuracy"] for r in trainer.log.records if "val_loss" in r]
    assert len(found) == 10 and trainer.best == max(found)
    assert trainer.best_step == 3 * (found.index(max(found)) + 1)


def rates(trainer: Trainer) -> list[float]:
    return [record["lr"] for record in trainer.log.records if "lr" in record]


def test_schedulers_by_step_by_epoch_and_by_validation() -> None:
    def run(make: Callable, **settings: Any) -> list[float]:
        model, batch = make_model(), (Noisy().x, Noisy().y)
        optimizer = optim.Adam(model.parameters(), lr=0.01)
        trainer = Trainer(model, optimizer, F.cross_entropy, [batch] * 2, [batch],
                          scheduler=make(optimizer), progress=False, **settings)  # fmt: skip
        trainer.fit(epochs=3)
        return rates(trainer)

    schedulers = optim.lr_scheduler
    assert run(lambda o: schedulers.ExponentialLR(o, 0.5)) == pytest.approx(
        [0.005 * 2 / 2**i for i in range(6)]
    )
    by_epoch = run(lambda o: schedulers.ExponentialLR(o, 0.5), scheduler_every="epoch")
    assert by_epoch == [0.01, 0.01, 0.005, 0.005, 0.0025, 0.0025]
    never_better = {"patience": 0, "threshold": 1e9, "threshold_mode": "abs"}
    plateau = run(lambda o: schedulers.ReduceLROnPlateau(o, **never_better))
    assert plateau == pytest.approx([0.01, 0.01, 0.01, 0.01, 0.001, 0.001])


def test_nan_stops_and_names_the_step(tmp_path: Path) -> None:
    def poisoned() -> list:
        batches = [(Noisy().x, Noisy().y) for _ in range(8)]
        batches[4] = (Noisy().x * float("nan"), Noisy().y)
        return batches

    trainer = make_trainer(tmp_path, poisoned(), checkpoint_every=1)
    with pytest.raises(FloatingPointError, match=r"the loss is nan at step 5 \(epoch 1\)"):
        trainer.fit(epochs=1)
    saved = tt.load(tmp_path / "checkpoint.safetensors")
    assert saved["step"] == 4
    assert all(tt.isfinite(w).all() for w in saved["kept"]["model"].values())

    skipping = make_trainer(tmp_path, poisoned(), on_nan="skip")
    results = skipping.fit(epochs=1)
    assert skipping.step == 8 and np.isfinite(list(results.values())).all()
    assert [r["loss"] is None for r in skipping.log.records if "loss" in r] == [False] * 4 + [
        True
    ] + [False] * 3
    assert all(json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines())


def test_an_infinite_gradient_stops_before_it_does_harm() -> None:
    class Steep(Trainer):
        def training_step(self, batch: Any) -> Any:
            return (self.model(batch).sum() * 0).sqrt()  # its derivative at 0 is infinite

    model = nn.Linear(2, 1)
    before = plain(model.state_dict())
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    trainer = Steep(model, optimizer, train_data=[tt.ones(3, 2)], progress=False)
    with pytest.raises(FloatingPointError, match="the norm of the gradient is nan at step 1"):
        trainer.fit(epochs=1)
    assert plain(model.state_dict()) == before


# ------------------------------------------------------------------------------------------
# Subclasses and other data
# ------------------------------------------------------------------------------------------


def test_a_model_that_gives_the_loss_itself() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 2)

        def forward(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
            return F.cross_entropy(self.linear(x), y)

    model = Own()
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    trainer = Trainer(model, optimizer, train_data=[(Noisy().x, Noisy().y)], progress=False)
    assert trainer.fit(steps=40)["loss"] < 0.3
    assert trainer.stopped == "steps" and trainer.epoch == 40


def test_two_optimizers_in_one_step(tmp_path: Path) -> None:
    """As for a GAN: `update` is overridden, and the second optimiser is saved too."""

    class Duel(Trainer):
        def __init__(self, folder: Path):
            tt.manual_seed(0)
            parts = nn.ModuleDict({"a": nn.Linear(4, 1), "b": nn.Linear(4, 1)})
            first = optim.Adam(parts["a"].parameters(), lr=0.01)
            super().__init__(parts, first, train_data=NoisyBatches(), folder=folder, progress=False)
            self.second = self.kept["second"] = optim.Adam(parts["b"].parameters(), lr=0.02)

        def update(self, batch: Any) -> dict[str, float]:
            x, _ = batch
            for optimizer, sign in ((self.optimizer, 1), (self.second, -1)):
                optimizer.zero_grad()
                gap = (self.model["a"](x) - self.model["b"](x)).square().mean()
                (sign * gap).backward()
                optimizer.step()
            return {"loss": gap.item(), "half": gap.item() / 2}

    whole = Duel(tmp_path / "whole")
    whole.fit(steps=25)
    expected = content(whole)
    Duel(tmp_path / "parts").fit(steps=13)
    resumed = Duel(tmp_path / "parts")
    resumed.fit(steps=25, resume=True)
    assert content(resumed) == expected
    assert "half" in whole.results and "second" in whole.state_dict()["kept"]
    model = make_model()
    other = Trainer(model, optim.Adam(model.parameters()), train_data=NoisyBatches(),
                    folder=tmp_path / "parts")  # fmt: skip
    with pytest.raises(RuntimeError, match=r"states of \['model', 'optimizer', 'second'\], expect"):
        other.fit(steps=1, resume=True)


def test_batches_that_are_dicts() -> None:
    class Named(Trainer):
        def training_step(self, batch: Any) -> Any:
            return F.cross_entropy(self.model(batch["x"]), batch["y"])

    rows = [{"x": x, "y": y} for x, y in zip(Noisy().x, Noisy().y)]
    model = make_model()
    optimizer = optim.Adam(model.parameters())
    trainer = Named(model, optimizer, train_data=DataLoader(rows, 5), progress=False)
    trainer.fit(epochs=1)
    assert trainer.step == 8


# ------------------------------------------------------------------------------------------
# Resuming
# ------------------------------------------------------------------------------------------

DATA: dict[str, Callable[[], Any]] = {
    "shuffled": lambda: None,
    "workers": lambda: DataLoader(Noisy(), 4, shuffle=True, num_workers=2),
    "own generator": lambda: DataLoader(
        Noisy(), 4, True, generator=tt.Generator().manual_seed(9), num_workers=1
    ),
    "sampler": lambda: DataLoader(
        Noisy(), 4, sampler=RandomSampler(Noisy(), True, 38, tt.Generator().manual_seed(9))
    ),
    "stream": lambda: DataLoader(NoisyStream(), 4),
    "batches": NoisyBatches,
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("stops", [[1], [5, 9], [10], [17, 20, 21]], ids=str)
def test_resume_is_exact(data: str, stops: list[int], tmp_path: Path) -> None:
    """Stopped in the middle or at the end of an epoch, and resumed by a new process."""
    whole = make_trainer(tmp_path / "whole", DATA[data]())
    whole.fit(steps=27)
    expected = content(whole)
    for number, stop in enumerate([*stops, 27]):
        part = make_trainer(tmp_path / "parts", DATA[data](), seed=number)
        part.fit(steps=stop, resume=number > 0)
        assert part.step == stop
    assert content(part) == expected
    assert (tmp_path / "parts/log.jsonl").read_bytes().count(b"\n") == 29


@pytest.mark.parametrize("settings", [
    {"checkpoint_every": 4}, {"validate_every": 3}, {"log_every": 5}, {"scheduler_every": "epoch"},
    {"checkpoint_every": 5, "validate_every": 5},
], ids=str)  # fmt: skip
def test_resume_from_a_checkpoint_before_the_end(settings: dict, tmp_path: Path) -> None:
    """What was done after the last checkpoint is lost with the process, and done again."""
    whole = make_trainer(tmp_path / "whole", **settings)
    whole.fit(epochs=3)
    expected = content(whole)

    class Killed(Exception):
        pass

    class Mortal(Trainer):
        until = 0

        def training_step(self, batch: Any) -> Any:
            if self.step == self.until:
                raise Killed
            return super().training_step(batch)

    for number, until in enumerate((3, 10, 13, 29)):
        trainer = make_trainer(tmp_path / "parts", seed=number, **settings)
        trainer.__class__, trainer.until = Mortal, until  # type: ignore[attr-defined]
        with pytest.raises(Killed):
            trainer.fit(epochs=3, resume=True)
        with open(tmp_path / "parts/log.jsonl", "ab") as file:
            file.write(b'{"step": 99, "lo')  # half a line
    trainer = make_trainer(tmp_path / "parts", seed=9, **settings)
    trainer.fit(epochs=3, resume=True)
    assert content(trainer) == expected
    lines = (tmp_path / "parts/log.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == trainer.log.records


def test_a_second_fit_goes_on() -> None:
    whole = make_trainer()
    whole.fit(epochs=3)
    expected = content(whole)
    parts = make_trainer()
    for steps in (4, 4, 10, 23):
        parts.fit(steps=steps)
        assert parts.stopped == "steps"
    parts.fit(epochs=3)
    assert content(parts) == expected


def test_a_glance_at_the_data_does_not_count() -> None:
    trainer = make_trainer()
    next(iter(trainer.train_data)), next(iter(trainer.val_data))
    trainer.fit(epochs=1)
    assert trainer.step == 10


def test_without_resume_it_starts_anew(tmp_path: Path) -> None:
    first = make_trainer(tmp_path)
    first.fit(steps=12)
    half = tmp_path / ".checkpoint.safetensors.abc.part"
    half.write_bytes(b"left by a killed process")
    second = make_trainer(tmp_path)
    second.fit(steps=5)
    assert second.step == 5 and len(second.log.records) == 5
    assert {path.name for path in tmp_path.iterdir()} == {
        "checkpoint.safetensors", "log.jsonl", "curve.svg"
    }  # fmt: skip


def test_numpys_and_pythons_random_numbers_go_on_too(tmp_path: Path) -> None:
    def run(folder: Path, stops: list[int]) -> list[float]:
        drawn = []

        class Drawing(Trainer):
            def training_step(self, batch: Any) -> Any:
                drawn.append(np.random.rand() + random.random())
                return self.model(batch[0]).sum()

        for stop in stops:
            model = nn.Linear(4, 1)
            optimizer = optim.SGD(model.parameters(), lr=0.1)
            trainer = Drawing(
                model, optimizer, train_data=NoisyBatches(), folder=folder, progress=False
            )
            np.random.seed(0), random.seed(0)
            trainer.fit(steps=stop, resume=True)
        return drawn

    assert run(tmp_path / "a", [12]) == run(tmp_path / "b", [3, 10, 12])


# ------------------------------------------------------------------------------------------
# What goes wrong
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["first", "later"])
def test_a_full_disk_loses_nothing(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make_trainer(tmp_path / "whole", checkpoint_every=4)
    whole.fit(steps=22)
    expected = content(whole)
    trainer = make_trainer(tmp_path / "parts", checkpoint_every=4)
    if when == "later":
        trainer.fit(steps=8)
        before = (tmp_path / "parts/checkpoint.safetensors").read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"cannot write .*parts\S* \(No space left") as info:
            trainer.fit(steps=22)
        assert "\n" not in str(info.value) and info.value.errno == errno.ENOSPC
    if when == "later":
        assert trainer.step == 10, "at the first file that is due: the best model"
        assert (tmp_path / "parts/checkpoint.safetensors").read_bytes() == before
        assert not list((tmp_path / "parts").glob(".*"))
    trainer.fit(steps=22)
    assert content(trainer) == expected


def test_a_log_line_that_could_not_be_written_comes_later(tmp_path: Path) -> None:
    whole = make_trainer(tmp_path / "whole")
    whole.fit(steps=12)
    expected = content(whole)
    trainer = make_trainer(tmp_path / "parts")
    trainer.fit(steps=5)
    path = tmp_path / "parts/log.jsonl"
    (tmp_path / "elsewhere").mkdir()
    kept = path.rename(tmp_path / "elsewhere/log.jsonl")
    path.mkdir()  # nothing can be written there
    with pytest.raises(OSError, match=r"Trainer: cannot write .*log.jsonl \("):
        trainer.fit(steps=12)
    path.rmdir()
    kept.rename(path)
    trainer.fit(steps=12)
    assert content(trainer) == expected
    assert [json.loads(x) for x in path.read_text().splitlines()] == trainer.log.records


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    trainer = make_trainer(tmp_path / "file")
    with pytest.raises(OSError, match=r"Trainer: cannot write .*file \(") as info:
        trainer.fit(steps=1)
    assert "\n" not in str(info.value) and trainer.step == 0


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    make_trainer(tmp_path).fit(steps=3)
    path = tmp_path / "checkpoint.safetensors"
    good = path.read_bytes()
    for bad in (b"", good[:100], b"x" * 1000, good[:-1]):
        path.write_bytes(bad)
        with pytest.raises(RuntimeError, match=r"checkpoint\.safetensors is damaged"):
            make_trainer(tmp_path).fit(steps=5, resume=True)
        assert path.read_bytes() == bad, "left as it is"
    tt.save({"w": tt.ones(2)}, path)
    with pytest.raises(RuntimeError, match=r"checkpoint\.safetensors is not a checkpoint of a Tr"):
        make_trainer(tmp_path).fit(steps=5, resume=True)
    path.write_bytes(good)
    model = nn.Linear(4, 2)
    scheduled = optim.Adam(model.parameters())
    other = Trainer(model, scheduled, F.cross_entropy, NoisyBatches(), folder=tmp_path,
                    scheduler=optim.lr_scheduler.ConstantLR(scheduled))  # fmt: skip
    with pytest.raises(RuntimeError, match=r"checkpoint\.safetensors is from another training"):
        other.fit(steps=5, resume=True)


class Interrupted(Trainer):
    """Ctrl-C in the middle of a step, once or twice."""

    presses = 1

    def training_step(self, batch: Any) -> Any:
        if self.step == 6 and self.model.training:
            for _ in range(self.presses):
                os.kill(os.getpid(), signal.SIGINT)
        return super().training_step(batch)


def interrupted(folder: Path) -> Interrupted:
    trainer = make_trainer(folder)
    trainer.__class__ = Interrupted
    return trainer  # type: ignore[return-value]


def test_ctrl_c_saves_and_ends(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    whole = make_trainer(tmp_path / "whole")
    whole.fit(steps=22)
    expected = content(whole)
    handler = signal.getsignal(signal.SIGINT)
    trainer = interrupted(tmp_path / "parts")
    trainer.progress = True
    trainer.fit(steps=22)
    assert (trainer.step, trainer.stopped) == (7, "interrupted")
    assert signal.getsignal(signal.SIGINT) is handler
    assert "interrupted after step 7; " in capsys.readouterr().err
    again = make_trainer(tmp_path / "parts", seed=5)
    again.fit(steps=22, resume=True)
    assert content(again) == expected


class Terminated(Trainer):
    """SIGTERM in the middle of a step."""

    def training_step(self, batch: Any) -> Any:
        if self.step == 6 and self.model.training:
            os.kill(os.getpid(), signal.SIGTERM)
        return super().training_step(batch)


def test_sigterm_saves_and_is_delivered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make_trainer(tmp_path / "whole")
    whole.fit(steps=22)
    expected = content(whole)
    trainer = make_trainer(tmp_path / "parts")
    trainer.__class__ = Terminated
    delivered: list[int] = []
    monkeypatch.setattr(signal, "raise_signal", delivered.append)
    trainer.fit(steps=22)
    assert (trainer.step, trainer.stopped, delivered) == (7, "interrupted", [signal.SIGTERM])
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    again = make_trainer(tmp_path / "parts", seed=5)
    again.fit(steps=22, resume=True)
    assert content(again) == expected


def test_a_program_that_handles_sigterm_goes_on_to_do_so(tmp_path: Path) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        trainer = make_trainer(tmp_path)
        trainer.__class__ = Terminated
        trainer.fit(steps=9)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (trainer.step, trainer.stopped, seen) == (9, "steps", [signal.SIGTERM])


def test_ctrl_c_twice_interrupts_at_once(tmp_path: Path) -> None:
    handler = signal.getsignal(signal.SIGINT)
    trainer = interrupted(tmp_path)
    trainer.presses = 2
    with pytest.raises(KeyboardInterrupt):
        trainer.fit(steps=22)
    assert trainer.step == 6 and signal.getsignal(signal.SIGINT) is handler


def test_training_in_another_thread() -> None:
    trainer = make_trainer()
    thread = threading.Thread(target=trainer.fit, kwargs={"steps": 3})
    thread.start()
    thread.join(60)
    assert trainer.step == 3


def fit(trainer: Trainer, **settings: Any) -> Any:
    return trainer.fit(**(settings or {"epochs": 1}))


class Unreduced(Trainer):
    def training_step(self, batch: Any) -> Any:
        return self.model(batch[0])


def unreduced() -> Trainer:
    trainer = make_trainer()
    trainer.__class__ = Unreduced
    return trainer


ERRORS: list[tuple[Callable[[], Any], type, str]] = [
    (lambda: fit(make_trainer(data=[])), RuntimeError, "train_data gave no batch in epoch 1"),
    (lambda: fit(make_trainer(data=iter([(Noisy().x, Noisy().y)])), epochs=2), RuntimeError,
     "no batch in epoch 2"),
    (lambda: fit(make_trainer(data=DataLoader(Noisy(), 50, drop_last=True))), RuntimeError,
     "with drop_last"),
    (lambda: fit(make_trainer(val_data=[])), RuntimeError, "evaluate: the data gave no batch"),
    (lambda: make_trainer().fit(), TypeError, "got neither epochs nor steps"),
    (lambda: make_trainer(val_data=None).evaluate(), TypeError, "there is no val_data"),
    (lambda: make_trainer(val_data=None, patience=2), ValueError, "patience needs validation"),
    (lambda: make_trainer(on_nan="no"), ValueError, "on_nan='no', expected error or skip"),
    (lambda: make_trainer(scheduler_every="s"), ValueError, "expected step or epoch"),
    (lambda: make_trainer(log_every=0), ValueError, "log_every=0, expected at least 1"),
    (lambda: fit(make_trainer(monitor="f1")), KeyError, "monitor='f1', expected one of"),
    (lambda: fit(unreduced()), TypeError, r"the loss is of shape \(4, 2\), expected a"),
    (lambda: fit(make_trainer(metrics={"step": lambda output, target: tt.tensor(0.0)})),
     ValueError, "a metric called 'step', expected another name"),
    (lambda: make_trainer().load_checkpoint(), RuntimeError, "has no folder to load from"),
    (lambda: loss_curve([]), ValueError, "got no record with a loss"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_errors(call: Callable[[], Any], error: type, text: str) -> None:
    with pytest.raises(error, match=text) as info:
        call()
    assert "\n" not in str(info.value)


def test_without_safetensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    trainer = make_trainer(tmp_path)
    with pytest.raises(ImportError, match=r"run `pip install safetensors`"):
        trainer.fit(steps=1)
    assert trainer.step == 0, "it shows before the first step"
    make_trainer().fit(steps=1)  # without a folder it is not needed


# ------------------------------------------------------------------------------------------
# What is seen
# ------------------------------------------------------------------------------------------


def test_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture) -> None:
    trainer = make_trainer()
    trainer.progress = True
    trainer.fit(epochs=2)
    out, err = capsys.readouterr()
    assert not out and err.startswith("step 20/20  epoch 2  loss 0.") and err.count("\n") == 1
    assert "\r" not in err and "val_accuracy" in err
    trainer.progress = False
    trainer.fit(epochs=3)
    assert capsys.readouterr() == ("", "")


def test_no_nan_in_the_log_at_any_depth(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    log.begin()
    log.write({"step": 1, "layers": {"grad_norm": {"<b>\ud800": float("nan"), "b": 1.0}}})
    text = (tmp_path / "log.jsonl").read_text("ascii")
    assert json.loads(text) == log.records[0]
    assert log.records[0]["layers"]["grad_norm"] == {"<b>\ud800": None, "b": 1.0}
    assert "NaN" not in text


@pytest.mark.parametrize("there_is_tqdm", [True, False])
def test_a_bar_on_a_terminal(
    there_is_tqdm: bool, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    if there_is_tqdm:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    trainer = make_trainer()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    trainer.progress = True
    trainer.fit(epochs=2)
    out, err = capsys.readouterr()
    assert not out and "val_loss" in err
    assert ("20/20 [" in err) is there_is_tqdm and ("step 20/20" in err) is not there_is_tqdm


def numbers(svg: str) -> list[list[tuple[float, float]]]:
    lines = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}polyline")
    return [
        [tuple(map(float, p.split(","))) for p in line.get("points", "").split()] for line in lines
    ]  # type: ignore[misc]


def test_the_curve(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path)
    trainer.fit(epochs=3)
    svg = (tmp_path / "curve.svg").read_text()
    training, validation = numbers(svg)
    assert len(training) == 30 and len(validation) == 3
    assert ">training<" in svg and ">validation<" in svg and ">step<" in svg and ">loss<" in svg
    lowest = max(range(30), key=lambda i: training[i][1])  # the lowest point is far down
    losses = [r["loss"] for r in trainer.log.records if "loss" in r]
    assert losses[lowest] == min(losses)
    assert all(
        70 <= x <= 690 and 40 <= y <= 370 for line in (training, validation) for x, y in line
    )


@pytest.mark.parametrize("losses, labels", [
    ([1.0, 0.5, 0.2], ["0.2", "0.4", "0.6", "0.8", "1"]),
    ([1000.0, 1.0, 0.01], ["0.01", "1", "1000"]),
    ([0.5], ["0.4", "0.6"]),
    ([0.0, 0.0], ["0"]),
    ([3.0, None, float("nan"), -2.0], ["-2", "0", "3"]),
    ([0.031, 0.0312, 0.0311], ["0.0312"]),
])  # fmt: skip
def test_ticks_are_round(losses: list, labels: list[str]) -> None:
    svg = loss_curve([{"step": i, "loss": loss} for i, loss in enumerate(losses)], "a < b & c")
    assert "a &lt; b &amp; c" in svg and "nan" not in svg
    texts = [t.text for t in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert not [label for label in labels if label not in texts], texts
    assert len(numbers(svg)[0]) == sum(x is not None and x == x for x in losses)


def test_many_points_are_averaged() -> None:
    svg = loss_curve([{"step": i, "loss": 1.0 + i % 2} for i in range(10000)])
    (line,) = numbers(svg)
    assert len(line) == 400 and len(svg) < 20000


def test_png(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trainer = make_trainer()
    trainer.fit(steps=3)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "resvg_py", None)
        with pytest.raises(ImportError, match="run `pip install resvg_py`"):
            trainer.save_curve(tmp_path / "curve.png")
    pytest.importorskip("resvg_py")
    trainer.save_curve(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert svg_to_png(loss_curve([{"step": 1, "loss": 1.0}])).startswith(b"\x89PNG")


def test_what_importing_it_brings_along() -> None:
    def loaded(module: str) -> set[str]:
        code = f"import sys, {module}; print(*sys.modules)"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    assert "tinytensor.train" not in loaded("tinytensor")
    assert not {"nn", "tqdm", "safetensors", "resvg_py", "torch"} & loaded("tinytensor.train")
