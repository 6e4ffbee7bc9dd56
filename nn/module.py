"""Module: a part of a network, with its parameters, buffers and submodules.

Attributes that are Parameters, Buffers or Modules are registered in order, so that a network can be
listed, saved, moved and trained as a whole. Calling a module runs its `forward`, and every op
recorded during the call carries the module's path ("GPT.blocks.0.attn").
"""

from __future__ import annotations

import difflib
import weakref
from collections.abc import Iterator
from typing import Any

from tinytensor.autograd.mode import state
from tinytensor.sparse.tensor import SparseTensor
from tinytensor.tensor import Tensor
from tinytensor.text import one_line

from .global_hooks import as_registered, registered
from .module_hooks import ModuleHooks, call_with_hooks, everywhere
from .module_state import ModuleState
from .parameter import Buffer, Parameter


class _Registrations:
    """Counts registrations of child modules: cached paths are stale when the count has changed."""

    count = 0


# Weak references to the modules that were called from outside any module, by id. `graph.trace`
# takes the parameters' names from them. A plain dict, as every call of a module looks into it.
outermost: dict[int, weakref.ref[Module]] = {}


def note_outermost(module: Module) -> None:
    """Put a module into `outermost` until it is freed."""
    key = id(module)
    outermost[key] = weakref.ref(module, lambda _: outermost.pop(key, None))


class MissingAttribute(AttributeError):
    """AttributeError that builds its message only when read: hasattr discards it unread.

    Searching for a similar name takes a thousand times as long as the failed lookup.
    """

    def __init__(self, module: Module, attribute: str):
        super().__init__()
        self.module, self.attribute = module, attribute

    def __str__(self) -> str:
        text = f"{type(self.module).__name__!r} object has no attribute {self.attribute!r}"
        close = difflib.get_close_matches(self.attribute, dir(self.module), n=1)
        return f"{text}; did you mean {close[0]!r}?" if close else text


