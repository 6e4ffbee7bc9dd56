"""Watch: figures of each layer, in a loop of one's own and in the Trainer's log."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.autograd.mode import state
from tinytensor.train import Trainer, Watch

X = tt.tensor([[1.0, -1.0], [2.0, 0.5]])


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(tt.ones(2))
        self.first = nn.Linear(2, 3)
        self.last = nn.Linear(3, 1)
        self.unused = nn.Linear(1, 1)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return self.last(F.relu(self.first(x * self.gain))).sum()


def test_figures_of_a_step() -> None:
    tt.manual_seed(0)
    net = Net()
    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    with Watch(net).step() as layers:
        net(X).backward()
        optim.SGD(net.parameters(), lr=0.1).step()
    assert list(layers["grad_norm"]) == ["Net", "first", "last", "unused"]
    assert layers["grad_norm"]["unused"] is None and layers["update_ratio"]["unused"] == 0
    parts = [net.first.weight.grad, net.first.bias.grad]
    norm = np.sqrt(sum(float((g**2).sum()) for g in parts if g is not None))
    assert layers["grad_norm"]["first"] == pytest.approx(norm, rel=1e-6)
    weights = np.concatenate([before[f"first.{n}"].numpy().ravel() for n in ("weight", "bias")])
    expected = 0.1 * norm / np.linalg.norm(weights)
    assert layers["update_ratio"]["first"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("shape", "dead", "expected"),
    [
        ((4, 6), [1, 5], 2 / 6),
        ((2, 3, 6), [0], 1 / 6),
        ((2, 4, 3, 3), [2], 1 / 4),
        ((5,), [0, 1], 2 / 5),
    ],
    ids=["rows", "sequences", "images", "vector"],
)
def test_dead_units_give_zero_for_all_samples(
    shape: tuple[int, ...], dead: list[int], expected: float
) -> None:
    x = np.full(shape, -1.0)
    units = 1 if len(shape) == 4 else len(shape) - 1
    first_of_others = [0] * len(shape)
    for unit in set(range(shape[units])) - set(dead):
        place = list(first_of_others)
        place[units] = unit
        x[tuple(place)] = 1.0  # alive by one sample
    model = nn.Sequential(nn.Identity(), nn.ReLU())
    with Watch(model).step() as layers:
        model(tt.tensor(x))
    assert layers["dead_relu"] == {"1": pytest.approx(expected)}


def test_the_mode_is_restored_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), Watch(Net()).step():
        raise ZeroDivisionError
    assert state.mode.recording is None and not state.mode.watched


def test_figures_that_are_not_finite_are_none() -> None:
    net = nn.Linear(2, 1)
    with Watch(net).step() as layers:
        (net(X).sum() * float("inf")).backward()
    assert layers["grad_norm"] == {"Linear": None}


@pytest.mark.parametrize("watch", [False, True])
def test_the_trainer_writes_them_to_its_log(watch: bool, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    tt.manual_seed(0)
    net = Net()
    trainer = Trainer(net, optim.SGD(net.parameters(), lr=0.1), None, [(X,)] * 4,
                      folder=tmp_path, progress=False, log_every=2, watch=watch)  # fmt: skip
    trainer.fit(epochs=1)
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    layers = [r["layers"] for r in records if "layers" in r]
    assert [r["step"] for r in records if "loss" in r] == [2, 4]
    assert len(layers) == (2 if watch else 0)
    assert all(set(f) == {"grad_norm", "update_ratio", "dead_relu"} for f in layers)


def test_watching_changes_nothing(tmp_path: Path) -> None:
    ends = []
    for watch in (False, True):
        tt.manual_seed(0)
        net = Net()
        optimizer = optim.SGD(net.parameters(), lr=0.1)
        Trainer(net, optimizer, None, [(X,)] * 3, progress=False, watch=watch).fit(epochs=2)
        ends.append([p.tolist() for p in net.parameters()])
    assert ends[0] == ends[1]
