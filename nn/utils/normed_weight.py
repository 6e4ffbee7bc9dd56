"""`weight_norm` and `spectral_norm` in their older form, with the keys that older checkpoints have.

The weight is computed by a hook before every forward. parametrizations.py has the newer form.
"""

from __future__ import annotations

from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from ..module import Module
from ..parameter import Parameter
from .weight_norms import first_dim_matrix, norm_except_dim, power_iteration, unit_vector


class _ComputedWeight:
    """A hook that sets module.name to compute(module) before forward."""

    what: str

    def __init__(self, name: str):
        self.name = name

    def compute(self, module: Module) -> Tensor:
        raise NotImplementedError

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute(module))

    def put_in(self, module: Module) -> None:
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, _ComputedWeight) and hook.name == self.name:
                raise RuntimeError(
                    f"{self.what}: {type(module).__name__}.{self.name} is already computed by a "
                    "hook, expected at most one"
                )
        module.register_forward_pre_hook(self)

    @classmethod
    def take_out(cls, module: Module, name: str) -> _ComputedWeight:
        before = module._forward_pre_hooks
        for key, hook in list(before.items()):
            if isinstance(hook, cls) and hook.name == name:
                del before[key]
                return hook
        raise ValueError(f"remove_{cls.what}: got {name!r}, expected a name under {cls.what}")


class WeightNorm(_ComputedWeight):
    """w = g·v / ‖v‖, the norm over all dimensions but `dim`"""

    what = "weight_norm"

    def __init__(self, name: str, dim: int | None):
        super().__init__(name)
        self.dim = dim

    def compute(self, module: Module) -> Tensor:
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / norm_except_dim(v, self.dim))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn a weight's norm, `weight_g`, and direction, `weight_v`, separately: w = g·v / ‖v‖.

    dim: the dimension of the outputs, each with its own norm; None: one norm for all.
    """
    hook = WeightNorm(name, None if dim == -1 else dim)
    hook.put_in(module)
    weight = getattr(module, name)
    delattr(module, name)
    with tt.no_grad():
        size = norm_except_dim(weight, hook.dim)
    module.register_parameter(name + "_g", Parameter(size))
    module.register_parameter(name + "_v", Parameter(weight.data))
    setattr(module, name, hook.compute(module))
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight an ordinary parameter again, with its current value."""
    hook = WeightNorm.take_out(module, name)
    weight = hook.compute(module).detach()
    for part in (name, name + "_g", name + "_v"):
        delattr(module, part)
    setattr(module, name, Parameter(weight))
    return module


class SpectralNorm(_ComputedWeight):
    """w = v / σ, σ the largest singular value, estimated by power iteration while training"""

    what = "spectral_norm"

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float):
        super().__init__(name)
        self.n_power_iterations, self.dim, self.eps = n_power_iterations, dim, eps

    def compute(self, module: Module, iterate: bool | None = None) -> Tensor:
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = first_dim_matrix(weight, self.dim)
        if module.training if iterate is None else iterate:
            power_iteration(matrix, u, v, self.n_power_iterations, self.eps)
            u, v = u.clone(), v.clone()  # a later forward changes them in place
        return weight / tt.dot(u, tt.mv(matrix, v))


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: Any = None,
) -> Module:  # fmt: skip
    """Divide a weight by its largest singular value; the parameter is then `weight_orig`.

    dim: the dimension that becomes the rows of the matrix (1 for ConvTranspose, else 0).
    """
    if n_power_iterations < 1:
        raise ValueError(
            f"spectral_norm: got n_power_iterations={n_power_iterations}, expected at least 1"
        )
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    hook.put_in(module)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"spectral_norm: {type(module).__name__}.{name} is None")
    delattr(module, name)
    matrix = first_dim_matrix(weight.detach(), dim)
    module.register_parameter(name + "_orig", weight)
    module.register_buffer(name + "_u", unit_vector(matrix, matrix.shape[0], eps))
    module.register_buffer(name + "_v", unit_vector(matrix, matrix.shape[1], eps))
    setattr(module, name, weight.data)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight an ordinary parameter again, with its current value."""
    hook = SpectralNorm.take_out(module, name)
    assert isinstance(hook, SpectralNorm)
    weight = hook.compute(module, iterate=False).detach()
    for part in (name, name + "_orig", name + "_u", name + "_v"):
        delattr(module, part)
    setattr(module, name, Parameter(weight))
    return module
