"""Averages of a model's parameters over training (torch.optim.swa_utils).

Stochastic weight averaging: a running mean of the parameters along the last epochs, trained with a
constant learning rate (SWALR). Exponential moving averages: the same with `get_ema_multi_avg_fn`.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import tinytensor as tt
from tinytensor.optim.lr_scheduler import LRScheduler
from tinytensor.optim.lr_scheduler.base import one_for_each_group
from tinytensor.tensor import Tensor

from .module import Module
from .norm import _BatchNorm

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(name: str, decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"{name}: got decay={decay}, expected 0 <= decay <= 1")


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """f(average, parameter, n) = decay·average + (1 − decay)·parameter"""
    _check_decay("get_ema_avg_fn", decay)

    @tt.no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable:
    """f(average, parameter, n) = average + (parameter − average) / (n + 1)"""

    @tt.no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """f(averages, parameters, n), in place: average ← decay·average + (1 − decay)·parameter

    averages and parameters are lists of tensors of one dtype and device.
    """
    _check_decay("get_ema_multi_avg_fn", decay)

    @tt.no_grad()
    def ema_update(ema_param_list: list, current_param_list: list, num_averaged: Any) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable:
    """f(averages, parameters, n), in place: average ← average + (parameter − average) / (n + 1)

    averages and parameters are lists of tensors of one dtype and device.
    """

    @tt.no_grad()
    def swa_update(averaged_param_list: list, current_param_list: list, num_averaged: Any) -> None:
        # A tensor's reciprocal has float32 precision, also for averages in float64.
        weight = float(1 / (num_averaged + 1))
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if not average.is_floating_point():
                raise RuntimeError(
                    f"get_swa_multi_avg_fn: got {average.dtype}, expected floating point; an "
                    "equally weighted average of integers (use_buffers=True with BatchNorm) "
                    "needs an avg_fn"
                )
            average.lerp_(current, weight)

    return swa_update


class AveragedModel(Module):
    """A copy of `model`, `module`, whose parameters are averages over calls of update_parameters.

    The first call copies the parameters of the model; each later one averages:

        avg_fn(average, parameter, n_averaged)            returns the new average
        multi_avg_fn(averages, parameters, n_averaged)    writes it, for lists of one dtype

    By default the average is equally weighted. use_buffers: average the buffers too; otherwise
    they are copied. device: where the copy is kept.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable | None = None,
        multi_avg_fn: Callable | None = None,
        use_buffers: bool = False,
    ):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("AveragedModel: got avg_fn and multi_avg_fn, expected one of them")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tt.tensor(0, dtype=tt.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _averaged(self, model: Module) -> list[Tensor]:
        """The tensors of a model that are averaged, detached."""
        tensors: Iterable[Tensor] = model.parameters()
        if self.use_buffers:
            tensors = itertools.chain(tensors, model.buffers())
        return [tensor.detach() for tensor in tensors]

    def update_parameters(self, model: Module) -> None:
        """Take the present parameters of `model` into the average."""
        averages = self._averaged(self.module)
        current = [new.to(average.device) for average, new in zip(averages, self._averaged(model))]
        if self.n_averaged == 0:
            for average, new in zip(averages, current):
                average.copy_(new)
        elif self.multi_avg_fn is None:
            update = self.avg_fn or get_swa_avg_fn()
            for average, new in zip(averages, current):
                average.copy_(update(average, new, self.n_averaged.to(average.device)))
        else:
            groups: dict[Any, tuple[list, list]] = {}
            for average, new in zip(averages, current):
                group = groups.setdefault((average.device, average.dtype), ([], []))
                group[0].append(average)
                group[1].append(new)
            for (device, _), (ours, theirs) in groups.items():
                self.multi_avg_fn(ours, theirs, self.n_averaged.to(device))
        if not self.use_buffers:
            for buffer, new in zip(self.module.buffers(), model.buffers(), strict=True):
                buffer.detach().copy_(new.detach().to(buffer.device))
        self.n_averaged += 1


@tt.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running mean and variance of all batch norms anew, over the batches of `loader`.

    A batch is the input of the model, or a list or tuple whose first element is. device: where the
    inputs are put.
    """
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # the average over all batches
    for input in loader:
        if isinstance(input, (list, tuple)):
            input = input[0]
        model(input if device is None else input.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """lr goes to swa_lr in anneal_epochs steps, then stays there.

    lr = swa_lr·α + lr₀·(1 − α) with α = t ("linear") or (1 − cos πt) / 2 ("cos"), t = step /
    anneal_epochs. swa_lr: a number, or a list of one for each group.
    """

    def __init__(
        self,
        optimizer: Any,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ):
        self._take(optimizer)
        for rate, group in zip(
            one_for_each_group("SWALR", optimizer, swa_lr), optimizer.param_groups
        ):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"SWALR: got anneal_strategy={anneal_strategy!r}, expected 'cos' or 'linear'"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"SWALR: got anneal_epochs={anneal_epochs!r}, expected an int >= 0")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """α, which goes from 0 at t = 0 to 1 at t = 1."""
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[float]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before = self._alpha(step - 1)
        alpha = self._alpha(step)
        rates = []
        for group in self.optimizer.param_groups:
            swa_lr, lr = group["swa_lr"], float(group["lr"])
            initial = swa_lr if before == 1 else (lr - before * swa_lr) / (1 - before)
            rates.append(swa_lr * alpha + initial * (1 - alpha))
        return rates

    def _alpha(self, step: int) -> float:
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))
