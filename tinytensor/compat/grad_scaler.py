"""GradScaler: multiply the loss, so that small float16 gradients do not become zero."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..backend import xp
from ..devices import gpu_count


class GradScaler:
    """loss ← scale·loss;  gradients ← gradients/scale before the step, which inf or NaN skips

    After a skipped step scale ← scale·backoff_factor; after growth_interval steps in a row
    scale ← scale·growth_factor. On "cuda" without a GPU it is disabled, as in PyTorch.
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0**16,
                 growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True):  # fmt: skip
        self._device = device
        if enabled and device == "cuda" and not gpu_count():
            warnings.warn(
                "GradScaler: enabled, but CUDA is not available. Disabling.", stacklevel=2
            )
            enabled = False
        if enabled and growth_factor <= 1:
            raise AssertionError(
                f"GradScaler: got growth_factor={growth_factor}, expected more than 1"
            )
        if enabled and backoff_factor >= 1:
            raise AssertionError(
                f"GradScaler: got backoff_factor={backoff_factor}, expected less than 1"
            )
        self._enabled = enabled
        self._scale, self._growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._found: dict[int, bool] = {}  # {id of an optimizer: whether a gradient is not finite}
        self._stepped: set[int] = set()

    def is_enabled(self) -> bool:
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A tensor, or nested lists and tuples of tensors, multiplied by the scale."""
        if not self._enabled:
            return outputs
        if hasattr(outputs, "backward"):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(output) for output in outputs)
        raise ValueError(
            f"scale: got {type(outputs).__name__}, expected a tensor or a list of tensors"
        )

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients by the scale, before they are clipped; step does it otherwise."""
        if not self._enabled:
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_: called after step(), expected before it")
        if id(optimizer) in self._found:
            raise RuntimeError(
                "unscale_: called twice for this optimizer since the last update(), expected once"
            )
        found = False
        inverse = 1.0 / self._scale
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None:
                    continue
                if gradient.dtype.itemsize == 2:
                    raise ValueError(
                        f"unscale_: got a gradient of {gradient.dtype}, expected float32; keep the "
                        "parameters in float32"
                    )
                gradient.detach().mul_(inverse)
                found = found or not bool(xp(gradient.array).isfinite(gradient.array).all())
        self._found[id(optimizer)] = found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step(), unless a gradient is inf or NaN; returns its result, or None."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("step: got a closure, which an enabled GradScaler does not support")
        if id(optimizer) in self._stepped:
            raise RuntimeError(
                "step: called twice for this optimizer since the last update(), expected once"
            )
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale, once after all steps; new_scale sets it."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._found:
            raise AssertionError("update: no gradients were checked, expected a step() before")
        elif any(self._found.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                grown = float(np.float32(self._scale * self._growth_factor))
                self._scale = grown if np.isfinite(grown) else self._scale
                self._growth_tracker = 0
        self._found.clear()
        self._stepped.clear()

    def get_scale(self) -> float:
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def state_dict(self) -> dict:
        """The scale and how it changes; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor, "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict) -> None:
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "load_state_dict: got an empty state, expected that of an enabled GradScaler"
            )
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


__all__ = ["GradScaler"]
