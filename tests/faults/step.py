"""A training step with everything that an interrupt may leave behind, and how it is compared."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import nn
import nn.functional as F
import tinytensor as tt
from tests.faults.training import plain
from tinytensor import optim
from tinytensor.autograd.mode import state
from tinytensor.autograd.variable import writes_of
from tinytensor.create import generator
from tinytensor.kernels.machinery import memory
from tinytensor.kernels.machinery.route import kernels_on
from tinytensor.utils.checkpoint import checkpoint


class Net(nn.Module):
    """Convolution, batch norm, attention, a checkpoint, dropout and an embedding, all small."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.conv = nn.Conv1d(8, 4, 3, padding=1)
        self.norm = nn.BatchNorm1d(4)
        self.out = nn.Linear(4, 3)

    def forward(self, tokens: tt.Tensor) -> tt.Tensor:
        x = checkpoint(self.block, self.embed(tokens), use_reentrant=False)
        x = F.relu(self.norm(self.conv(x.transpose(1, 2))))
        with tt.no_grad():
            scale = x.abs().max() + 1
        return self.out((x / scale).mean(dim=2))


class Training:
    """A model with two optimisers and a scheduler; `step` is one step of learning."""

    def __init__(self) -> None:
        tt.manual_seed(0)
        self.model = Net()
        first, *rest = self.model.parameters()
        self.adam = optim.AdamW(rest, lr=0.01)
        self.sgd = optim.SGD([first], lr=0.1, momentum=0.9)
        self.scheduler = optim.lr_scheduler.CosineAnnealingLR(self.adam, 10)
        self.tokens = tt.arange(12).reshape(3, 4) % 7
        self.target = tt.tensor([0, 2, 1])
        self.calls: list[str] = []
        self.model.out.register_forward_hook(lambda *seen: self.calls.append("forward"))
        self.model.out.weight.register_hook(lambda g: g * 1)

    def step(self) -> None:
        self.calls.clear()
        self.adam.zero_grad()
        self.sgd.zero_grad(set_to_none=False)
        loss = F.cross_entropy(self.model(self.tokens), self.target)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.adam.step()
        self.sgd.step()
        self.scheduler.step()
        self.loss = loss.item()

    def kept(self) -> dict[str, Any]:
        return {"model": self.model, "adam": self.adam, "sgd": self.sgd, "schedule": self.scheduler}

    def state(self) -> dict[str, Any]:
        states = {name: copy.deepcopy(thing.state_dict()) for name, thing in self.kept().items()}
        return {**states, "random": tt.get_rng_state()}

    def restore(self, state: dict[str, Any]) -> None:
        for name, thing in self.kept().items():
            thing.load_state_dict(copy.deepcopy(state[name]))
        tt.set_rng_state(state["random"])

    def result(self, state: dict[str, Any]) -> Any:
        """All numbers of an undisturbed step from `state` on."""
        self.restore(state)
        self.step()
        grads = {name: p.grad for name, p in self.model.named_parameters()}
        return plain((self.state(), grads, self.loss, self.calls))

    def check_optimizers(self) -> None:
        """Each parameter has its whole state or none, and every write was counted."""
        for optimizer, keys in (self.adam, {"step", "exp_avg", "exp_avg_sq"}), (self.sgd, None):
            for p, values in optimizer.state.items():
                assert not values or keys is None or values.keys() == keys, values.keys()
                assert all(v.shape == p.array.shape for v in values.values() if np.ndim(v))
        self.step()  # going on from half a step is no error

    def watch_writes(self) -> Callable[[], None]:
        """Returns a check: what was written has another version."""
        parameters = list(self.model.parameters())
        before = [(writes_of(p)[0], p.array.copy()) for p in parameters]

        def check() -> None:
            for p, (version, array) in zip(parameters, before):
                unchanged = np.array_equal(p.array, array)
                assert unchanged or writes_of(p)[0] != version, "a write that was not counted"

        return check


def modes() -> dict[str, Any]:
    """All that a step changes for a while, and must put back."""
    mode = state.mode
    found = {
        "mode": [getattr(mode, name) for name in type(mode).__slots__],
        "stacks": dict(state.stacks),
        "errors": np.geterr(),
        "generators": generator._here.generators is generator._defaults,
        "shelf": memory._shelf.idle - sum(n * len(b) for n, b in memory._shelf.blocks.items()),
    }
    if kernels_on():
        from tinytensor.kernels.machinery import thread_pool

        found["BLAS"] = thread_pool._pool.get()
        found["pool"] = dict(thread_pool._pool.inside), "unlocked" in repr(thread_pool._pool.lock)
    return found