class Module(ModuleState, ModuleHooks):
    """Base class of all modules: create the parts in `__init__`, define `forward`."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    call_super_init = False  # True: __init__ passes its arguments on to the next base class

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            raise TypeError(
                f"{type(self).__name__}: Module.__init__ got {len(args) + len(kwargs)} arguments, "
                "expected none; set call_super_init = True to pass them on"
            )
        set_attribute = super().__setattr__
        set_attribute("training", True)
        set_attribute("_parameters", {})
        set_attribute("_buffers", {})
        set_attribute("_modules", {})
        set_attribute("_transient", set())  # names of buffers that are not saved
        set_attribute("_hooks", None)
        set_attribute("_paths", (0, {}))
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; every subclass defines its own."""
        raise NotImplementedError(f"{type(self).__name__}: forward is not implemented")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and the hooks around it, under this module's path in the graph."""
        mode = state.mode
        caller, scope = mode.call, mode.scope
        path = self._path_below(caller and caller[0], scope)
        mode.call, mode.scope = (self, path, caller), path
        try:
            if self._hooks is None and not everywhere.active:
                return self.forward(*args, **kwargs)
            return call_with_hooks(self, args, kwargs)
        except Exception as error:
            if mode.recording is not None:  # a recording shows which module raised
                vars(error).setdefault("_module_call", mode.call)
            raise
        finally:
            mode.call, mode.scope = caller, scope

    def _path_below(self, caller: Module | None, scope: str) -> str:
        """The path of this module when called by `caller`, whose own path is `scope`."""
        name = type(self).__name__
        if caller is None:
            if id(self) not in outermost:
                note_outermost(self)
        else:
            count, names = caller._paths
            if count != _Registrations.count:
                # Reversed, so that a module with several names keeps the first.
                callees = reversed(list(caller._callees()))
                names = {id(module): path for path, module in callees}
                object.__setattr__(caller, "_paths", (_Registrations.count, names))
            name = names.get(id(self)) or caller._path_to(self)
        return f"{scope}.{name}" if scope else name

    def _path_to(self, callee: Module) -> str:
        """The path of `callee` in this module, or its class name if it is not registered here."""
        paths = (path for path, module in self.named_modules() if module is callee)
        return next(paths, "") or type(callee).__name__

    def _callees(self) -> Iterator[tuple[str, Module]]:
        """Children by name; for containers without a forward, also their contents, by path."""
        stack = [(name, child) for name, child in reversed(self._modules.items())]
        while stack:
            path, child = stack.pop()
            if child is None:
                continue
            yield path, child
            if type(child).forward is Module.forward:
                inner = reversed(child._modules.items())
                stack += [(f"{path}.{name}", module) for name, module in inner]

    # --------------------------------------------------------------------------------------
    # Attributes
    # --------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        registers = self.__dict__.get("_parameters") is not None
        if isinstance(value, (Parameter, Module, Buffer)) and not registers:
            raise AttributeError(
                f"{type(self).__name__}: {name!r} is set before super().__init__() was called; "
                "call it first in __init__"
            )
        if isinstance(value, Parameter):
            self._make_room(name, self._parameters)
            self._parameters[name] = as_registered(registered.parameter, self, name, value)
        elif registers and name in self._parameters:
            self._parameters[name] = self._only_none(name, value, "Parameter")
        elif isinstance(value, Module):
            self._make_room(name, self._modules)
            self._modules[name] = as_registered(registered.module, self, name, value)
            _Registrations.count += 1
        elif registers and name in self._modules:
            self._modules[name] = self._only_none(name, value, "Module")
        elif isinstance(value, Buffer):
            self._make_room(name, self._buffers)
            persistent = () if value.persistent else (False,)  # an override may lack the argument
            self.register_buffer(name, value, *persistent)
        elif registers and name in self._buffers:
            known = isinstance(value, (Tensor, SparseTensor))
            value = value if known else self._only_none(name, value, "Tensor")
            self._buffers[name] = as_registered(registered.buffer, self, name, value)
        else:
            super().__setattr__(name, value)

    def _only_none(self, name: str, value: Any, kind: str) -> Any:
        """Return None; refuse any other value for a name that is registered as a `kind`."""
        if value is not None:
            raise TypeError(
                f"{type(self).__name__}.{name}: got {type(value).__name__}, expected a {kind} or "
                "None, because it is registered as one"
            )
        return value

    def __getattr__(self, name: str) -> Any:
        registries = self.__dict__  # the names in them are not attributes in the usual sense
        if "_parameters" in registries:
            if name in registries["_parameters"]:
                return registries["_parameters"][name]
            if name in registries["_modules"]:
                return registries["_modules"][name]
            if name in registries["_buffers"]:
                return registries["_buffers"][name]
        raise MissingAttribute(self, name)

    def __delattr__(self, name: str) -> None:
        for registry in (self._parameters, self._buffers, self._modules):
            if name in registry:
                del registry[name]
                self._transient.discard(name)
                return
        super().__delattr__(name)

    def _make_room(self, name: str, registry: dict) -> None:
        """Drop `name` from everywhere but the registry that is about to hold it.

        In that registry it keeps its position: a tied weight stays the first of its layer.
        """
        self.__dict__.pop(name, None)
        for other in (self._parameters, self._buffers, self._modules):
            if other is not registry and name in other:
                del other[name]
                self._transient.discard(name)

    def __getstate__(self) -> dict[str, Any]:
        """For deepcopy and pickle: drop the cached paths, whose keys are the ids of modules."""
        return {**self.__dict__, "_paths": (0, {})}

    def __dir__(self) -> list[str]:
        names = set(object.__dir__(self))
        for registry in ("_parameters", "_buffers", "_modules"):
            names.update(self.__dict__.get(registry, ()))
        return sorted(names)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None reserves the name without a parameter."""
        self._check_name(name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"{type(self).__name__}: parameter {name!r} is a {type(param).__name__}, expected "
                "a Parameter or None"
            )
        if param is not None:
            param = as_registered(registered.parameter, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not learned, but moved and (if persistent) saved with the module."""
        self._check_name(name, "_buffers")
        if tensor is not None and not isinstance(tensor, (Tensor, SparseTensor)):
            raise TypeError(
                f"{type(self).__name__}: buffer {name!r} is a {type(tensor).__name__}, expected "
                "a Tensor or None"
            )
        self._buffers[name] = as_registered(registered.buffer, self, name, tensor)
        if persistent:
            self._transient.discard(name)
        else:
            self._transient.add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a child module under a name."""
        self._check_name(name, "_modules")
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"{type(self).__name__}: module {name!r} is a {type(module).__name__}, expected "
                "a Module or None"
            )
        self._modules[name] = as_registered(registered.module, self, name, module)
        _Registrations.count += 1

    add_module = register_module

    def _check_name(self, name: str, registry: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}: {name!r} is registered before super().__init__() was "
                "called; call it first in __init__"
            )
        if not isinstance(name, str):
            raise TypeError(
                f"{type(self).__name__}: got the name {name!r}, expected a string without a dot"
            )
        if "." in name or name == "":
            raise KeyError(
                f"{type(self).__name__}: got the name {name!r}, expected a non-empty string "
                "without a dot"
            )
        if name not in self.__dict__[registry] and hasattr(self, name):
            raise KeyError(f"{type(self).__name__}: attribute {name!r} already exists")

    # --------------------------------------------------------------------------------------
    # Contents
    # --------------------------------------------------------------------------------------

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all its descendants, each with its path, parents first."""
        seen = set() if memo is None else memo
        stack: list[tuple[str, Module | None]] = [(prefix, self)]
        while stack:
            path, module = stack.pop()
            if module is None or (remove_duplicate and module in seen):
                continue
            seen.add(module)
            yield path, module
            for name, child in reversed(module._modules.items()):
                stack.append((f"{path}.{name}" if path else name, child))

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct children, with their names."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        for _, child in self.named_children():
            yield child

    def _named(
        self, registry: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        """Parameters or buffers with their paths; remove_duplicate: a shared one only once."""
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules if recurse else [(prefix, self)]:
            for name, tensor in getattr(module, registry).items():
                if tensor is None or (remove_duplicate and id(tensor) in seen):
                    continue
                seen.add(id(tensor))
                yield f"{path}.{name}" if path else name, tensor

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with their paths, in the order in which they were set."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """The module at a path such as "blocks.0.attn"."""
        module: Module = self
        for name in target.split(".") if target else ():
            child = module._modules.get(name)
            if child is None:
                raise AttributeError(
                    f"get_submodule: {type(module).__name__} has no module {name!r} (of {target!r})"
                )
            module = child
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a path such as "blocks.0.attn"; with strict, only in place of another."""
        if not target:
            raise ValueError("set_submodule: got no target, expected a path such as 'blocks.0'")
        if not isinstance(module, Module):
            raise ValueError(f"set_submodule: got {type(module).__name__}, expected a Module")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and name not in parent._modules:
            raise AttributeError(f"set_submodule: there is no module {target!r}, and strict=True")
        if name not in parent._modules and hasattr(parent, name):
            raise AttributeError(f"set_submodule: {target!r} is there already, and not a Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as "blocks.0.attn.weight"."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._parameters.get(name)
        if found is None:
            raise AttributeError(f"get_parameter: there is no parameter {target!r}")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._buffers.get(name)
        if found is None:
            raise AttributeError(f"get_buffer: there is no buffer {target!r}")
        return found

    # --------------------------------------------------------------------------------------
    # Text
    # --------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """The text in the parentheses of the repr; subclasses return their settings."""
        return ""

    def _get_name(self) -> str:
        return one_line(type(self).__name__)

    def __repr__(self) -> str:
        settings = self.extra_repr()
        children = [f"({one_line(name)}): {child!r}" for name, child in self._modules.items()]
        if not children and "\n" not in settings:
            return f"{self._get_name()}({settings})"
        lines = ([settings] if settings else []) + children
        indented = "\n".join("  " + line for text in lines for line in text.split("\n"))
        return f"{self._get_name()}(\n{indented}\n)"
