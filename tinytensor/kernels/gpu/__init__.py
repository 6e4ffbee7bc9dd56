"""Kernels for arrays on a GPU, written in a line or two of CUDA C each and compiled by CuPy.

An op's own version launches one kernel for each step of its equation, and each one reads and writes
the whole array. Here an elementwise equation is one launch. The functions have the names and
arguments of those in `tinytensor/kernels/<module>.py`. Ops without a kernel here run their own
version: CuPy's products, sums and maxima are already fast.

    activation.py     gelu, silu
    adam.py           a step of Adam
    cross_entropy.py  the gradient of cross_entropy
    layer_norm.py     layer_norm and rms_norm

In the code of a kernel, T is the type of the arrays, and arrays broadcast against each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ... import devices


def elementwise(name: str, inputs: str, outputs: str, code: str) -> Callable:
    """Return a kernel that runs `code` for each element: kernel(inputs …[, outputs …]).

    inputs and outputs are declarations such as "T x, T g".
    """

    def run(*args: Any) -> Any:
        return _elementwise(devices.gpu(), inputs, outputs, code, f"tinytensor_{name}")(*args)

    return run


def sum_of(name: str, inputs: str, code: str) -> Callable:
    """Return a kernel for Σ `code` over axes, with keepdims: kernel(inputs …, axis=(…))."""

    def run(*args: Any, axis: tuple) -> Any:
        kernel = _sum_of(devices.gpu(), inputs, code, f"tinytensor_{name}")
        return kernel(*args, axis=axis, keepdims=True)

    return run


# CuPy compiles a kernel at its first use and caches it on disk.


@functools.cache
def _elementwise(cupy: Any, inputs: str, outputs: str, code: str, name: str) -> Any:
    return cupy.ElementwiseKernel(inputs, outputs, code, name)


@functools.cache
def _sum_of(cupy: Any, inputs: str, code: str, name: str) -> Any:
    return cupy.ReductionKernel(inputs, "T y", code, "a + b", "y = a", "0", name)
