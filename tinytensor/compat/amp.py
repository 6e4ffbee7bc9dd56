"""Mixed precision: `autocast`, as PyTorch does it on a CPU; GradScaler is in grad_scaler.py.

Under `autocast("cpu")` matrix products, convolutions and attention compute in bfloat16 (or
float16), losses in float32; see ops/autocast.py. On a GPU every op runs in the dtype of its
tensors: `autocast("cuda")` has no effect, and warns where there is no GPU.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ..devices import gpu_count
from ..dtype import DType, bfloat16, float16, float64
from ..ops.autocast_setting import setting
from ..tensor import Tensor
from .grad_scaler import GradScaler

DEVICES = ("cpu", "cuda", "ipu", "xpu", "hip", "maia", "xla", "lazy", "mps", "meta", "hpu", "mtia")


class autocast:
    """A context manager and decorator: products in `dtype`, losses in float32, on a CPU.

    dtype: bfloat16 (by default) or float16. enabled: False switches an outer autocast off.
    cache_enabled: cast each parameter once within the outermost autocast.
    """

    def __init__(self, device_type: str = "cpu", dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None):  # fmt: skip
        if not isinstance(device_type, str):
            raise ValueError(
                f"autocast: got device_type of type {type(device_type).__name__}, expected a string"
            )
        if device_type not in DEVICES:
            raise RuntimeError(
                f"autocast: got device_type {device_type!r}, expected one of {', '.join(DEVICES)}"
            )
        self.device = device_type
        self.fast_dtype: DType = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = setting.caches if cache_enabled is None else cache_enabled
        self._enabled = enabled and self._supported()
        self._before: list[tuple] = []

    def _supported(self) -> bool:
        """Whether autocast can be on; warns if it is switched off."""
        if self.device == "cuda" and not gpu_count():
            warnings.warn(
                "autocast: CUDA is not available. Disabling autocast.", UserWarning, stacklevel=3
            )
            return False
        if self.device == "cpu" and self.fast_dtype not in (bfloat16, float16):
            warnings.warn(
                f"autocast: got dtype {self.fast_dtype}, but on a CPU only bfloat16 and float16 "
                "are supported. Disabling autocast.",
                UserWarning,
                stacklevel=3,
            )
            return False
        return True

    def __enter__(self) -> autocast:
        self._before.append((setting.active, setting.dtype, setting.caches))
        setting.nesting += 1
        setting.caches = self._cache_enabled
        if self.device == "cpu":
            setting.dtype = self.fast_dtype
            setting.turn(self._enabled)
        return self

    def __exit__(self, *exc_info: object) -> None:
        setting.active, setting.dtype, setting.caches = self._before.pop()
        setting.nesting -= 1
        if not setting.nesting:
            setting.cache.clear()

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on; only on a CPU it has an effect."""
    return device_type == "cpu" and setting.active is not None


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on, on the CPU."""
    return setting.active is not None


def get_autocast_dtype(device_type: str) -> DType:
    """The dtype that autocast computes products in, or would if it were on."""
    return setting.dtype if device_type == "cpu" else float16


def get_autocast_cpu_dtype() -> DType:
    """The dtype that autocast computes products in, or would if it were on."""
    return setting.dtype


def get_autocast_gpu_dtype() -> DType:
    """float16, which no op uses: on a GPU autocast has no effect."""
    return float16


def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Switch autocast on or off, outside of a `with`."""
    if device_type == "cpu":
        setting.turn(bool(enabled))


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Set the dtype of autocast."""
    if device_type == "cpu":
        setting.dtype = dtype
        setting.turn(setting.active is not None)


def is_autocast_cache_enabled() -> bool:
    """Whether each parameter is cast once within the outermost autocast."""
    return setting.caches


def set_autocast_cache_enabled(enabled: bool) -> None:
    setting.caches = enabled


def clear_autocast_cache() -> None:
    """Forget the parameters that were cast."""
    setting.cache.clear()


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast accepts this type of device."""
    return device_type == "cpu" or (device_type == "cuda" and gpu_count() > 0)


def _cast(value: Any, device_type: str, dtype: DType) -> Any:
    """Floating point tensors of that device in `dtype`, also in containers; float64 unchanged."""
    if isinstance(value, Tensor):
        fits = value.is_floating_point() and value.device.type == device_type
        return value.to(dtype) if fits and value.dtype != float64 else value
    if isinstance(value, Mapping):
        return {key: _cast(item, device_type, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, device_type, dtype) for item in value)
    return value


def custom_fwd(fwd: Callable | None = None, *, device_type: str,
               cast_inputs: DType | None = None) -> Callable:  # fmt: skip
    """A decorator for the `forward` of a Function: its backward runs under the same autocast.

    cast_inputs: under autocast, convert floating point inputs to this dtype and run with autocast
    off. Use with `custom_bwd`.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"custom_fwd: got device_type={device_type!r}, expected a string")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._fwd_dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_autocast_enabled(device_type)
        if cast_inputs is None or not ctx._fwd_used_autocast:
            return fwd(ctx, *args, **kwargs)
        ctx._fwd_used_autocast = False
        with autocast(device_type, enabled=False):
            cast = _cast((args, kwargs), device_type, cast_inputs)
            return fwd(ctx, *cast[0], **cast[1])

    return forward


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """A decorator for the `backward` of a Function whose `forward` has `custom_fwd`."""
    if not isinstance(device_type, str):
        raise ValueError(f"custom_bwd: got device_type={device_type!r}, expected a string")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, ctx._fwd_dtype, ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return backward


__all__ = [
    "GradScaler", "autocast", "clear_autocast_cache", "get_autocast_cpu_dtype",
    "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_dtype",
    "set_autocast_enabled",
]  # fmt: skip
