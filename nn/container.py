"""Containers of modules, and modules that only pass on or reshape their input."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from tinytensor.autograd.site import warn
from tinytensor.tensor import Tensor

from .module import Module

__all__ = [
    "Container", "Flatten", "Identity", "ModuleDict", "ModuleList", "Sequential", "Unflatten",
]  # fmt: skip


class Container(Module):
    """A module with the given modules as children; PyTorch's older form, for which it warns."""

    def __init__(self, **kwargs: Any):
        super().__init__()
        warn("nn.Container is deprecated: all of its functions are in nn.Module", FutureWarning)
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """A list of modules, registered as children "0", "1", …"""

    def _key(self, index: Any) -> str:
        keys = list(self._modules)
        index = operator.index(index)
        if not -len(keys) <= index < len(keys):
            raise IndexError(
                f"{type(self).__name__}: index {index} is out of range for {len(keys)} modules"
            )
        return keys[index]

    def _refill(self, modules: Iterable[Module]) -> None:
        """Replace the contents by these modules, numbered from 0."""
        modules = list(modules)
        self._modules.clear()
        for module in modules:
            self.append(module)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._part(index)
        return self._modules[self._key(index)]

    def _part(self, index: slice) -> Any:
        """A container of the same class with a slice of the modules."""
        return type(self)().extend(list(self)[index])

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        if not isinstance(index, slice):
            self._key(index)
        del modules[index]
        self._refill(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend: got {type(modules).__name__}, expected an iterable "
                "of modules"
            )
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before the one at index."""
        if not isinstance(module, Module):
            raise AssertionError(
                f"{type(self).__name__}.insert: got {type(module).__name__}, expected a Module"
            )
        if not -len(self) <= index <= len(self):
            raise IndexError(
                f"{type(self).__name__}: index {index} is out of range for {len(self)} modules"
            )
        modules = list(self)
        modules.insert(index, module)
        self._refill(modules)
        return self

    def pop(self, key: Any) -> Any:
        """Remove and return a module, or a slice of them."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Numbered):
    """y = fₙ(… f₂(f₁(x)))

    Takes modules, which are numbered, or one OrderedDict of modules, which keep their names.
    """

    def __init__(self, *args: Any):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input

    def _part(self, index: slice) -> Any:
        return type(self)(OrderedDict(list(self._modules.items())[index]))  # keeps the names

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential().extend(self).extend(self._checked(other))

    def __iadd__(self, other: Sequential) -> Sequential:
        return self.extend(self._checked(other))

    def __mul__(self, times: int) -> Sequential:
        """A Sequential that repeats the same modules, with shared parameters."""
        combined = Sequential()
        for _ in range(self._checked_times(times)):
            combined.extend(self)
        return combined

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Sequential:
        once = list(self)
        for _ in range(self._checked_times(times) - 1):
            self.extend(once)
        return self

    @staticmethod
    def _checked(other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"Sequential: got {type(other).__name__} to add, expected Sequential")
        return other

    @staticmethod
    def _checked_times(times: Any) -> int:
        if not isinstance(times, int):
            raise TypeError(f"Sequential: got {type(times).__name__} as a factor, expected int")
        if times <= 0:
            raise ValueError(f"Sequential: got the factor {times}, expected 1 or more")
        return times


class ModuleList(_Numbered):
    """A list of registered modules. It has no forward: call the modules themselves."""

    def __init__(self, modules: Iterable[Module] | None = None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(self).extend(other)

    def __iadd__(self, other: Iterable[Module]) -> ModuleList:
        return self.extend(other)

    def __repr__(self) -> str:
        """List the modules, with equal neighbours on one line: "(0-5): 6 x Block(…)"."""
        texts = [repr(module) for module in self]
        if not texts:
            return f"{self._get_name()}()"
        lines = []
        start = 0
        for end in range(1, len(texts) + 1):
            if end < len(texts) and texts[end] == texts[start]:
                continue
            count = end - start
            numbers = f"{start}-{end - 1}): {count} x " if count > 1 else f"{start}): "
            lines += f"({numbers}{texts[start]}".split("\n")
            start = end
        body = "\n".join(f"  {line}" for line in lines)
        return f"{self._get_name()}(\n{body}\n)"


def pairs_of(name: str, source: Any) -> list[tuple[str, Any]]:
    """The (key, value) pairs of a mapping, or of an iterable of pairs."""
    if hasattr(source, "items"):
        return list(source.items())
    if not isinstance(source, Iterable):
        raise TypeError(
            f"{name}.update: got {type(source).__name__}, expected a mapping or an iterable of "
            "(key, value) pairs"
        )
    pairs = [tuple(pair) for pair in source]
    wrong = next((pair for pair in pairs if len(pair) != 2), None)
    if wrong is not None:
        raise ValueError(f"{name}.update: got {len(wrong)} values, expected a key and a value")
    return pairs


class ModuleDict(Module):
    """A dict of modules, registered under its keys. It has no forward."""

    def __init__(self, modules: Any = None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        self._modules.clear()

    def pop(self, key: str) -> Any:
        return self._modules.pop(key)

    def keys(self) -> Any:
        return self._modules.keys()

    def items(self) -> Any:
        return self._modules.items()

    def values(self) -> Any:
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping, or of an iterable of (key, module) pairs."""
        for key, module in pairs_of("ModuleDict", modules):
            self[key] = module


# ------------------------------------------------------------------------------------------
# Identity and reshaping
# ------------------------------------------------------------------------------------------


class Identity(Module):
    """y = x; the constructor ignores its arguments."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Flatten(Module):
    """Merge dimensions start_dim to end_dim: (N, C, H, W) → (N, C·H·W) by default."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split dimension dim into unflattened_size: (…, C·H·W, …) → (…, C, H, W, …)."""

    def __init__(self, dim: int, unflattened_size: Any):
        super().__init__()
        sizes = unflattened_size
        if not isinstance(sizes, (tuple, list)) or not all(isinstance(n, int) for n in sizes):
            raise TypeError(f"Unflatten: unflattened_size is {sizes!r}, expected a tuple of ints")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
