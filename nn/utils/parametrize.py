"""Parametrizations: compute a module's tensor from other tensors, module.weight = f(originals).

    register_parametrization(linear, "weight", Symmetric())

moves the weight to `linear.parametrizations.weight.original`, and from then on `linear.weight` is
Symmetric()(original), recomputed at every access.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from ..container import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter


class _Cache:
    """Values kept inside a `cached()` block, by the id of their ParametrizationList."""

    depth = 0
    values: dict[int, Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """A block in which each parametrized tensor is computed at most once."""
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.values = {}


class ParametrizationList(ModuleList):
    """The functions that compute one tensor, in order, and the tensors that they start from.

    These are `original`, or `original0`, `original1`, … if right_inverse returns several.
    """

    def __init__(self, modules: list[Module], original: Tensor):
        super().__init__(modules)
        values: Any = original
        with tt.no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    values = module.right_inverse(values)
        self.is_tensor = isinstance(values, Tensor)
        learned = isinstance(original, Parameter)
        for name, value in zip(self.names(values), [values] if self.is_tensor else values):
            if learned:
                data = original.data if value is original else value.detach()
                self.register_parameter(name, Parameter(data, original.requires_grad))
            else:
                self.register_buffer(name, value)

    def names(self, values: Any) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(len(values))]

    def originals(self) -> list[Tensor]:
        found = {**self._parameters, **self._buffers}
        return [
            tensor
            for name, tensor in found.items()
            if name.startswith("original") and tensor is not None
        ]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes value."""
        values: Any = value
        with tt.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"{type(module).__name__}: a parametrized tensor was set, expected a "
                        "method right_inverse that computes the original"
                    )
                values = module.right_inverse(values)
            for own, new in zip(self.originals(), [values] if self.is_tensor else values):
                own.copy_(new)

    def forward(self) -> Tensor:
        if _Cache.depth and id(self) in _Cache.values:
            return _Cache.values[id(self)]
        first, *rest = self
        value = first(*self.originals())
        for module in rest:
            value = module(value)
        if _Cache.depth:
            _Cache.values[id(self)] = value
        return value


def _property(name: str) -> property:
    def get(module: Any) -> Tensor:
        return module.parametrizations[name]()

    def put(module: Any, value: Tensor) -> None:
        module.parametrizations[name].right_inverse(value)

    return property(get, put)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Replace the parameter or buffer `tensor_name` by a function of the original tensor.

    A second parametrization is applied to the result of the first. unsafe has no effect.
    """
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].append(parametrization)
        return module
    original = {**module._parameters, **module._buffers}.get(tensor_name)
    if original is None:
        raise ValueError(
            f"register_parametrization: {type(module).__name__} has no parameter or buffer "
            f"{tensor_name!r}"
        )
    functions = ParametrizationList([parametrization], original)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        base = type(module)
        module.__class__ = type(f"Parametrized{base.__name__}", (base,), {})
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = functions
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module, or its tensor of that name, is parametrized."""
    functions = module._modules.get("parametrizations")
    if not isinstance(functions, ModuleDict):
        return False
    return len(functions) > 0 if tensor_name is None else tensor_name in functions


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before it was parametrized; its class if it never was."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make the tensor an ordinary one again, with its current value or the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"remove_parametrizations: {type(module).__name__} has no parametrized {tensor_name!r}"
        )
    functions = module.parametrizations[tensor_name]
    if not leave_parametrized and not functions.is_tensor:
        raise ValueError(
            f"remove_parametrizations: {tensor_name!r} has several originals, expected "
            "leave_parametrized=True"
        )
    with tt.no_grad():
        value = functions() if leave_parametrized else functions.original
    original = functions.originals()[0]
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, Parameter(value.detach(), original.requires_grad))
    else:
        module.register_buffer(tensor_name, value.detach())
    return module


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "type_before_parametrizations",
]
