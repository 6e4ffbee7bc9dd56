"""Hooks on optimisers, names of parameters, and states as tensors: as in PyTorch."""

from __future__ import annotations

import collections
import copy
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import optim
from tinytensor.optim import optimizer as base


class Own(optim.Optimizer):
    """A user's optimiser, with a step of its own and a default that every group must give."""

    def __init__(self, params: Any):
        super().__init__(params, {"lr": base.required})

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)

    def step(self, closure: Any = None) -> str:
        return "done"


class OwnSGD(optim.SGD):
    """A step that calls the one of its parent."""

    def step(self, closure: Any = None) -> Any:
        return super().step(closure)


def parameter(lib: Any = tt) -> Any:
    return lib.ones(2, requires_grad=True)


MAKE: dict[str, Any] = {
    "SGD": lambda lib, p: lib.optim.SGD([p], lr=0.1, momentum=0.9),
    "Adam": lambda lib, p: lib.optim.Adam([p]),
    "Own": lambda lib, p: Own([{"params": [p], "lr": 0.1}]),
    "OwnSGD": lambda lib, p: OwnSGD([p], lr=0.1),
}


@pytest.mark.parametrize("name", MAKE)
def test_step_hooks_run_once_in_order(name: str) -> None:
    optimizer, calls = MAKE[name](tt, parameter()), []
    handles = [
        base.register_optimizer_step_pre_hook(lambda o, a, k: calls.append("all before")),
        base.register_optimizer_step_post_hook(lambda o, a, k: calls.append("all after")),
        optimizer.register_step_pre_hook(lambda o, a, k: calls.append((o is optimizer, len(a), k))),
        optimizer.register_step_post_hook(lambda o, a, k: calls.append("after")),
    ]
    try:
        optimizer.step()
        assert calls == ["all before", (True, 1, {}), "after", "all after"]
    finally:
        for handle in handles:
            handle.remove()
    optimizer.step()
    assert len(calls) == 4


@pytest.mark.parametrize("name", ["SGD", "OwnSGD"])
def test_a_hook_may_replace_the_closure(name: str) -> None:
    optimizer = MAKE[name](tt, parameter())
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 7), {}))
    assert optimizer.step(lambda: 1) == 7
    optimizer.register_step_pre_hook(lambda o, args, kwargs: "wrong")
    with pytest.raises(RuntimeError, match=r"returned 'wrong', expected None or \(args, kwargs\)"):
        optimizer.step()


def test_state_dict_hooks() -> None:
    optimizer, calls = optim.SGD([parameter()], lr=0.1), []
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, d: {**d, "extra": 3})
    optimizer.register_load_state_dict_pre_hook(lambda o, d: calls.append(d.pop("extra")))
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append("loaded"))
    saved = optimizer.state_dict()
    assert calls == ["first", "second"] and saved["extra"] == 3
    optimizer.load_state_dict(saved)
    assert calls[2:] == [3, "loaded"] and "extra" in saved  # the hook got a copy
    assert not copy.deepcopy(optimizer)._optimizer_state_dict_pre_hooks


def test_required_settings_and_setstate() -> None:
    with pytest.raises(ValueError, match="Own: a group has no lr, which has no default"):
        Own([parameter()])
    optimizer = MAKE["Own"](tt, parameter())
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.param_groups[0]["nesterov"] is False
    assert copy.deepcopy(optimizer).step() == "done"


def test_names_of_parameters() -> None:
    model = tt.nn.Linear(2, 3)
    optimizer = optim.Adam(model.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    other = optim.Adam([("a", model.weight), ("b", model.bias)])
    other.load_state_dict(optimizer.state_dict())
    assert other.param_groups[0]["param_names"] == ["weight", "bias"]
    optimizer.add_param_group({"params": [("more", parameter())]})
    with pytest.raises(ValueError, match="got groups with and without names"):
        optimizer.add_param_group({"params": [parameter()]})
    with pytest.raises(ValueError, match="got 1 of 2 parameters with names"):
        optim.SGD([("weight", model.weight), model.bias])
    with pytest.raises(TypeError, match="got a set of parameters"):
        optim.SGD([{"params": {model.weight}}])


# ------------------------------------------------------------------------------------------
# States
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_states_are_tensors(name: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        p = parameter(lib)
        optimizer = MAKE[name](lib, p)
        p.grad = lib.ones(2)
        optimizer.step()
        state = optimizer.state[p]
        assert isinstance(optimizer.state, collections.defaultdict)
        assert all(isinstance(v, lib.Tensor) for v in state.values())
        for value in state.values():  # writes reach the optimiser
            value.mul_(2) if value.ndim else None
        optimizer.step()
        found.append({k: (str(v.dtype).split(".")[1], v.tolist()) for k, v in state.items()})
    assert found[0].keys() == found[1].keys()
    for key, (dtype, values) in found[1].items():
        assert found[0][key] == (dtype, pytest.approx(values)), key


def test_states_can_be_moved_and_reset_as_programs_do() -> None:
    p = parameter()
    optimizer = optim.Adam([p])
    p.grad = tt.ones(2)
    optimizer.step()
    first = p.detach().numpy().copy()
    for state in optimizer.state.values():
        for key, value in state.items():
            if isinstance(value, tt.Tensor):
                state[key] = value.to("cpu").clone()
    optimizer.step()
    assert optimizer.state[p]["step"] == 2
    optimizer.state = collections.defaultdict(dict)
    p.data = tt.ones(2)
    optimizer.step()
    np.testing.assert_array_equal(p.detach().numpy(), first)
    optimizer.state[p] = {}
    optimizer.step()
    assert optimizer.state[p]["step"].item() == 1


def test_plain_sgd_keeps_no_state() -> None:
    p = parameter()
    optimizer = optim.SGD([p], lr=0.1)
    p.grad = tt.ones(2)
    optimizer.step()
    assert not optimizer.state and optimizer.state_dict()["state"] == {}


def test_an_adamw_stays_one() -> None:
    adam, adamw = optim.Adam([parameter()]), optim.AdamW([parameter()])
    adamw.load_state_dict(adam.state_dict())
    assert adamw.param_groups[0]["decoupled_weight_decay"] is True
    adam.load_state_dict(adamw.state_dict())
    assert adam.param_groups[0]["decoupled_weight_decay"] is True


def test_a_learning_rate_in_a_tensor_is_copied_by_loading() -> None:
    first, second = (optim.SGD([parameter()], lr=tt.tensor(0.1)) for _ in range(2))
    second.load_state_dict(first.state_dict())
    first.param_groups[0]["lr"].fill_(5.0)
    assert second.param_groups[0]["lr"].item() == pytest.approx(0.1)


def test_state_of_other_keys_is_kept() -> None:
    optimizer = optim.Adam([parameter()])
    saved = optimizer.state_dict()
    saved["state"]["note"] = [1, 2]
    optimizer.load_state_dict(saved)
    assert optimizer.state["note"] == [1, 2]
    assert optimizer.state_dict()["state"]["note"] == [1, 2]


def test_betas_in_tensors_equal_numbers() -> None:
    found = []
    for betas in ((0.8, 0.9), (tt.tensor(0.8), tt.tensor([[0.9]]))):
        p = tt.ones(20_000, requires_grad=True)
        optimizer = optim.Adam([p], lr=tt.tensor(0.1), betas=betas)
        for i in range(3):
            p.grad = tt.full((20_000,), float(i + 1))
            optimizer.step()
        found.append(p.detach().numpy())
    np.testing.assert_allclose(*found, rtol=1e-6)
