"""Initial values of parameters, under the names of torch.nn.init.

Each function fills a tensor in place, outside the graph, and returns it. fan_in and fan_out are the
numbers of inputs to a unit and of units it feeds: for a weight (out, in, kernel …), in·kernel and
out·kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

import tinytensor as tt
from tinytensor.autograd.site import warn
from tinytensor.create import Generator
from tinytensor.tensor import Tensor


def _outside_the_graph(function: Callable) -> Callable:
    """Decorator: run the function without recording, as initial values have no history."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with tt.no_grad():
            return function(*args, **kwargs)

    return run


# ------------------------------------------------------------------------------------------
# Fixed values and plain distributions
# ------------------------------------------------------------------------------------------


@_outside_the_graph
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform in [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@_outside_the_graph
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal with the given mean and standard deviation."""
    return tensor.normal_(mean, std, generator=generator)


@_outside_the_graph
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal, truncated to [a, b].

    Rejection sampling: from the normal distribution, accepting values in [a, b], or, where at most
    30 % would be accepted, from a uniform one, accepting in proportion to the density.
    """
    low, high = ((1 + math.erf((x - mean) / std / math.sqrt(2))) / 2 for x in (a, b))
    common = high - low > 0.3
    peak = max(a, min(mean, b))

    def draw() -> tuple[Tensor, Tensor]:
        """Candidates, and which of them are rejected."""
        if common:
            drawn = tt.empty_like(tensor).normal_(mean, std, generator=generator)
            return drawn, (drawn < a) | (drawn > b)
        drawn = tt.empty_like(tensor).uniform_(a, b, generator=generator)
        log_density = ((peak - mean) ** 2 - (drawn - mean) ** 2) / (2 * std * std)
        chance = tt.empty_like(tensor).uniform_(generator=generator)
        return drawn, chance.log() > log_density

    result, pending = draw()
    while pending.any():
        drawn, refused = draw()
        result = tt.where(pending, drawn, result)
        pending = pending & refused
    return tensor.copy_(result)


@_outside_the_graph
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with val."""
    return tensor.fill_(val)


@_outside_the_graph
def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return tensor.fill_(1.0)


@_outside_the_graph
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return tensor.zero_()


@_outside_the_graph
def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix."""
    if tensor.ndim != 2:
        raise ValueError(f"eye_: got a tensor of {tensor.ndim} dimensions, expected 2")
    return tensor.copy_(tt.eye(*tensor.shape, device=tensor.device))


@_outside_the_graph
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Identity kernel (out, in, k …): 1 in the middle of the kernel from channel i to i."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(f"dirac_: got a tensor of {tensor.ndim} dimensions, expected 3, 4 or 5")
    out_channels, in_channels, *kernel = tensor.shape
    if out_channels % groups:
        raise ValueError(f"dirac_: {out_channels} output channels, expected a multiple of {groups}")
    tensor.zero_()
    middle = tuple(size // 2 for size in kernel)
    per_group = out_channels // groups
    for group in range(groups):
        for channel in range(min(per_group, in_channels)):
            place = (group * per_group + channel, channel, *middle)
            tensor[place] = 1
    return tensor


# ------------------------------------------------------------------------------------------
# Distributions that keep the variance from layer to layer
# ------------------------------------------------------------------------------------------


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """The numbers of inputs to a unit and of units it feeds."""
    if tensor.ndim < 2:
        raise ValueError(
            f"init: got a tensor of shape {tuple(tensor.shape)}, expected at least 2 dimensions; "
            "fan_in and fan_out are not defined for a vector"
        )
    kernel = math.prod(tensor.shape[2:])
    return tensor.shape[1] * kernel, tensor.shape[0] * kernel


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"init: got mode={mode!r}, expected 'fan_in' or 'fan_out'")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor on the weights that makes up for the nonlinearity's change of variance."""
    gains = {"sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4, "linear": 1.0}
    for n in "123":
        gains |= {f"conv{n}d": 1.0, f"conv_transpose{n}d": 1.0}
    if nonlinearity in gains:
        return gains[nonlinearity]
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise ValueError(f"calculate_gain: got negative_slope {param!r}, expected a number")
        slope = 0.01 if param is None else param
        return math.sqrt(2 / (1 + slope**2))
    raise ValueError(
        f"calculate_gain: got nonlinearity {nonlinearity!r}, expected one of leaky_relu, "
        f"{', '.join(gains)}"
    )


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform in ±gain·√(6 / (fan_in + fan_out))."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = gain * math.sqrt(6 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with standard deviation gain·√(2 / (fan_in + fan_out))."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2 / (fan_in + fan_out)), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """gain / √fan"""
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def _is_empty(tensor: Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warn("init: the tensor has no elements, so nothing is done")
    return True


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform in ±gain·√(3 / fan); a: the slope of the leaky_relu that follows."""
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal with standard deviation gain / √fan; a: the slope of the leaky_relu that follows."""
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


@_outside_the_graph
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """gain·Q with orthonormal rows or columns, whichever are fewer; uniform among all such Q."""
    if tensor.ndim < 2:
        raise ValueError(
            f"orthogonal_: got a tensor of shape {tuple(tensor.shape)}, expected at least 2 "
            "dimensions"
        )
    if not tensor.numel():
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    tall = tt.empty(max(rows, columns), min(rows, columns), device=tensor.device)
    tall.normal_(generator=generator)
    # tall = Q·R; a positive diagonal of R makes Q unique and uniformly distributed.
    q, r = np.linalg.qr(tall.cpu().numpy())
    q = q * np.sign(np.diagonal(r))
    q = q if rows >= columns else q.T
    # (rows, columns) → (rows, kernel …)
    return tensor.copy_(tt.tensor(gain * q.reshape(tensor.shape), device=tensor.device))


@_outside_the_graph
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Normal with mean 0; a random fraction `sparsity` of each column is set to 0."""
    if tensor.ndim != 2:
        raise ValueError(f"sparse_: got a tensor of {tensor.ndim} dimensions, expected 2")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        chosen = tt.randperm(rows, generator=generator, device=tensor.device)[:zeros]
        tensor[chosen, column] = 0
    return tensor


def _older(function: Callable) -> Callable:
    """The name of a function in old programs, without the underscore at its end."""
    name = function.__name__.removesuffix("_")

    def older(*args: Any, **kwargs: Any) -> Tensor:
        warn(f"nn.init.{name}: an older name; use nn.init.{name}_", FutureWarning)
        return function(*args, **kwargs)

    older.__name__ = older.__qualname__ = name
    older.__doc__ = f"The older name of `{name}_`."
    return older


uniform, normal, constant, eye = map(_older, (uniform_, normal_, constant_, eye_))
dirac, orthogonal, sparse = map(_older, (dirac_, orthogonal_, sparse_))
xavier_uniform, xavier_normal = _older(xavier_uniform_), _older(xavier_normal_)
kaiming_uniform, kaiming_normal = _older(kaiming_uniform_), _older(kaiming_normal_)

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_",
    "normal_", "ones_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_",
    "xavier_uniform_", "zeros_",
]  # fmt: skip
