"""Activation functions as layers.

The functions are in `tinytensor/ops/activation.py`, `rectifier.py` and `softmax.py`.
"""

from __future__ import annotations

from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from . import functional as F
from .module import Module
from .parameter import Parameter

# fmt: off
__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid",
    "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
    "Threshold",
]
# fmt: on


class _InPlace(Module):
    """Base class of activations whose only setting is whether they overwrite their input."""

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


# ------------------------------------------------------------------------------------------
# Without settings
# ------------------------------------------------------------------------------------------


class Tanh(Module):
    """y = tanh x"""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Sigmoid(Module):
    """y = σ(x) = 1 / (1 + e⁻ˣ)"""

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class LogSigmoid(Module):
    """y = log σ(x)"""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """y = x / (1 + |x|)"""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """y = x − tanh x"""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


# ------------------------------------------------------------------------------------------
# In place or not
# ------------------------------------------------------------------------------------------


class ReLU(_InPlace):
    """y = max(x, 0)"""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)


class ReLU6(_InPlace):
    """y = min(max(x, 0), 6)"""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, inplace=self.inplace)


class SELU(_InPlace):
    """y = λ·x where x > 0, else λα·(eˣ − 1), with the λ and α that keep mean 0, variance 1"""

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, inplace=self.inplace)


class SiLU(_InPlace):
    """y = x·σ(x)"""

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)


class Mish(_InPlace):
    """y = x·tanh(log(1 + eˣ))"""

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=self.inplace)


class Hardsigmoid(_InPlace):
    """y = min(max(x/6 + ½, 0), 1)"""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return ""  # as in PyTorch, which does not show inplace here


class Hardswish(_InPlace):
    """y = x·hardsigmoid(x)"""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return ""  # as in PyTorch, which does not show inplace here


# ------------------------------------------------------------------------------------------
# With settings
# ------------------------------------------------------------------------------------------


class LeakyReLU(Module):
    """y = x where x > 0, else negative_slope·x"""

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False):
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{', inplace=True' if self.inplace else ''}"


class PReLU(Module):
    """y = x where x > 0, else weight·x, with a learned weight for each channel or one for all.

    num_parameters: 1, or the number of channels C of x (N, C, …). init: initial weight.
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ):
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(tt.full((num_parameters,), float(init), device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        with tt.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class ELU(Module):
    """y = x where x > 0, else alpha·(eˣ − 1)"""

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{', inplace=True' if self.inplace else ''}"


class CELU(Module):
    """y = x where x > 0, else alpha·(e^(x/alpha) − 1)"""

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{', inplace=True' if self.inplace else ''}"


class GELU(Module):
    """y = x·Φ(x), Φ the normal distribution function; approximate: "none" or "tanh"."""

    def __init__(self, approximate: str = "none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """y = log(1 + e^(beta·x)) / beta, and y = x where beta·x > threshold"""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    """y = x moved towards 0 by lambd, and 0 where |x| ≤ lambd"""

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(Module):
    """y = x, and 0 where |x| ≤ lambd"""

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardtanh(Module):
    """y = min(max(x, min_val), max_val)"""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
        super().__init__()
        if max_val <= min_val:
            raise AssertionError(
                f"Hardtanh: got min_val={min_val} and max_val={max_val}, expected max_val to be "
                "the larger"
            )
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        inplace = ", inplace=True" if self.inplace else ""
        return f"min_val={self.min_val}, max_val={self.max_val}{inplace}"


class Threshold(Module):
    """y = x where x > threshold, else value"""

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        inplace = ", inplace=True" if self.inplace else ""
        return f"threshold={self.threshold}, value={self.value}{inplace}"


# ------------------------------------------------------------------------------------------
# Along one dimension
# ------------------------------------------------------------------------------------------


class GLU(Module):
    """y = a·σ(b), where a and b are the halves of x along dim"""

    def __init__(self, dim: int = -1):
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class _OverDim(Module):
    """Base class of Softmax, LogSoftmax and Softmin. dim: the dimension to normalise over."""

    def __init__(self, dim: int | None = None):
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_OverDim):
    """y = eˣ / Σ eˣ along dim"""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class LogSoftmax(_OverDim):
    """y = x − log Σ eˣ along dim"""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class Softmin(_OverDim):
    """y = softmax(−x) along dim"""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """softmax over the channels of each position: x (N, C, H, W) or (C, H, W)"""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(
                f"Softmax2d: got a tensor of {input.ndim} dimensions, expected (N, C, H, W) or "
                "(C, H, W)"
            )
        return F.softmax(input, -3)
