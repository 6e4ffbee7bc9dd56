"""Cases from PyTorch's own tests of nn that gave other results or errors here."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

NAN, INF = float("nan"), float("inf")
torch: Any = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")


def outcome(library: Any, case: Any) -> Any:
    """What a case returns, with tensors as lists, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = case(library)
        except Exception as error:
            return error
    found = found if isinstance(found, (tuple, list)) else [found]
    return [x.detach().tolist() if isinstance(x, library.Tensor) else x for x in found]


def assert_agree(case: Any) -> None:
    ours, theirs = outcome(tt, case), outcome(torch, case)
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), f"{ours!r} for {theirs!r}"
        return
    assert not isinstance(ours, Exception), repr(ours)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if b is None or isinstance(b, (str, dict, type)):
            assert a == b
        else:
            np.testing.assert_allclose(np.array(a), np.array(b), rtol=1e-6, atol=1e-6)


def with_one(L: Any, kind: str) -> Any:
    """A module that has something under the name "a"."""
    module = L.nn.Module()
    if kind == "attribute":
        module.a = 5
    elif kind == "buffer":
        module.register_buffer("a", L.ones(1))
    elif kind == "parameter":
        module.register_parameter("a", L.nn.Parameter(L.ones(1)))
    elif kind == "reserved":
        module.register_parameter("a", None)
    else:
        module.add_module("a", L.nn.Identity())
    return module


REGISTER = {
    "buffer": lambda L, m: m.register_buffer("a", L.zeros(1)),
    "parameter": lambda L, m: m.register_parameter("a", L.nn.Parameter(L.zeros(1))),
    "module": lambda L, m: m.add_module("a", L.nn.Identity()),
}


@pytest.mark.parametrize("new", REGISTER)
@pytest.mark.parametrize("old", ["attribute", "buffer", "parameter", "reserved", "module"])
def test_a_name_that_is_taken(old: str, new: str) -> None:
    def case(L: Any) -> Any:
        module = with_one(L, old)
        REGISTER[new](L, module)
        return [sorted(module._parameters), sorted(module._buffers), sorted(module._modules)]

    ours, theirs = outcome(tt, case), outcome(torch, case)
    assert type(ours) is type(theirs) and (isinstance(theirs, Exception) or ours == theirs)


