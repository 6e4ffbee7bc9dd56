"""Gradient clipping, before the optimiser's step: by norm or by value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..autograd.settings import no_grad
from ..autograd.site import warn
from ..autograd.variable import writes_of
from ..create import tensor
from ..kernels.machinery.route import fast_version, fits_kernel
from ..ops import isfinite, stack
from ..tensor import Tensor


def _as_list(tensors: Any) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Any) -> list[Tensor]:
    return [p.grad for p in _as_list(parameters) if p.grad is not None]


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """(Σ |x|ᵖ)^(1/p) over all elements of all tensors, p = norm_type; the largest for p = inf.

    foreach is accepted as in PyTorch and has no effect.
    """
    tensors = _as_list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return tensor(0.0)
    arrays = [x.array for x in tensors]
    kernel = fast_version("clip_grad", "total_norm", arrays) if norm_type == 2 else None
    if kernel:
        total = tensor(kernel(arrays))
    else:
        device = tensors[0].device
        norms = [x.norm(norm_type).to(device) for x in tensors]
        total = stack(norms).norm(norm_type)
    if error_if_nonfinite and not isfinite(total):
        raise RuntimeError(
            f"get_total_norm: the norm of order {norm_type} is {total.item()}, expected a finite "
            "number; pass error_if_nonfinite=False to scale the gradients by it anyway"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Multiply all gradients by max_norm / total_norm if that is less than 1."""
    gradients = _gradients(parameters)
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    arrays = [gradient.array for gradient in gradients]
    kernel = fast_version("clip_grad", "scale_all", arrays) if fits_kernel(factor.array) else None
    if kernel:
        for gradient in gradients:
            writes_of(gradient)[0] += 1
        kernel(arrays, factor.item())
    else:
        for gradient in gradients:
            gradient.mul_(factor.to(gradient.device))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients so that their norm is at most max_norm; returns the norm before that.

    The norm is that of all gradients as one vector.
    """
    parameters = _as_list(parameters)
    total_norm = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total_norm)
    return total_norm


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The older name of `clip_grad_norm_`."""
    warn("clip_grad_norm: an older name; use clip_grad_norm_", FutureWarning)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clamp every element of the gradients to ±clip_value."""
    clip_value = float(clip_value)
    for gradient in _gradients(parameters):
        gradient.clamp_(-clip_value, clip_value)
