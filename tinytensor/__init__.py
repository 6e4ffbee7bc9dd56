"""tinytensor: tensors with reverse-mode differentiation, on NumPy or CuPy.

    import tinytensor as tt

    x = tt.randn(3, 4, requires_grad=True)
    loss = x.softmax(dim=1).log().sum()
    loss.backward()
    print(x.grad)

The names are PyTorch's. The ops are listed by family in `tinytensor/ops/__init__.py`.
"""

import math
from typing import Any

from . import autograd, cuda, func, optim, utils
from .autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .backend import device
from .dtype import DType as dtype
from .dtype import bool_ as bool
from .dtype import (
    can_cast,
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
from .errors import AnomalyError, DeviceError, GradcheckError, GradientError, ShapeError
from .ops import *
from .ops import return_types
from .ops.boundary import checked
from .repr import set_printoptions
from .size import Size
from .tensor import Tensor

# After .tensor: the function `tensor` takes over the name of the module.
from . import create, ops, random  # isort: skip
from .create import *  # isort: skip
from .random import *  # isort: skip

__version__ = "0.1.0"

for _name in ops.__all__:
    globals()[_name] = checked(globals()[_name])

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis = None
detach = Tensor.detach

# fmt: off
__all__ = [
    "AnomalyError", "DeviceError", "GradcheckError", "GradientError", "ShapeError", "Size",
    "Tensor", "autograd", "bool", "can_cast", "cuda", "device", "double", "detach", "dtype", "e",
    "enable_grad", "float", "float16", "float32", "float64", "func", "get_default_dtype", "half",
    "inf", "inference_mode", "int", "int16", "int32", "int64", "int8", "is_grad_enabled",
    "is_inference_mode_enabled", "long", "nan", "newaxis", "no_grad", "optim", "pi",
    "return_types", "set_default_dtype", "set_grad_enabled", "set_printoptions", "short", "uint8",
    "utils",
]
# fmt: on
__all__ += create.__all__
__all__ += ops.__all__
__all__ += random.__all__


def __getattr__(name: str) -> Any:
    """`tinytensor.nn` is the package `nn`, found on first use: it builds on this one.

    `tinytensor.exp_(x)` and its kin are the methods of the same names.
    """
    if name == "nn":
        import nn

        return nn
    if name.endswith("_") and not name.startswith("_") and hasattr(Tensor, name):
        return getattr(Tensor, name)
    raise AttributeError(f"module 'tinytensor' has no attribute {name!r}")
