"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import tinytensor as tt
from tinytensor.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other: (N)."""
    return tt.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the parameters to consecutive elements of vec (N)."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters: got {type(vec).__name__}, expected a Tensor")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].reshape(parameter.shape).data  # (n) → parameter's shape
        start = end
