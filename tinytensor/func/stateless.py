"""Modules as functions of their parameters: functional_call and stack_module_state.

They use a module's registries only, so that this package need not import `nn`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..ops import stack


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call module(*args, **kwargs) with other parameters and buffers, {name: tensor}.

    parameter_and_buffer_dicts: a dict, or a sequence of dicts with different keys; what they do
    not name stays the module's own. args: a tuple, or one argument. tie_weights: a value for one
    name of a shared parameter is used under its other names too. strict: the names must be exactly
    those of the module.
    """
    given = _merged(parameter_and_buffer_dicts)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    names = _names(module)
    if strict:
        _check_names(given, names)
    values = _tied(given, module) if tie_weights else dict(given)
    with _replaced(module, values) as current:
        result = module(*args, **(kwargs or {}))
        if isinstance(parameter_and_buffer_dicts, dict):
            for name in given:  # a buffer that forward assigned
                parameter_and_buffer_dicts[name] = current(name)
    return result


def _merged(dicts: Any) -> dict:
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, (tuple, list)) or not all(isinstance(d, dict) for d in dicts):
        raise ValueError(
            f"functional_call: got parameters as {type(dicts).__name__}, expected a dict or a "
            "sequence of dicts"
        )
    merged: dict = {}
    for part in dicts:
        repeated = sorted(merged.keys() & part.keys())
        if repeated:
            raise ValueError(f"functional_call: {repeated} are in several dicts, expected one each")
        merged.update(part)
    return merged


def _names(module: Any) -> dict[str, Any]:
    """{name: tensor} of all parameters and buffers, each name of a shared one included."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _check_names(given: dict, names: dict) -> None:
    missing = [n for n in names if n not in given]
    extra = [n for n in given if n not in names]
    if missing or extra:
        raise RuntimeError(
            f"functional_call: strict=True, but names are missing: {missing}, and the module does "
            f"not have: {extra}"
        )


def _tied(given: dict, module: Any) -> dict:
    """The given values under all names of the parameters they are for."""
    by_tensor: dict[int, list[str]] = {}
    for name, tensor in _names(module).items():
        by_tensor.setdefault(id(tensor), []).append(name)
    values = dict(given)
    for names in by_tensor.values():
        known = [n for n in names if n in given]
        if any(given[n] is not given[known[0]] for n in known):
            raise ValueError(
                f"functional_call: got different values for {known}, which are one parameter; pass "
                "tie_weights=False to untie them"
            )
        if known:
            values.update(dict.fromkeys(names, given[known[0]]))
    return values


def _registry(module: Any, name: str) -> tuple[dict, str]:
    """The dict that holds the tensor `name`, and its key there."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path) if path else module
    for registry in (owner._parameters, owner._buffers):
        if last in registry:
            return registry, last
    return vars(owner), last  # a new attribute, for this call only


@contextmanager
def _replaced(module: Any, values: dict) -> Iterator[Callable[[str], Any]]:
    """Put values into the registries of a module for a block; yields the look-up of a name."""
    places = {name: _registry(module, name) for name in values}
    absent = object()
    before = {name: registry.get(key, absent) for name, (registry, key) in places.items()}

    def current(name: str) -> Any:
        registry, key = places[name]
        return registry.get(key)

    try:
        for name, (registry, key) in places.items():
            registry[key] = values[name]
        yield current
    finally:
        for name, (registry, key) in places.items():
            if before[name] is absent:
                registry.pop(key, None)
            else:
                registry[key] = before[name]


def stack_module_state(models: Sequence[Any]) -> tuple[dict, dict]:
    """(parameters, buffers) of several models of one class: {name: (number of models, *shape)}.

    Each stack of parameters is a leaf that requires grad. For ensembles:
    vmap(call, in_dims=(0, 0, None))(parameters, buffers, x).
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: got no models, expected at least one")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: expected all models in the same training mode")
    if len({type(m) for m in models}) > 1:
        names = sorted({type(m).__name__ for m in models})
        raise RuntimeError(f"stack_module_state: got models of {names}, expected one class")

    def stacked(tensors: Sequence[Any]) -> Any:
        needs = {bool(t.requires_grad) for t in tensors}
        if len(needs) > 1:
            raise RuntimeError("stack_module_state: requires_grad differs between the models")
        whole = stack([t.detach() for t in tensors])
        return whole.requires_grad_() if needs == {True} else whole

    def columns(kind: str) -> dict:
        found = [dict(getattr(m, kind)()) for m in models]
        return {name: stacked([f[name] for f in found]) for name in found[0]}

    return columns("named_parameters"), columns("named_buffers")


__all__ = ["functional_call", "stack_module_state"]
