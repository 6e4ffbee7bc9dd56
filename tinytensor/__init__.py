"""tinytensor: tensors with reverse-mode differentiation, on NumPy or CuPy.

    import tinytensor as tt

    x = tt.randn(3, 4, requires_grad=True)
    loss = x.softmax(dim=1).log().sum()
    loss.backward()
    print(x.grad)

The names are PyTorch's. The ops are listed by family in `tinytensor/ops/__init__.py`.
"""

import importlib
import math
from typing import TYPE_CHECKING, Any

from . import autograd, cuda, func, optim, utils
from .autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .devices import device, get_default_device, set_default_device
from .dtype import DType as dtype
from .dtype import (
    bfloat16,
    can_cast,
    complex64,
    complex128,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    result_type,
    set_default_dtype,
    uint8,
)
from .dtype import bool_ as bool
from .errors import (
    AnomalyError,
    DeviceError,
    GradcheckError,
    GradientError,
    OutOfMemoryError,
    ShapeError,
)
from .func import vmap
from .kernels import (
    get_kernels,
    get_num_threads,
    keep_memory,
    release_memory,
    set_kernels,
    set_num_threads,
)
from .ops import *
from .ops import return_types
from .repr import set_printoptions
from .serialize import load, save
from .size import Size
from .tensor import Tensor

# After .tensor: the function `tensor` takes over the name of the module.
from . import compat, create, fft, linalg, ops, special  # isort: skip
from .special import i0, sinc  # isort: skip
from .linalg.older import *  # isort: skip
from .compat import *  # isort: skip
from .compat import _assert as _assert  # isort: skip
from .compat import _check as _check  # isort: skip
from .create import *  # isort: skip
from .create import random  # isort: skip
from .create import tensor as tensor  # isort: skip  # which mypy takes for the module

# Last: they are written with the functions above.
from . import distributions, masked, signal, sparse  # isort: skip
from .sparse import sparse_coo_tensor, sparse_csr_tensor, spmm  # isort: skip

from .compat import version as version  # isort: skip

compat.alias.install(compat.PATHS)
compat.einops_backend.install()
autograd.functional = func.functional  # PyTorch's path

if TYPE_CHECKING:  # found by __getattr__
    from .compat import amp, backends, distributed, fx, jit, mps, multiprocessing, onnx, xpu
    from .cuda import accelerator

__version__ = version.__version__

half, float, double = float16, float32, float64
cfloat, cdouble = complex64, complex128
short, int, long = int16, int32, int64
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis = None
detach = Tensor.detach

# fmt: off
__all__ = [
    "AnomalyError", "DeviceError", "GradcheckError", "GradientError", "OutOfMemoryError",
    "ShapeError", "Size", "Tensor", "accelerator", "amp", "autograd", "backends", "bfloat16",
    "bool", "can_cast", "cdouble", "cfloat", "complex128", "complex64", "cuda", "detach", "device",
    "distributed", "distributions", "double", "dtype", "e", "enable_grad", "fft", "finfo",
    "float", "float16", "float32", "float64", "func", "fx", "get_default_device",
    "get_default_dtype", "get_kernels", "get_num_threads", "half", "iinfo", "inf",
    "inference_mode", "int", "int16",
    "int32", "int64", "int8", "is_grad_enabled", "is_inference", "is_inference_mode_enabled", "jit",
    "keep_memory",
    "linalg", "load", "long", "masked", "mps", "multiprocessing", "nan", "newaxis", "no_grad",
    "onnx", "optim", "pi", "promote_types", "release_memory", "result_type", "return_types", "save",
    "set_default_device", "set_default_dtype", "set_grad_enabled", "set_kernels", "set_num_threads",
    "set_printoptions", "short", "signal", "sparse", "sparse_coo_tensor", "sparse_csr_tensor",
    "spmm", "uint8", "utils", "vmap", "xpu",
]
# fmt: on
__all__ += compat.__all__
__all__ += create.__all__
__all__ += linalg.older.__all__
__all__ += ["i0", "sinc", "special"]
__all__ += ops.NAMES


def __getattr__(name: str) -> Any:
    """Names found on first use.

    `tinytensor.nn` and the other paths of `compat.PATHS` are imported then, and so are
    `tinytensor.graph` and `tinytensor.testing`, which training does not need. `tinytensor.exp_` is
    `Tensor.exp_`.
    """
    if name == "torch":  # some programs write torch.torch.nn
        return importlib.import_module(__name__)
    if name == "default_generator":
        return random.default_generator_of("cpu")
    if name in ("graph", "testing") or f"{__name__}.{name}" in compat.PATHS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in ("_unique", "_unique2"):
        return getattr(importlib.import_module(f"{__name__}.compat.vf"), name)
    if name.startswith("_foreach_"):
        functions = importlib.import_module(f"{__name__}.compat.foreach").FUNCTIONS
        if name in functions:
            return functions[name]
    if name.endswith("_") and not name.startswith("_") and hasattr(Tensor, name):
        return getattr(Tensor, name)
    raise AttributeError(f"module 'tinytensor' has no attribute {name!r}")
