"""state_dict and load_state_dict, module by module, with PyTorch's hooks around both.

`state_dict` calls `_save_to_state_dict` of each module, `load_state_dict` calls
`_load_from_state_dict`; a subclass may override either, or register hooks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import tinytensor as tt
from tinytensor.autograd.hooks import RemovableHandle
from tinytensor.sparse.tensor import SparseTensor
from tinytensor.tensor import Tensor

from .parameter import is_lazy

EXTRA = "_extra_state"  # the key of what get_extra_state returns


class IncompatibleKeys(NamedTuple):
    """What load_state_dict(strict=False) could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        lists = f"missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys}"
        return f"IncompatibleKeys({lists})"


class Problems(list):
    """The error messages of a load, with what to write if there are none: all or nothing."""

    def __init__(self, assign: bool):
        super().__init__()
        self.assign = assign
        self.misshapen: list[str] = []
        self.writes: list[Callable] = []


class StateHooks:
    """Hooks around state_dict and load_state_dict, in order, by the id of their handle."""

    def __init__(self) -> None:
        self.before_save: dict = {}
        self.after_save: dict = {}
        self.before_load: dict = {}
        self.after_load: dict = {}


class StateDict:
    """The part of Module that saves and loads parameters and buffers."""

    _parameters: dict
    _buffers: dict
    _modules: dict
    _transient: set
    _state_hooks: StateHooks | None = None
    _version: int = 1  # of what the class saves; kept in state_dict()._metadata

    def _add_state_hook(self, kind: str, hook: Any) -> RemovableHandle:
        if self._state_hooks is None:
            object.__setattr__(self, "_state_hooks", StateHooks())
        hooks = getattr(self._state_hooks, kind)
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle

    def _hooks_of(self, kind: str) -> list:
        hooks = self._state_hooks
        return [] if hooks is None else list(getattr(hooks, kind).values())

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, prefix, keep_vars) before state_dict reads the module."""
        return self._add_state_hook("before_save", hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata) after; it may change the dict."""
        return self._add_state_hook("after_save", (hook, False))

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        """As register_state_dict_post_hook, but the hook may also return another dict."""
        return self._add_state_hook("after_save", (hook, True))

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, …) before loading; it may change the dict."""
        return self._register_load_state_dict_pre_hook(hook, True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable, with_module: bool = False
    ) -> RemovableHandle:
        return self._add_state_hook("before_load", (hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call hook(module, incompatible_keys) after loading; it may change the two lists."""
        return self._add_state_hook("after_load", hook)

    def get_extra_state(self) -> Any:
        """What to save besides parameters and buffers; override it with set_extra_state."""
        raise RuntimeError(f"{type(self).__name__}: get_extra_state is not implemented")

    def set_extra_state(self, state: Any) -> None:
        """Take back what get_extra_state returned."""
        raise RuntimeError(f"{type(self).__name__}: set_extra_state is not implemented")

    # --------------------------------------------------------------------------------------
    # Saving
    # --------------------------------------------------------------------------------------

    def _own_state(self) -> Iterator[tuple[str, Tensor]]:
        """The module's own parameters and saved buffers, by name."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                yield name, parameter
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._transient:
                yield name, buffer

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """{path: tensor} of all parameters and saved buffers; the tensors share memory."""
        state: Any = destination
        if destination is None:
            state = OrderedDict()
            state._metadata = OrderedDict()
        local = {"version": self._version}
        if hasattr(state, "_metadata"):
            state._metadata[prefix[:-1]] = local
        for hook in self._hooks_of("before_save"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(state, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook, may_replace in self._hooks_of("after_save"):
            result = hook(self, state, prefix, local)
            if result is not None and not may_replace:
                raise RuntimeError(
                    f"state_dict: a post-hook returned {type(result).__name__}, expected None"
                )
            state = state if result is None else result
        return state

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put the module's own tensors into `destination`, without those of its children."""
        for name, tensor in self._own_state():
            whole = keep_vars or is_lazy(tensor)
            destination[prefix + name] = tensor if whole else tensor.detach()
        if type(self).get_extra_state is not StateDict.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    # --------------------------------------------------------------------------------------
    # Loading
    # --------------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values in by path; they may be tensors, NumPy arrays or another library's tensors.

        strict: the paths must match exactly. One error lists all mismatches, and then nothing is
        changed (unless a post-hook, which sees the loaded module, is registered). assign: use the
        given tensors themselves, not copies. Parameters of lazy modules take the shapes of the
        values.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"load_state_dict: got {type(state_dict).__name__}, expected a dict of tensors"
            )
        keys = IncompatibleKeys([], [])
        problems = Problems(assign)
        metadata = getattr(state_dict, "_metadata", {})
        after: list[tuple] = []  # post-hooks, those of children first
        self._load_below(OrderedDict(state_dict), "", metadata, keys, problems, after)
        if problems or problems.misshapen or not after:
            self._raise(problems, keys, strict)
        with tt.no_grad():
            for write in problems.writes:
                write()
        for module, hook in after:
            if hook(module, keys) is not None:
                raise AssertionError(
                    "load_state_dict: a post-hook returned a value, expected None; change the "
                    "lists of its second argument in place"
                )
        self._raise(problems, keys, strict)
        return keys

    def _load_below(
        self, state: dict, prefix: str, metadata: Mapping, keys: IncompatibleKeys,
        problems: Problems, after: list,
    ) -> None:  # fmt: skip
        """Load this module and those in it; each gets the part of the dict below its prefix."""
        local = dict(metadata.get(prefix[:-1], {}))
        if problems.assign:
            local["assign_to_params_buffers"] = True
        missing, unexpected = keys
        self._load_from_state_dict(state, prefix, local, True, missing, unexpected, problems)
        for name, module in self._modules.items():
            if module is not None:
                start = f"{prefix}{name}."
                part = {key: value for key, value in state.items() if key.startswith(start)}
                module._load_below(part, start, metadata, keys, problems, after)
        after += [(self, hook) for hook in self._hooks_of("after_load")]

    def _load_from_state_dict(
        self, state_dict: dict, prefix: str, local_metadata: dict, strict: bool,
        missing_keys: list, unexpected_keys: list, error_msgs: list,
    ) -> None:  # fmt: skip
        """Load the module's own tensors, not those of its children, and report in the lists.

        Within load_state_dict values are written when all modules were checked.
        """
        arguments = (state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys)
        for hook, with_module in self._hooks_of("before_load"):
            hook(*((self,) if with_module else ()), *arguments, error_msgs)
        within = isinstance(error_msgs, Problems)
        problems: Problems = error_msgs if within else Problems(False)  # type: ignore[assignment]
        own = dict(self._own_state())
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                sparse = isinstance(tensor, SparseTensor)
                put = partial(self._buffers.__setitem__, name) if sparse else None
                _schedule(key, tensor, _as_array(state_dict[key]), problems, put)
            else:
                missing_keys.append(key)
        takes_extra = type(self).set_extra_state is not StateDict.set_extra_state
        if takes_extra and prefix + EXTRA in state_dict:
            problems.writes.append(partial(self.set_extra_state, state_dict[prefix + EXTRA]))
        elif takes_extra:
            missing_keys.append(prefix + EXTRA)
        if strict:
            for key in state_dict:
                name, dot, _ = key.removeprefix(prefix).partition(".")
                known = name in self._modules if dot else name in own
                if key.startswith(prefix) and not known and not (takes_extra and name == EXTRA):
                    unexpected_keys.append(key)
        if not within:
            error_msgs += problems.misshapen
            with tt.no_grad():
                for write in problems.writes:
                    write()

    def _raise(self, problems: Problems, keys: IncompatibleKeys, strict: bool) -> None:
        texts = [f"misshapen: {', '.join(problems.misshapen)}"] if problems.misshapen else []
        texts += map(str, problems)
        if strict:
            texts += [f"missing: {', '.join(keys[0])}"] if keys[0] else []
            texts += [f"unexpected: {', '.join(keys[1])}"] if keys[1] else []
        if texts:
            raise RuntimeError(
                f"load_state_dict: does not fit {type(self).__name__}; {'; '.join(texts)}"
            )


