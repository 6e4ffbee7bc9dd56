"""tinytensor: tensors with reverse-mode differentiation, on NumPy or CuPy."""

from . import autograd
from .backend import device
from .create import *
from .dtype import DType as dtype
from .dtype import (
    bool_ as bool,
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
from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .ops import *
from .random import *
from .size import Size
from .tensor import Tensor

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
