"""Loss and metrics of batches: as numbers, averaged, and measured in eval mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..tensor import Tensor

# Names that the lines of the log use besides the metrics.
RESERVED = frozenset({"step", "epoch", "time", "lr", "grad_norm", "layers"})


class Averages:
    """Means of figures over batches, each batch weighted by its number of samples."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.samples: dict[str, int] = {}

    def add(self, figures: dict[str, float], samples: int) -> None:
        for name, value in figures.items():
            self.sums[name] = self.sums.get(name, 0.0) + value * samples
            self.samples[name] = self.samples.get(name, 0) + samples

    def means(self) -> dict[str, float]:
        return {name: total / self.samples[name] for name, total in self.sums.items()}

    def state_dict(self) -> dict[str, Any]:
        return {"sums": dict(self.sums), "samples": dict(self.samples)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.sums, self.samples = dict(state_dict["sums"]), dict(state_dict["samples"])


@contextmanager
def eval_mode(model: Any) -> Iterator[None]:
    """Put every module into eval mode for a block, then restore its own mode."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training


def loss_and_figures(result: Any) -> tuple[Any, dict[str, float]]:
    """The loss as a tensor, and {"loss": …, metric: …} as numbers."""
    loss, metrics = result if isinstance(result, tuple) else (result, {})
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        got = f"shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
        raise TypeError(f"Trainer: the loss is of {got}, expected a tensor of one element")
    if not RESERVED.isdisjoint(metrics):
        name = next(name for name in metrics if name in RESERVED)
        raise ValueError(
            f"Trainer: got a metric called {name!r}, expected another name, as the log uses this "
            "one itself"
        )
    return loss, {name: float(value) for name, value in {"loss": loss, **metrics}.items()}