def _schedule(
    key: str, own: Any, value: Any, problems: Problems, put: Callable | None = None
) -> None:
    """Note that `value` is to be written into `own`, or that it does not fit.

    put: replaces a sparse tensor, which cannot be written into.
    """
    if put is not None or isinstance(value, SparseTensor):
        if put is None or type(value) is not type(own) or tuple(value.shape) != tuple(own.shape):
            got, wanted = (f"{type(t).__name__} {tuple(t.shape)}" for t in (value, own))
            problems.misshapen.append(f"{key}: got {got}, expected {wanted}")
        else:
            problems.writes.append(partial(put, value.to(own.dtype)))
        return
    if is_lazy(value) and is_lazy(own):
        return  # both stay without a shape
    if not is_lazy(own) and not is_lazy(value):
        if own.ndim == 0 and tuple(value.shape) == (1,):
            value = value.reshape(())  # as PyTorch saved numbers before 0.4
        fits = tuple(value.shape) == tuple(own.shape)
    else:
        fits = is_lazy(own)
    if fits:
        problems.writes.append(partial(_write, own, value, problems.assign))
    else:
        problems.misshapen.append(f"{key}: got {_shape(value)}, expected {_shape(own)}")


def _write(own: Any, value: Any, assign: bool) -> None:
    if is_lazy(own):
        own.materialize(tuple(value.shape))
    if assign:
        own.data = tt.as_tensor(value)
    else:
        own.copy_(tt.as_tensor(value))


def _shape(value: Any) -> Any:
    return "an uninitialized value" if is_lazy(value) else tuple(value.shape)


def _as_array(value: Any) -> Any:
    """Detach our own tensors; convert anything else, such as a PyTorch tensor, to NumPy."""
    if isinstance(value, SparseTensor):
        return value.detach().clone()
    if isinstance(value, Tensor):
        return value if is_lazy(value) else value.detach()
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":  # NumPy has no such dtype
            value = value.float()
    return np.asarray(value)
