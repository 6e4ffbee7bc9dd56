"""Lazy layers: they take the number of features or channels from their first input.

A lazy layer holds uninitialised parameters. A forward pre-hook gives them a shape and their initial
values at the first call, then removes itself, and the layer's class becomes the ordinary one:
LazyLinear(10) becomes Linear(in_features, 10). The random numbers are drawn at that call, not in
the constructor.
"""

from __future__ import annotations

from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from . import convolution, norm
from .convolution import Sizes
from .linear import Linear
from .parameter import UninitializedBuffer, UninitializedParameter, is_lazy

# fmt: off
__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
    "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear",
    "LazyModuleMixin",
]
# fmt: on


def _before_first_call(module: Any, args: tuple, kwargs: dict) -> None:
    """The forward pre-hook; not a bound method, with which the module would refer to itself."""
    module._infer_parameters(module, args, kwargs)


class LazyModuleMixin:
    """Makes a module lazy: class LazyThing(LazyModuleMixin, Thing).

    The subclass creates UninitializedParameters in `__init__` and materialises them in
    `initialize_parameters`, which gets the arguments of the first call.

    cls_to_become: the class of the module from then on; None: it keeps its own
    """

    cls_to_become: type | None = None
    _parameters: dict
    _buffers: dict
    _hooks: Any

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        module: Any = self
        self._initialize_hook = module.register_forward_pre_hook(
            _before_first_call, with_kwargs=True
        )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialise and fill the parameters, for the arguments of the first call."""
        raise NotImplementedError(
            f"{type(self).__name__}: initialize_parameters is not implemented"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of the module itself has no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _infer_parameters(self, module: Any, args: tuple, kwargs: dict | None = None) -> None:
        """Initialise the module for these arguments and make it an ordinary one."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"{type(module).__name__}: a parameter has no shape after initialize_parameters; "
                "materialize each one there"
            )
        module._initialize_hook.remove()
        del module._initialize_hook
        if not module._hooks.any():  # without hooks, calls are faster
            object.__setattr__(module, "_hooks", None)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _check_nothing_loaded(self, *parameters: Any) -> None:
        """Refuse to initialise a layer of which a state_dict gave some parameters, but not all."""
        if not all(parameter is None or is_lazy(parameter) for parameter in parameters):
            raise AssertionError(
                f"{type(self).__name__}: some parameters were loaded and others were not; load "
                "all of them, or call the layer once on a batch before loading"
            )


# ------------------------------------------------------------------------------------------
# Linear
# ------------------------------------------------------------------------------------------


class LazyLinear(LazyModuleMixin, Linear):
    """Linear(in_features, out_features) with in_features = x.shape[-1] of the first x."""

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the initial values anew; nothing before the first call."""
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if not input.ndim:
            raise IndexError("LazyLinear: got a 0-d input, expected (…, in_features)")
        features = input.shape[-1]
        if self.has_uninitialized_params():
            self._check_nothing_loaded(self.weight, self.bias)
            self.in_features = features
            self.weight.materialize((self.out_features, features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        elif not self.in_features:  # the parameters come from a state_dict
            if self.weight.shape[-1] != features:
                raise AssertionError(
                    f"LazyLinear: got an input of {features} features, expected "
                    f"{self.weight.shape[-1]}, as the weight that was loaded"
                )
            self.in_features = features


# ------------------------------------------------------------------------------------------
# Convolution
# ------------------------------------------------------------------------------------------


class _LazyConvolution(LazyModuleMixin, convolution._Convolution):
    """The part that all lazy convolutions share: in_channels comes from the first input."""

    def _make_lazy(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        """Replace the empty weight and the absent bias of a layer made without channels."""
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the initial values anew; nothing before the first call."""
        if not self.has_uninitialized_params() and self.in_channels:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            if not self.in_channels:  # the parameters come from a state_dict
                first, second = self.weight.shape[:2]
                self.in_channels = first if self.transposed else second * self.groups
            return
        self._check_nothing_loaded(self.weight, self.bias)
        channels = self._channels_of(input)
        if channels % self.groups:
            raise ValueError(
                f"{type(self).__name__}: got an input of {channels} channels, expected a multiple "
                f"of groups={self.groups}"
            )
        self.in_channels = channels
        first, second = channels, self.out_channels
        if not self.transposed:
            first, second = second, first
        self.weight.materialize((first, second // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _channels_of(self, input: Tensor) -> int:
        if input.ndim not in (self.dims + 1, self.dims + 2):
            raise RuntimeError(
                f"{type(self).__name__}: got an input of shape {tuple(input.shape)}, expected "
                f"{self.dims + 1} or {self.dims + 2} dimensions"
            )
        return input.shape[-self.dims - 1]


class _LazyConv(_LazyConvolution, convolution._Conv):
    def __init__(
        self, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes | str = 0,
        dilation: Sizes = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, convolution.Conv1d):
    """Conv1d with in_channels = C of the first x, which is (N, C, L) or (C, L)."""

    cls_to_become = convolution.Conv1d


class LazyConv2d(_LazyConv, convolution.Conv2d):
    """Conv2d with in_channels = C of the first x, which is (N, C, H, W) or (C, H, W)."""

    cls_to_become = convolution.Conv2d


class LazyConv3d(_LazyConv, convolution.Conv3d):
    """Conv3d with in_channels = C of the first x, which is (N, C, D, H, W) or (C, D, H, W)."""

    cls_to_become = convolution.Conv3d


class _LazyConvTranspose(_LazyConvolution, convolution._ConvTranspose):
    def __init__(
        self, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes = 0,
        output_padding: Sizes = 0, groups: int = 1, bias: bool = True, dilation: Sizes = 1,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation,
            padding_mode,
        )  # fmt: skip
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyConvTranspose, convolution.ConvTranspose1d):
    """ConvTranspose1d with in_channels = C of the first x, which is (N, C, L) or (C, L)."""

    cls_to_become = convolution.ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, convolution.ConvTranspose2d):
    """ConvTranspose2d with in_channels = C of the first x: (N, C, H, W) or (C, H, W)."""

    cls_to_become = convolution.ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, convolution.ConvTranspose3d):
    """ConvTranspose3d with in_channels = C of the first x: (N, C, D, H, W) or (C, D, H, W)."""

    cls_to_become = convolution.ConvTranspose3d


