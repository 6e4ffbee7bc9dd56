"""Parametrizations: compute a module's tensor from other tensors, module.weight = f(originals).

    register_parametrization(linear, "weight", Symmetric())

moves the weight to `linear.parametrizations.weight.original`, and from then on `linear.weight` is
Symmetric()(original), recomputed at every access. The parameter stays the same object, so an
optimiser that was made before still updates it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from ..container import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter


class _Cache:
    """Values kept inside a `cached()` block, by (id of the module, name of the tensor)."""

    depth = 0
    values: dict[tuple[int, str], Tensor] = {}


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
    unsafe: do not check that the result has the shape and dtype of the original.
    """

    def __init__(self, modules: list[Module], original: Tensor, unsafe: bool = False):
        if not modules:
            raise ValueError("ParametrizationList: got no modules, expected at least one")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = tuple(original.shape), original.dtype
        values: Any = original
        with tt.no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):  # then the original stays as it is
                        values = module.right_inverse(values)
        if not isinstance(values, (Tensor, Sequence)):
            raise ValueError(
                f"register_parametrization: right_inverse returned {type(values).__name__}, "
                "expected a tensor or a sequence of tensors"
            )
        self.is_tensor = isinstance(values, Tensor)
        if isinstance(values, Tensor):
            _check_dtype("register_parametrization", values, dtype, "right_inverse returned")
            _put(original, values)
            self._register("original", original)
        else:
            for i, value in enumerate(values):
                _check_tensor("register_parametrization", value, f"right_inverse's item {i}")
                learned = isinstance(original, Parameter)
                kept = Parameter(value.detach(), original.requires_grad) if learned else value
                self._register(f"original{i}", kept)
        if not unsafe:
            result = self()
            _check_tensor("register_parametrization", result, "the parametrization's result")
            _check_dtype("register_parametrization", result, dtype, "the result has")
            _check_shape("register_parametrization", result, shape, "the result has")

    def _register(self, name: str, value: Tensor) -> None:
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
        else:
            self.register_buffer(name, value)

    @property
    def ntensors(self) -> int:
        return len(self.originals())

    def named_originals(self) -> list[tuple[str, Tensor]]:
        found = {**self._parameters, **self._buffers}
        return [(n, t) for n, t in found.items() if n.startswith("original") and t is not None]

    def originals(self) -> list[Tensor]:
        return [tensor for _, tensor in self.named_originals()]

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
            originals = self.originals()
            if self.is_tensor:
                values = [values]
            elif not isinstance(values, Sequence) or len(values) != len(originals):
                raise ValueError(
                    f"right_inverse: got {type(values).__name__}, expected a sequence of "
                    f"{len(originals)} tensors"
                )
            for own, new in zip(originals, values):
                _check_tensor("right_inverse", new, "its result")
                _check_dtype("right_inverse", new, own.dtype, "got")
            for own, new in zip(originals, values):
                _put(own, new)

    def forward(self) -> Tensor:
        first, *rest = self
        value = first(*self.originals())
        for module in rest:
            value = module(value)
        return value


def _put(own: Tensor, value: Tensor) -> None:
    """Give `own` the values, and the shape, of another tensor."""
    if value is not own:
        own.data = value.detach()


def _check_tensor(name: str, value: Any, what: str) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"{name}: {what} is a {type(value).__name__}, expected a tensor")


def _check_dtype(name: str, value: Any, dtype: Any, what: str) -> None:
    if value.dtype != dtype:
        raise ValueError(f"{name}: {what} dtype {value.dtype}, expected {dtype}")


def _check_shape(name: str, value: Any, shape: tuple, what: str) -> None:
    if tuple(value.shape) != shape:
        raise ValueError(f"{name}: {what} shape {tuple(value.shape)}, expected {shape}")


# ------------------------------------------------------------------------------------------
# The module
# ------------------------------------------------------------------------------------------


def _property(name: str) -> property:
    def get(module: Any) -> Tensor:
        if not _Cache.depth:
            return module.parametrizations[name]()
        key = (id(module), name)
        if key not in _Cache.values:
            _Cache.values[key] = module.parametrizations[name]()
        return _Cache.values[key]

    def put(module: Any, value: Tensor) -> None:
        module.parametrizations[name].right_inverse(value)

    return property(get, put)


class _NotPickled:
    """The methods of a parametrized class, which is made at run time: it cannot be pickled."""

    @staticmethod
    def getstate(module: Any) -> Any:
        raise RuntimeError(
            f"{type(module).__name__}: a parametrized module cannot be pickled; save its "
            "state_dict()"
        )

    @staticmethod
    def deepcopy(module: Any, memo: dict) -> Any:
        if id(module) in memo:
            return memo[id(module)]
        replica = memo[id(module)] = module.__new__(type(module))
        contents = {**vars(module), "_paths": (0, {})}
        vars(replica).update(copy.deepcopy(contents, memo))
        return replica


def _parametrized(base: type) -> type:
    """A class of its own for one module, which properties for its tensors are put on."""
    methods: dict[str, Any] = {"__getstate__": _NotPickled.getstate}
    if not hasattr(base, "__deepcopy__"):
        methods["__deepcopy__"] = _NotPickled.deepcopy
    return type(f"Parametrized{base.__name__}", (base,), methods)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Replace the parameter or buffer `tensor_name` by a function of the original tensor.

    A second parametrization is applied to the result of the first. unsafe: do not check that the
    function keeps the tensor's shape and dtype.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        functions = module.parametrizations[tensor_name]
        if not unsafe:
            _check_added(parametrization, getattr(module, tensor_name))
        functions.append(parametrization)
        functions.unsafe |= unsafe
        return module
    original = {**module._parameters, **module._buffers}.get(tensor_name)
    if original is None:
        raise ValueError(
            f"register_parametrization: {type(module).__name__} has no parameter or buffer "
            f"{tensor_name!r}"
        )
    functions = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.__class__ = _parametrized(type(module))
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = functions
    return module


def _check_added(parametrization: Any, value: Tensor) -> None:
    """Refuse a further parametrization that changes the shape or dtype of the tensor."""
    name, shape, dtype = "register_parametrization", tuple(value.shape), value.dtype
    result = parametrization(value)
    steps = [("the result", result)]
    if hasattr(parametrization, "right_inverse"):
        steps.append(("right_inverse's result", parametrization.right_inverse(result)))
    for what, tensor in steps:
        _check_tensor(name, tensor, what)
        _check_dtype(name, tensor, dtype, f"{what} has")
        _check_shape(name, tensor, shape, f"{what} has")


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
    kept = functions.originals()[0]
    if leave_parametrized:
        with tt.no_grad():
            value = functions()
        if functions.is_tensor:
            _put(kept, value)
        else:
            learned = isinstance(kept, Parameter)
            kept = Parameter(value, kept.requires_grad) if learned else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    if isinstance(kept, Parameter):
        module.register_parameter(tensor_name, kept)
    else:
        module.register_buffer(tensor_name, kept)
    return module


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Put the parametrizations of one module, and its originals, also on another one.

    tensor_name: only that tensor's; else those of all tensors.
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        functions = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for function in functions:
            register_parametrization(to_module, name, function)
        target = to_module.parametrizations[name]
        for key, tensor in functions.named_originals():
            setattr(target, key, tensor)
    return to_module


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]
