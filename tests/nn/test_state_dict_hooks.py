"""Hooks around state_dict and load_state_dict, and their overrides, in both libraries."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt


def net(library: Any) -> Any:
    layers = library.nn
    return layers.Sequential(
        OrderedDict(a=layers.Linear(2, 3), b=layers.Sequential(layers.BatchNorm1d(3)))
    )


def order_of_hooks(library: Any) -> list:
    model, seen = net(library), []
    for name, module in model.named_modules():
        module.register_state_dict_pre_hook(
            lambda m, prefix, keep, name=name: seen.append(("before save", name, prefix, keep))
        )
        module.register_state_dict_post_hook(
            lambda m, state, prefix, local, name=name: seen.append(
                ("after save", name, prefix, len(state), local.get("version"))
            )
        )
        module.register_load_state_dict_pre_hook(
            lambda m, state, prefix, local, strict, missing, more, errors, name=name: seen.append(
                ("before load", name, prefix, sorted(state), local, strict, list(missing))
            )
        )
        module.register_load_state_dict_post_hook(
            lambda m, keys, name=name: seen.append(("after load", name, list(keys.missing_keys)))
        )
    model.load_state_dict(model.state_dict())
    # Here all post-hooks run after all values were written, in PyTorch module by module.
    return sorted(seen, key=lambda call: call[0])


def keys_renamed_by_a_hook(library: Any) -> list:
    old = net(library).state_dict()
    for key in list(old):
        old[key.replace("weight", "gamma")] = old.pop(key)
    model = net(library)

    def rename(state: dict, prefix: str, *rest: Any) -> None:
        for key in list(state):
            state[key.replace("gamma", "weight")] = state.pop(key)

    for module in model.modules():
        module._register_load_state_dict_pre_hook(rename)
    return [tuple(map(list, model.load_state_dict(old)))]


def missing_keys_forgiven(library: Any) -> list:
    model = net(library)
    state = model.state_dict()
    del state["a.bias"]
    model.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    return [list(model.load_state_dict(state).missing_keys)]


def another_dict(library: Any) -> list:
    model = net(library)
    model._register_state_dict_hook(lambda module, state, prefix, local: {"whole": len(state)})
    return [model.state_dict()]


def removed(library: Any) -> list:
    model, seen = net(library), []
    model.register_state_dict_pre_hook(lambda *args: seen.append(1)).remove()
    model.register_load_state_dict_post_hook(lambda *args: seen.append(2)).remove()
    model.load_state_dict(model.state_dict())
    return seen


def extra_state(library: Any) -> list:
    class Counter(library.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.count = 0

        def get_extra_state(self) -> Any:
            return {"count": self.count}

        def set_extra_state(self, state: Any) -> None:
            self.count = state["count"]

    first, second = library.nn.Sequential(Counter()), library.nn.Sequential(Counter())
    first[0].count = 3
    state = first.state_dict()
    keys = second.load_state_dict(state)
    third = second.load_state_dict({}, strict=False)
    return [dict(state), second[0].count, list(keys.missing_keys), list(third.missing_keys)]


def overridden(library: Any) -> list:
    class Doubled(library.nn.Linear):  # type: ignore[misc,name-defined]
        def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "twice"] = self.weight.detach() * 2

        def _load_from_state_dict(self, state: Any, prefix: str, *rest: Any) -> None:
            state[prefix + "weight"] = state.pop(prefix + "twice")
            super()._load_from_state_dict(state, prefix, *rest)

    model = library.nn.Sequential(Doubled(2, 1))
    before = model[0].weight.detach().clone()
    state = model.state_dict()
    model.load_state_dict(state)
    same = bool((model[0].weight == 2 * before).all())
    return [list(state), same]


def versions(library: Any) -> list:
    return [{k: dict(v) for k, v in net(library).state_dict()._metadata.items()}]


def states_without_num_batches_tracked(library: Any) -> list:
    model = net(library)
    state = {k: v for k, v in model.state_dict().items() if "tracked" not in k}
    return [str(model.load_state_dict(state)), len(state)]


SCENARIOS = [
    order_of_hooks, keys_renamed_by_a_hook, missing_keys_forgiven, another_dict, removed,
    extra_state, overridden, versions, states_without_num_batches_tracked,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda function: function.__name__)
def test_same_as_pytorch(scenario: Any) -> None:
    torch = pytest.importorskip("torch")
    assert scenario(tt) == scenario(torch)


def test_nothing_changes_when_a_load_is_refused() -> None:
    model = net(tt)
    before = [p.detach().clone() for p in model.parameters()]
    state = {k: v + 1 for k, v in model.state_dict().items()}
    state["b.0.weight"] = tt.zeros(7)
    with pytest.raises(RuntimeError, match=r"b.0.weight: got \(7,\), expected \(3,\)"):
        model.load_state_dict(state)
    assert all(bool((a == b).all()) for a, b in zip(before, model.parameters()))


def test_post_hooks_must_return_nothing() -> None:
    model = net(tt)
    model.register_state_dict_post_hook(lambda *args: {})
    with pytest.raises(RuntimeError, match="expected None"):
        model.state_dict()


def test_called_by_itself() -> None:
    layer = nn.Linear(2, 1)
    missing: list = []
    values = {"x.weight": np.ones((1, 2), np.float32)}
    layer._load_from_state_dict(values, "x.", {}, True, missing, [], [])
    assert missing == ["x.bias"] and layer.weight.sum().item() == 2


def _hook(*args: Any) -> None:
    pass


def test_hooks_survive_copies_and_keep_nothing_alive() -> None:
    layer = nn.Linear(2, 1)
    layer.register_load_state_dict_pre_hook(_hook)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert len(other._hooks_of("before_load")) == 1
    gc.disable()
    try:
        reference = weakref.ref(layer)
        del layer
        assert reference() is None
    finally:
        gc.enable()