# ------------------------------------------------------------------------------------------
# Norms
# ------------------------------------------------------------------------------------------


class _LazyNorm(LazyModuleMixin, norm._RunningNorm):
    """The part that all lazy norms share: num_features comes from the first input."""

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tt.tensor(0, device=device)

    def _shaped(self) -> list[Any]:
        """The parameters and buffers of shape (num_features)."""
        own = (self.weight, self.bias, self.running_mean, self.running_var)
        return [tensor for tensor in own if tensor is not None]

    def reset_parameters(self) -> None:
        """Set the initial values anew; nothing before the first call."""
        if not self.has_uninitialized_params() and self.num_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        shaped = self._shaped()
        if not self.has_uninitialized_params():
            if shaped and not self.num_features:  # they come from a state_dict
                self.num_features = shaped[0].shape[0]
            return
        self._check_nothing_loaded(*shaped)
        self._check_input_dim(input)
        self.num_features = self._features_of(input)
        for tensor in shaped:
            tensor.materialize((self.num_features,))
        self.reset_parameters()

    def _features_of(self, input: Tensor) -> int:
        return input.shape[1]


class LazyBatchNorm1d(_LazyNorm, norm._BatchNorm):
    """BatchNorm1d with num_features = C of the first x, which is (N, C) or (N, C, L)."""

    cls_to_become = norm.BatchNorm1d
    dimensions = norm.BatchNorm1d.dimensions


class LazyBatchNorm2d(_LazyNorm, norm._BatchNorm):
    """BatchNorm2d with num_features = C of the first x, which is (N, C, H, W)."""

    cls_to_become = norm.BatchNorm2d
    dimensions = norm.BatchNorm2d.dimensions


class LazyBatchNorm3d(_LazyNorm, norm._BatchNorm):
    """BatchNorm3d with num_features = C of the first x, which is (N, C, D, H, W)."""

    cls_to_become = norm.BatchNorm3d
    dimensions = norm.BatchNorm3d.dimensions


class _LazyInstanceNorm(_LazyNorm, norm._InstanceNorm):
    def _features_of(self, input: Tensor) -> int:
        alone = input.ndim == self.dimensions[0]  # one sample, without a batch dimension
        return input.shape[0 if alone else 1]


class LazyInstanceNorm1d(_LazyInstanceNorm):
    """InstanceNorm1d with num_features = C of the first x, which is (N, C, L) or (C, L)."""

    cls_to_become = norm.InstanceNorm1d
    dimensions = norm.InstanceNorm1d.dimensions


class LazyInstanceNorm2d(_LazyInstanceNorm):
    """InstanceNorm2d with num_features = C of the first x, which is (N, C, H, W) or (C, H, W)."""

    cls_to_become = norm.InstanceNorm2d
    dimensions = norm.InstanceNorm2d.dimensions


class LazyInstanceNorm3d(_LazyInstanceNorm):
    """InstanceNorm3d with num_features = C of the first x: (N, C, D, H, W) or (C, D, H, W)."""

    cls_to_become = norm.InstanceNorm3d
    dimensions = norm.InstanceNorm3d.dimensions
