"""Losses between distributions: how unlikely a target is, or how far one is from another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..autograd.arguments import array_of, check_flags, check_given, check_numbers, require_tensor
from ..autograd.site import warn
from ..autograd.variable import unwrap
from ..backend import xp
from .autocast import in_float32
from .clamp import where
from .loss_reduction import reduce_loss, reduction_of
from .pointwise import exp, log
from .promote import refuse_complex

if TYPE_CHECKING:
    from ..tensor import Tensor


@in_float32
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target·(log target − input) for log-probabilities `input`: the Kullback-Leibler divergence.

    log_target: target holds logarithms too. reduction: "batchmean", the sum divided by the size of
    the batch, is the divergence as it is defined; "mean" divides by the number of elements.
    """
    if type(log_target) is not bool:
        check_flags("kl_div", log_target=log_target)
    require_tensor("kl_div", input)
    refuse_complex("kl_div", input, target)
    by_batch = reduction == "batchmean" and size_average is None and reduce is None
    if reduction == "mean" and size_average is None and reduce is None:
        warn(
            "kl_div: reduction='mean' divides by the number of elements; 'batchmean' divides by "
            "the batch size only, which is the mathematical definition",
        )
    reduction = "sum" if by_batch else reduction_of("kl_div", reduction, size_average, reduce)
    if log_target:
        loss = exp(target) * (target - input)
    else:
        # t·log t is 0 at t = 0
        logarithm = log(where(target == 0, 1.0, target))
        loss = target * logarithm - target * input
    total = reduce_loss(loss, reduction)
    return total / input.shape[0] if by_batch and input.ndim else total


@in_float32
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """rate − target·log(rate), averaged: how unlikely the counts `target` are for a Poisson rate.

    log_input: input is log(rate), else the rate. full: add Stirling's approximation of
    log(target!) where target > 1. eps keeps log(rate) finite.
    """
    if type(log_input) is not bool or type(full) is not bool:
        check_flags("poisson_nll_loss", log_input=log_input, full=full)
    require_tensor("poisson_nll_loss", input)
    check_numbers("poisson_nll_loss", eps=eps)
    reduction = reduction_of("poisson_nll_loss", reduction, size_average, reduce)
    loss = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        large = where(target > 1, target, 1.0)
        stirling = large * log(large) - large + 0.5 * log(2 * math.pi * large)
        loss = loss + where(target > 1, stirling, 0.0)
    return reduce_loss(loss, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """½·(log var + (input − target)² / var), averaged: target under a normal distribution.

    var: a number, or a tensor in the shape of input or with its last dimension 1 or left out; not
    below eps. full: add ½·log 2π.
    """
    check_given("gaussian_nll_loss", target=target)
    if type(full) is not bool:
        check_flags("gaussian_nll_loss", full=full)
    name = "gaussian_nll_loss"
    check_numbers(name, eps=eps)
    refuse_complex(name, input, target, var)
    reduction = reduction_of(name, reduction)
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError(f"{name}: var is {var}, expected a number that is not negative")
        array = unwrap(input)
        var = xp(array).full(array.shape, float(var), dtype=array.dtype)
    else:
        check_given(name, var=var)
        values = unwrap(var)
        if values.size and float(values.min()) < 0:
            raise ValueError(f"{name}: var has a negative entry, expected none")
        var = _fit_variance(name, input, var)
    # Raised to eps, but with the gradient that it would have had, as in PyTorch.
    low = unwrap(var)
    var = var + (xp(low).maximum(low, eps) - low)
    loss = 0.5 * (log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss(loss, reduction)


def _fit_variance(name: str, input: Any, var: Any) -> Any:
    shape, found = array_of(name, input).shape, tuple(var.shape)
    if found == shape:
        return var
    if found == shape[:-1]:
        return var.reshape((*found, 1))
    one_for_all = len(found) == len(shape) and [
        m for n, m in zip(shape, found, strict=True) if n != m
    ] == [1]
    if one_for_all:
        return var
    raise ValueError(
        f"{name}: var has shape {found}, expected {shape}, {shape[:-1]} or {(*shape[:-1], 1)}"
    )


__all__ = ["gaussian_nll_loss", "kl_div", "poisson_nll_loss"]
