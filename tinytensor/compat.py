"""Names that code written for PyTorch mentions and that have nothing to do here.

There is one way to run an op, in the dtype of its tensors, so compilation, mixed precision and
hardware flags are accepted and change nothing.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from .autograd.variable import Variable, wrap
from .create import shape_of, tensor
from .dtype import bool_, float16, float32, float64, int8, int16, int32, int64, uint8

if TYPE_CHECKING:
    from .tensor import Tensor


def compile(model: Any = None, **options: Any) -> Any:
    """Returns its argument, also as a decorator `@compile(…)`."""
    return (lambda function: function) if model is None else model


class autocast(ContextDecorator):
    """A block, or a function, in which everything stays as it is."""

    def __init__(self, device_type: str = "cpu", dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None):  # fmt: skip
        self.device_type, self.dtype, self.enabled = device_type, dtype, enabled

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass


class GradScaler:
    """Scales nothing: losses and gradients are never in a dtype that would need it."""

    def __init__(self, device: str = "cuda", *args: Any, enabled: bool = True, **options: Any):
        self._enabled = enabled

    def is_enabled(self) -> bool:
        return False

    def scale(self, outputs: Any) -> Any:
        return outputs

    def unscale_(self, optimizer: Any) -> None:
        pass

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        pass

    def get_scale(self) -> float:
        return 1.0

    def state_dict(self) -> dict:
        return {}

    def load_state_dict(self, state_dict: dict) -> None:
        pass


amp = SimpleNamespace(autocast=autocast, GradScaler=GradScaler)

backends = SimpleNamespace(
    cudnn=SimpleNamespace(
        enabled=False, benchmark=False, deterministic=True, allow_tf32=False,
        is_available=lambda: False, version=lambda: None,
    ),
    cuda=SimpleNamespace(
        matmul=SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=False),
        is_built=lambda: True, enable_flash_sdp=lambda enabled: None,
        enable_mem_efficient_sdp=lambda enabled: None, enable_math_sdp=lambda enabled: None,
    ),
    mps=SimpleNamespace(is_available=lambda: False, is_built=lambda: False),
    mkl=SimpleNamespace(is_available=lambda: False),
)  # fmt: skip

_matmul_precision = "highest"


def set_float32_matmul_precision(precision: str) -> None:
    """Remembered and not used: products are always made in full precision."""
    global _matmul_precision
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"set_float32_matmul_precision: got {precision!r}, "
            "expected 'highest', 'high' or 'medium'"
        )
    _matmul_precision = precision


def get_float32_matmul_precision() -> str:
    return _matmul_precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Every op is deterministic on a CPU already."""


def are_deterministic_algorithms_enabled() -> bool:
    return True


# ------------------------------------------------------------------------------------------
# LongTensor and its kin
# ------------------------------------------------------------------------------------------


class _TensorOf(type):
    """The class of LongTensor and its kin: a call makes a Tensor of that dtype, and
    isinstance(x, LongTensor) asks for the dtype. x.type(LongTensor) converts to it.
    """

    dtype: Any

    def __call__(cls, *data: Any) -> Tensor:  # type: ignore[override]
        if not data or all(isinstance(n, (int, np.integer)) for n in data):
            return wrap(np.zeros(shape_of(cls.__name__, data or (0,)), dtype=cls.dtype.dtype))
        return tensor(data[0], dtype=cls.dtype)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Variable) and value.array.dtype == cls.dtype.dtype


def _typed(name: str, dtype: Any) -> _TensorOf:
    doc = f"{name}(data), or {name}(*sizes): a tensor of {dtype.name}."
    return _TensorOf(name, (), {"dtype": dtype, "__doc__": doc})


FloatTensor = _typed("FloatTensor", float32)
DoubleTensor = _typed("DoubleTensor", float64)
HalfTensor = _typed("HalfTensor", float16)
LongTensor = _typed("LongTensor", int64)
IntTensor = _typed("IntTensor", int32)
ShortTensor = _typed("ShortTensor", int16)
CharTensor = _typed("CharTensor", int8)
ByteTensor = _typed("ByteTensor", uint8)
BoolTensor = _typed("BoolTensor", bool_)

__all__ = [
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "GradScaler",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "amp",
    "are_deterministic_algorithms_enabled",
    "autocast",
    "backends",
    "compile",
    "get_float32_matmul_precision",
    "set_float32_matmul_precision",
    "use_deterministic_algorithms",
]
