"""Weights as parametrizations: `weight_norm` and `spectral_norm`; `orthogonal` has its own file."""

from __future__ import annotations

from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from ..module import Module
from .orthogonal import orthogonal
from .parametrize import register_parametrization
from .weight_norms import adjoint, first_dim_matrix, norm_except_dim, power_iteration, unit_vector


class _WeightNorm(Module):
    """w = g·v / ‖v‖, the norm over all dimensions but `dim`"""

    def __init__(self, dim: int | None = 0):
        super().__init__()
        self.dim = None if dim == -1 else dim  # −1 means all dimensions, as in PyTorch

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn a weight's norm g and direction v separately: w = g·v / ‖v‖.

    dim: the dimension of the outputs, each with its own norm; None: one norm for all.
    The parameters are `parametrizations.weight.original0` (g) and `.original1` (v).
    """
    register_parametrization(module, name, _WeightNorm(dim))
    module._register_load_state_dict_pre_hook(_OldKeys(name))
    return module


class _OldKeys:
    """A load hook: states of the older weight_norm have the keys weight_g and weight_v."""

    def __init__(self, name: str):
        self.name = name

    def __call__(self, state_dict: dict, prefix: str, *_: Any) -> None:
        for number, letter in enumerate("gv"):
            old = f"{prefix}{self.name}_{letter}"
            if old in state_dict:
                new = f"{prefix}parametrizations.{self.name}.original{number}"
                state_dict[new] = state_dict.pop(old)


class _SpectralNorm(Module):
    """w = v / σ, σ the largest singular value, estimated by power iteration while training"""

    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float):
        super().__init__()
        if n_power_iterations < 1:
            raise ValueError(
                f"spectral_norm: got n_power_iterations={n_power_iterations}, expected at least 1"
            )
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"spectral_norm: got dim {dim} for a weight of {weight.ndim} dimensions"
            )
        self.dim, self.eps, self.n_power_iterations = dim % weight.ndim, eps, n_power_iterations
        matrix = first_dim_matrix(weight.detach(), dim)
        self.register_buffer("_u", unit_vector(matrix, matrix.shape[0], eps))
        self.register_buffer("_v", unit_vector(matrix, matrix.shape[1], eps))
        self._iterate(matrix, 15)

    def _iterate(self, matrix: Tensor, steps: int) -> None:
        """Update first u, then v, as PyTorch does here; the older spectral_norm starts with v."""
        power_iteration(adjoint(matrix), self._v, self._u, steps, self.eps)

    def forward(self, weight: Tensor) -> Tensor:
        matrix = first_dim_matrix(weight, self.dim)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # a later forward changes them in place
        return weight / tt.vdot(u, tt.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: Any = None,
) -> Module:  # fmt: skip
    """Divide a weight by its largest singular value, so that it lengthens no vector.

    dim: the dimension that becomes the rows of the matrix (1 for ConvTranspose, else 0).
    """
    weight = getattr(module, name)
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, dim, eps)
    )


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
