"""tinytensor: tensors with reverse-mode differentiation, on NumPy or CuPy."""

from . import autograd, cuda, optim
from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .backend import device
from .dtype import DType as dtype
from .dtype import (
    bool_ as bool,
)
from .dtype import (
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    set_default_dtype,
    uint8,
)
from .ops import *
from .repr import set_printoptions
from .size import Size
from .tensor import Tensor  # before create: its function `tensor` takes over the module's name
from .create import *
from .random import *

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64


def __getattr__(name: str):  # type: ignore[no-untyped-def]
    """`tinytensor.nn` is the package `nn`, found on first use: it builds on this one."""
    if name == "nn":
        import nn

        return nn
    raise AttributeError(f"module 'tinytensor' has no attribute {name!r}")