def overridden(L: Any, persistent: bool) -> Any:
    class Own(L.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.a = L.nn.Buffer(L.ones(2), persistent=persistent)

        def register_buffer(self, name: str, value: Any) -> None:
            super().register_buffer(name, value)

    return list(Own().state_dict())


SCORES = [0.1, 0.5, -0.3, 0.9]


def margin(L: Any, shape: tuple, target: Any, reduction: str) -> Any:
    scores = L.tensor(SCORES).reshape(shape).requires_grad_()
    loss = L.nn.functional.multi_margin_loss(scores, L.tensor(target), reduction=reduction)
    loss.sum().backward()
    return [tuple(loss.shape), loss, scores.grad]


def fractional(L: Any, dims: int, **options: Any) -> Any:
    kind = L.nn.FractionalMaxPool2d if dims == 2 else L.nn.FractionalMaxPool3d
    return tuple(kind(**options)(L.ones(1, 2, *[5] * dims)).shape)


def lp_pool(L: Any, dims: int, p: float) -> Any:
    x = L.tensor(np.cos(np.arange(2 * 6**dims)).reshape(1, 2, *[6] * dims) * 3 - 1).requires_grad_()
    kind = [L.nn.LPPool1d, L.nn.LPPool2d, L.nn.LPPool3d][dims - 1]
    y = kind(p, 3, stride=2, ceil_mode=True)(x)
    y.sum().backward()
    return [y, x.grad]


def shared(L: Any) -> Any:
    part = L.nn.Identity()
    return L.nn.Sequential(part, part)


def mixed(L: Any, passed_on: bool) -> Any:
    class Extra:
        def __init__(self, extra: int = 1):
            super().__init__()
            self.extra = extra

    class Both(L.nn.Module, Extra):  # type: ignore[misc]
        call_super_init = passed_on

        def __init__(self) -> None:
            super().__init__(*[7][: int(passed_on)])

    return Both()


CASES = {
    "Buffer with an override of register_buffer": lambda L: overridden(L, True),
    "Sequential.insert of a number": lambda L: L.nn.Sequential(L.nn.Identity()).insert(0, 3),
    "Sequential.insert too far": lambda L: L.nn.Sequential().insert(-5, L.nn.Identity()),
    "ParameterDict.fromkeys": lambda L: dict(L.nn.ParameterDict().fromkeys(["a", "b"]).items()),
    "ParameterDict.fromkeys with a tensor": lambda L: [
        type(v).__name__ for v in L.nn.ParameterDict().fromkeys(["a"], L.ones(2)).values()
    ],
    "MultiMarginLoss, one row and one target": lambda L: margin(L, (4,), [3], "none"),
    "MultiMarginLoss, one row and a 0-d target": lambda L: margin(L, (4,), 3, "none"),
    "MultiMarginLoss, one row, mean": lambda L: margin(L, (4,), [1], "mean"),
    "MultiMarginLoss, one row and two targets": lambda L: margin(L, (4,), [3, 2], "none"),
    "MultiMarginLoss, a batch of one": lambda L: margin(L, (1, 4), [3], "none"),
    "MultiMarginLoss, a batch of one, 0-d": lambda L: margin(L, (1, 4), 3, "none"),
    "MultiMarginLoss, a batch of two": lambda L: margin(L, (2, 2), [1, 0], "none"),
    "MultiMarginLoss, a batch of two, one target": lambda L: margin(L, (2, 2), [1], "none"),
    "FractionalMaxPool2d to nothing": lambda L: fractional(L, 2, kernel_size=2, output_size=(0, 1)),
    "FractionalMaxPool3d to nothing": lambda L: fractional(
        L, 3, kernel_size=2, output_size=(0, 1, 1)
    ),
    "FractionalMaxPool3d of nothing": lambda L: fractional(
        L, 3, kernel_size=(0, 2, 2), output_size=(1, 1, 1)
    ),
    "is_contiguous in channels_last_3d": lambda L: [
        int(L.ones(2, 3, 4, 5, 6).permute(0, 4, 1, 2, 3).is_contiguous(memory_format=f))
        for f in (L.channels_last_3d, L.contiguous_format)
    ],
    "LPPool1d of p = ∞": lambda L: lp_pool(L, 1, INF),
    "LPPool2d of p = ∞": lambda L: lp_pool(L, 2, INF),
    "LPPool3d of p = ∞": lambda L: lp_pool(L, 3, INF),
    "LPPool2d of p = −∞": lambda L: lp_pool(L, 2, -INF),
    "LPPool2d of p = 3": lambda L: lp_pool(L, 2, 3.0),
    "GroupNorm of one value": lambda L: L.nn.GroupNorm(3, 3)(L.ones(1, 3)),
    "group_norm of one value": lambda L: L.nn.functional.group_norm(L.ones(1, 3, 1), 3),
    "group_norm of two samples": lambda L: L.nn.functional.group_norm(L.ones(2, 3, 1), 3),
    "group_norm of nothing": lambda L: L.nn.functional.group_norm(L.ones(0, 3, 1), 3),
    "rrelu up to infinity": lambda L: L.nn.functional.rrelu(L.ones(3), 0.1, INF),
    "rrelu up to infinity, training": lambda L: L.nn.functional.rrelu(L.ones(3), 0.1, INF, True),
    "rrelu from NaN": lambda L: L.nn.functional.rrelu(L.ones(3), NAN, 1.0),
    "softshrink, lambd too large": lambda L: L.nn.functional.softshrink(L.ones(3), 1e39),
    "softshrink, lambd too large for float16": lambda L: L.nn.functional.softshrink(
        L.ones(3).half(), 1e6
    ),
    "ReflectionPad1d without channels": lambda L: L.nn.ReflectionPad1d(2)(L.ones(0, 10)),
    "ReflectionPad1d, a batch without channels": lambda L: L.nn.ReflectionPad1d(2)(
        L.ones(3, 0, 10)
    ),
    "ReflectionPad1d, an empty batch": lambda L: L.nn.ReflectionPad1d(2)(L.ones(0, 3, 10)),
    "ReflectionPad2d, a batch without channels": lambda L: L.nn.ReflectionPad2d(2)(
        L.ones(3, 0, 10, 10)
    ),
    "ReplicationPad2d, a batch without channels": lambda L: L.nn.ReplicationPad2d(2)(
        L.ones(3, 0, 10, 10)
    ),
    "ReplicationPad2d, an empty batch": lambda L: L.nn.ReplicationPad2d(2)(L.ones(0, 3, 5, 5)),
    "CircularPad1d, a batch without channels": lambda L: L.nn.CircularPad1d(2)(L.ones(3, 0, 10)),
    "modules twice": lambda L: [
        len(list(shared(L).modules())), len(list(shared(L).modules(remove_duplicate=False)))
    ],
    "to with copy=True": lambda L: L.nn.Identity().to("cpu", copy=True),
    "set_submodule over an attribute": lambda L: with_one(L, "attribute").set_submodule(
        "a", L.nn.Identity()
    ),
    "set_submodule over a module": lambda L: with_one(L, "module").set_submodule(
        "a", L.nn.ReLU()
    ),
    "a base class after Module": lambda L: int(hasattr(mixed(L, False), "extra")),
    "call_super_init": lambda L: int(mixed(L, True).extra),
    "Module with an argument": lambda L: L.nn.Module(3),
    "Module with a keyword": lambda L: L.nn.Module(a=3),
    "conv_tbc of another width": lambda L: L.nn.functional.conv_tbc(
        L.ones(4, 2, 3), L.ones(2, 4, 5), L.ones(5)
    ),
    "conv_tbc of a matrix": lambda L: L.nn.functional.conv_tbc(
        L.ones(4, 2), L.ones(2, 4, 5), L.ones(5)
    ),
    "conv_tbc with a short bias": lambda L: L.nn.functional.conv_tbc(
        L.ones(4, 2, 3), L.ones(2, 3, 5), L.ones(4)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    assert_agree(CASES[name])


SETTINGS: list[dict] = [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2, "padding": 2}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_convolutions(dims: int, settings: dict, dtype: str) -> None:
    rng = np.random.default_rng(0)
    image = rng.standard_normal((2, 4, *[6, 5, 4][:dims])).astype(dtype)
    kernel = rng.standard_normal((2, 4 // settings.get("groups", 1), *[2] * dims)).astype(dtype)
    found = []
    for L in (tt, torch):
        x = L.tensor(image, requires_grad=True)
        w = L.tensor(kernel, requires_grad=True)
        y = getattr(L.nn.functional, f"conv{dims}d")(x, w, **settings)
        g = L.tensor(
            np.cos(np.arange(y.numel())).reshape(y.shape).astype(dtype), requires_grad=True
        )
        dx = getattr(L.nn.grad, f"conv{dims}d_input")(x.shape, w, g, **settings)
        dw = getattr(L.nn.grad, f"conv{dims}d_weight")(x, w.shape, g, **settings)
        expected = L.autograd.grad(y, (x, w), g, retain_graph=True)
        second = L.autograd.grad((dx * dx).sum() + (dw * dw).sum(), (x, w, g))
        parts = [dx, dw, *expected, *second]
        found.append([part.detach().numpy() for part in parts])
        assert dx.requires_grad and dw.requires_grad
    for ours, theirs in zip(*found, strict=True):
        close = {"rtol": 1e-3, "atol": 1e-3} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(ours, theirs, **close)


def test_gradients_of_convolutions_without_tracking() -> None:
    with tt.no_grad():
        weight = tt.ones(1, 1, 2, requires_grad=True)
        assert not tt.nn.grad.conv1d_input((1, 1, 3), weight, tt.ones(1, 1, 2)).requires_grad
    assert tt.nn.functional.grad is tt.nn.grad
