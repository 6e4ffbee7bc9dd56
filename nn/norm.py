"""Normalisation layers: bring values to mean 0 and variance 1, then apply a learned affine map.

They differ in what they take the mean and variance over: a batch, a sample, groups of channels.
"""

from __future__ import annotations

from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

# fmt: off
__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LayerNorm", "RMSNorm",
]
# fmt: on


def _learned(shape: Any, used: bool, device: Any, dtype: Any) -> Parameter | None:
    return Parameter(tt.empty(shape, device=device, dtype=dtype)) if used else None


class _Norm(Module):
    """weight and bias that start as 1 and 0; either may be None."""

    weight: Parameter | None
    bias: Parameter | None

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)
        if self._parameters.get("bias") is not None:
            init.zeros_(self.bias)


# ------------------------------------------------------------------------------------------
# Within a sample
# ------------------------------------------------------------------------------------------


def _as_shape(normalized_shape: Any) -> tuple[int, ...]:
    if isinstance(normalized_shape, (tuple, list)):
        return tuple(normalized_shape)
    return (int(normalized_shape),)


class LayerNorm(_Norm):
    """y = (x − mean) / √(variance + eps)·weight + bias over the last dimensions of x

    normalized_shape: the sizes of these dimensions, also the shape of weight and bias; an int for
    just the last.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.normalized_shape = shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter("weight", _learned(shape, elementwise_affine, device, dtype))
        self.register_parameter("bias", _learned(shape, elementwise_affine and bias, device, dtype))
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(_Norm):
    """y = x / √(mean(x²) + eps)·weight over the last dimensions of x

    normalized_shape: the sizes of these dimensions, also the shape of weight. eps None: the machine
    epsilon of the dtype.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.normalized_shape = shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter("weight", _learned(shape, elementwise_affine, device, dtype))
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(_Norm):
    """y = (x − mean) / √(variance + eps)·weight + bias over groups of channels: x (N, C, …)

    weight and bias (num_channels), one pair for each channel.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: num_channels ({num_channels}) must be divisible by num_groups "
                f"({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.register_parameter("weight", _learned(num_channels, affine, device, dtype))
        self.register_parameter("bias", _learned(num_channels, affine and bias, device, dtype))
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


# ------------------------------------------------------------------------------------------
# With running statistics
# ------------------------------------------------------------------------------------------


class _RunningNorm(_Norm):
    """running ← (1 − momentum)·running + momentum·batch, for mean and variance"""

    _version = 2
    dimensions: tuple[int, ...]  # the allowed values of input.ndim
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.register_parameter("weight", _learned(num_features, affine, device, dtype))
        self.register_parameter("bias", _learned(num_features, affine and bias, device, dtype))
        mean = variance = count = None
        if track_running_stats:
            mean = tt.zeros(num_features, device=device, dtype=dtype)
            variance = tt.ones(num_features, device=device, dtype=dtype)
            count = tt.tensor(0, device=device)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", variance)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        super().reset_parameters()

    def _load_from_state_dict(
        self, state_dict: dict, prefix: str, local_metadata: dict, *lists: Any
    ) -> None:
        """States before version 2, and those without one, need not have num_batches_tracked."""
        if (local_metadata.get("version") or 1) < 2 and self.num_batches_tracked is not None:
            state_dict.setdefault(f"{prefix}num_batches_tracked", self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *lists)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self.dimensions:
            expected = " or ".join(map(str, self.dimensions))
            raise ValueError(
                f"{type(self).__name__}: got an input of shape {tuple(input.shape)}, expected "
                f"{expected} dimensions"
            )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_RunningNorm):
    """y = (x − mean) / √(variance + eps)·weight + bias for each channel

    Training uses the mean and variance of the batch; evaluation uses the running ones, if they are
    tracked. momentum None: the running values are averages over all batches so far.
    """

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        tracks = self.training and self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        if tracks and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1 / float(self.num_batches_tracked)
        uses_running = tracks or not self.training
        return F.batch_norm(
            input,
            self.running_mean if uses_running else None,
            self.running_var if uses_running else None,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    __doc__ = f"{_BatchNorm.__doc__}\n    x (N, C) or (N, C, L)\n    "
    dimensions = (2, 3)


class BatchNorm2d(_BatchNorm):
    __doc__ = f"{_BatchNorm.__doc__}\n    x (N, C, H, W)\n    "
    dimensions = (4,)


class BatchNorm3d(_BatchNorm):
    __doc__ = f"{_BatchNorm.__doc__}\n    x (N, C, D, H, W)\n    "
    dimensions = (5,)


class _InstanceNorm(_RunningNorm):
    """y = (x − mean) / √(variance + eps)·weight + bias for each channel of each sample

    Without track_running_stats, the sample's own mean and variance are used in evaluation too.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ):
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        alone = input.ndim == self.dimensions[0]  # one sample, without a batch dimension
        batch = input.unsqueeze(0) if alone else input
        if self.affine and batch.shape[1] != self.num_features:
            raise ValueError(
                f"{type(self).__name__}: got {batch.shape[1]} channels in an input of shape "
                f"{tuple(input.shape)}, expected {self.num_features}"
            )
        y = F.instance_norm(
            batch,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return y.squeeze(0) if alone else y


class InstanceNorm1d(_InstanceNorm):
    __doc__ = f"{_InstanceNorm.__doc__}\n    x (N, C, L) or (C, L)\n    "
    dimensions = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    __doc__ = f"{_InstanceNorm.__doc__}\n    x (N, C, H, W) or (C, H, W)\n    "
    dimensions = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    __doc__ = f"{_InstanceNorm.__doc__}\n    x (N, C, D, H, W) or (C, D, H, W)\n    "
    dimensions = (4, 5)
