"""Lazy layers: before, at and after the first call, as in PyTorch."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

from ..ops.test_table import needs_torch, torch
from .scenario import Scenarios, kind, listed, refused
from .test_table import cuda as cuda

scenario = Scenarios()


class Row:
    """One lazy layer, the arguments of the ordinary layer it becomes, and the shape of an input."""

    def __init__(self, name: str, *args: Any, size: int, shape: tuple, **kwargs: Any):
        self.name, self.args, self.size, self.shape, self.kwargs = name, args, size, shape, kwargs

    def __repr__(self) -> str:
        given = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        return f"{self.name}({', '.join(given)}){list(self.shape)}"

    def lazy(self, package: Any) -> Any:
        return getattr(package, self.name)(*self.args, **self.kwargs)

    def plain(self, package: Any) -> Any:
        """The ordinary layer; the lazy instance norms have defaults of their own."""
        kwargs = dict(self.kwargs)
        if "InstanceNorm" in self.name:
            kwargs = {"affine": True, "track_running_stats": True, **kwargs}
        return getattr(package, self.name.removeprefix("Lazy"))(self.size, *self.args, **kwargs)

    def input(self, library: Any, dtype: str = "float32") -> Any:
        values = np.random.default_rng(0).standard_normal(self.shape).astype(dtype)
        return library.tensor(values).requires_grad_()


ROWS = [
    Row("LazyLinear", 3, size=4, shape=(2, 4)),
    Row("LazyLinear", 3, size=4, shape=(4,)),
    Row("LazyLinear", 3, size=4, shape=(0, 4)),
    Row("LazyLinear", 3, bias=False, size=4, shape=(2, 5, 4)),
    Row("LazyConv1d", 3, 2, size=4, shape=(2, 4, 6)),
    Row("LazyConv1d", 3, 3, padding="same", bias=False, size=4, shape=(4, 6)),
    Row("LazyConv2d", 3, (2, 3), 2, 1, size=4, shape=(2, 4, 6, 6)),
    Row("LazyConv2d", 4, 2, groups=2, size=4, shape=(2, 4, 6, 6)),
    Row("LazyConv2d", 4, 3, padding=1, padding_mode="reflect", size=4, shape=(4, 6, 6)),
    Row("LazyConv3d", 3, 2, dilation=2, size=2, shape=(2, 2, 4, 4, 4)),
    Row("LazyConvTranspose1d", 3, 2, stride=2, size=4, shape=(2, 4, 6)),
    Row("LazyConvTranspose2d", 4, 3, 2, 1, 1, 2, size=4, shape=(2, 4, 5, 5)),
    Row("LazyConvTranspose2d", 3, 2, bias=False, size=4, shape=(4, 5, 5)),
    Row("LazyConvTranspose3d", 3, 2, size=2, shape=(2, 2, 3, 3, 3)),
    Row("LazyBatchNorm1d", size=4, shape=(5, 4)),
    Row("LazyBatchNorm1d", bias=False, size=4, shape=(5, 4, 3)),
    Row("LazyBatchNorm2d", momentum=None, size=4, shape=(5, 4, 3, 3)),
    Row("LazyBatchNorm2d", 1e-3, affine=False, size=4, shape=(5, 4, 3, 3)),
    Row("LazyBatchNorm3d", track_running_stats=False, size=2, shape=(3, 2, 3, 3, 3)),
    Row("LazyBatchNorm1d", affine=False, track_running_stats=False, size=4, shape=(5, 4)),
    Row("LazyInstanceNorm1d", size=4, shape=(2, 4, 5)),
    Row("LazyInstanceNorm2d", bias=False, size=4, shape=(2, 4, 5, 5)),
    Row("LazyInstanceNorm3d", affine=False, size=2, shape=(2, 2, 3, 3, 3)),
    Row("LazyInstanceNorm2d", track_running_stats=False, size=4, shape=(2, 4, 5, 5)),
]
each = pytest.mark.parametrize("row", ROWS, ids=str)


def values_of(module: Any) -> dict[str, np.ndarray]:
    return {key: np.asarray(t.detach()) for key, t in module.state_dict().items()}


def assert_same_values(found: Any, expected: Any, tolerance: float = 0.0) -> None:
    found, expected = values_of(found), values_of(expected)
    assert list(found) == list(expected)
    for key, value in expected.items():
        assert found[key].dtype == value.dtype, key
        np.testing.assert_allclose(found[key], value, rtol=tolerance, atol=tolerance, err_msg=key)


# ------------------------------------------------------------------------------------------
# Every layer
# ------------------------------------------------------------------------------------------


@needs_torch
@each
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_outputs_and_gradients(row: Row, dtype: str) -> None:
    """With PyTorch's weights, loaded into the lazy layer: the same from the first call on."""
    tolerance = 1e-10 if dtype == "float64" else 1e-4
    theirs, ours = row.lazy(torch.nn), row.lazy(nn)
    theirs.to(getattr(torch, dtype))
    ours.to(getattr(tt, dtype))
    theirs.initialize_parameters(row.input(torch, dtype))
    ours.load_state_dict({k: v.clone() for k, v in theirs.state_dict().items()})
    for train in (True, True, False):
        results = []
        for module, library in ((theirs, torch), (ours, tt)):
            module.train(train)
            module.zero_grad()
            x = row.input(library, dtype)
            y = module(x)
            assert kind(y) == dtype
            (y * y * library.arange(y.numel()).reshape(y.shape)).sum().backward()
            gradients = [p.grad for p in module.parameters()]
            results.append([np.asarray(t.detach()) for t in (y, x.grad, *gradients)])
        for expected, found in zip(*results, strict=True):
            assert expected.dtype == found.dtype
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        assert_same_values(ours, theirs, tolerance)
        assert type(ours).__name__ == type(theirs).__name__
        assert repr(ours) == repr(theirs)


@needs_torch
@each
def test_texts_and_keys(row: Row) -> None:
    """repr, classes and state_dict before and after the first call."""
    seen = []
    for package, library in ((torch.nn, torch), (nn, tt)):
        module = row.lazy(package)
        here = [repr(module), module.has_uninitialized_params()]
        for keep_vars in (False, True):
            state = module.state_dict(keep_vars=keep_vars)
            here.append([(key, repr(value)) for key, value in state.items()])
        here += [[type(p).__name__ for p in module.parameters()]]
        here += [[(kind(p), p.requires_grad) for p in module.parameters()]]
        names = [c.__name__ for c in type(module).__mro__ if not c.__name__.startswith("_")]
        here.append({name for name in names if name.startswith(row.name[4:10])})
        module(row.input(library))
        here += [repr(module), type(module).__name__, hasattr(module, "_initialize_hook")]
        here += [[(k, tuple(v.shape), kind(v)) for k, v in module.state_dict().items()]]
        here += [[(type(p).__name__, p.requires_grad, p.is_leaf) for p in module.parameters()]]
        here += [[type(b).__name__ for b in module.buffers()]]
        seen.append(here)
    for expected, found in zip(*seen, strict=True):
        assert found == expected


@each
def test_initial_values_are_those_of_the_ordinary_layer(row: Row) -> None:
    tt.manual_seed(3)
    plain = row.plain(nn)
    tt.manual_seed(3)
    lazy = row.lazy(nn)
    lazy.initialize_parameters(row.input(tt))
    assert_same_values(lazy, plain)
    following = tt.rand(1).item()
    tt.manual_seed(3)
    row.plain(nn)
    assert following == tt.rand(1).item()
    lazy.train(False)(row.input(tt))
    assert type(lazy) is type(plain)
    if plain.state_dict():  # else num_features stays 0, as in PyTorch
        assert repr(lazy) == repr(plain)
    assert lazy._hooks is None


@each
def test_copies_and_pickles(row: Row) -> None:
    """A copy made before the first call is lazy, and independent of the original."""
    lazy = row.lazy(nn).double()
    lazy.register_forward_pre_hook(note)
    for other in (copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))):
        assert repr(other) == repr(lazy)
        tt.manual_seed(1)
        other(row.input(tt, "float64"))
        assert type(other) is lazy.cls_to_become
        assert lazy.has_uninitialized_params() == bool(list(lazy.parameters()) + shaped(lazy))
        again = copy.deepcopy(other)
        assert_same_values(again, other)
    tt.manual_seed(1)
    lazy(row.input(tt, "float64"))
    assert_same_values(lazy, other)
    assert all(kind(p) == "float64" for p in lazy.parameters())


def note(module: Any, args: Any) -> None:
    """A hook that pickle can find."""


def shaped(module: Any) -> list:
    return [b for b in module.buffers() if nn.parameter.is_lazy(b)]


@each
def test_loading_the_state_of_the_ordinary_layer(row: Row) -> None:
    plain = row.plain(nn)
    lazy = row.lazy(nn)
    result = lazy.load_state_dict(plain.state_dict())
    assert not result.missing_keys and not result.unexpected_keys
    assert not lazy.has_uninitialized_params()
    assert_same_values(lazy, plain)
    before = list(lazy.parameters())
    y = lazy.eval()(row.input(tt))
    assert np.array_equal(y.detach().numpy(), plain.eval()(row.input(tt)).detach().numpy())
    assert all(a is b for a, b in zip(before, lazy.parameters(), strict=True))
    if plain.state_dict():  # else num_features stays 0, as in PyTorch
        assert repr(lazy) == repr(plain)


@needs_torch
@pytest.mark.parametrize("name", sorted({row.name for row in ROWS}))
def test_signatures(name: str) -> None:
    found, expected = (inspect.signature(getattr(p, name)).parameters for p in (nn, torch.nn))
    assert list(found) == list(expected)
    assert [(p.default, p.kind) for p in found.values()] == [
        (p.default, p.kind) for p in expected.values()
    ]


@each
def test_moved_to_the_standin_before_the_first_call(row: Row, cuda: None) -> None:
    plain, lazy = row.plain(nn), row.lazy(nn).to("cuda")
    assert all(t.is_cuda for t in lazy.state_dict().values())
    assert all(p.cuda() is p and not p.cpu().is_cuda for p in lazy.parameters())
    y = lazy(row.input(tt).detach().cuda())
    assert y.is_cuda and all(t.is_cuda for t in lazy.state_dict().values())
    lazy.load_state_dict(plain.state_dict())
    found = lazy.eval()(row.input(tt).detach().cuda()).cpu().detach().numpy()
    expected = plain.eval()(row.input(tt)).detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_every_lazy_layer_has_a_row() -> None:
    assert {row.name for row in ROWS} == {n for n in nn.lazy.__all__ if n != "LazyModuleMixin"}


# ------------------------------------------------------------------------------------------
# Uninitialised tensors
# ------------------------------------------------------------------------------------------

REFUSED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "shape": lambda p, nn, lib: p.shape,
    "numel": lambda p, nn, lib: p.numel(),
    "dim": lambda p, nn, lib: p.dim(),
    "len": lambda p, nn, lib: len(p),
    "item": lambda p, nn, lib: p.item(),
    "numpy": lambda p, nn, lib: p.numpy(),
    "tolist": lambda p, nn, lib: p.tolist(),
    "detach": lambda p, nn, lib: p.detach(),
    "detach_": lambda p, nn, lib: p.detach_(),
    "clone": lambda p, nn, lib: p.clone(),
    "requires_grad_": lambda p, nn, lib: p.requires_grad_(),
    "register_hook": lambda p, nn, lib: p.register_hook(print),
    "zero_": lambda p, nn, lib: p.zero_(),
    "stride": lambda p, nn, lib: p.stride(),
    "index": lambda p, nn, lib: p[0],
    "iter": lambda p, nn, lib: list(p),
    "bool": lambda p, nn, lib: bool(p),
    "float": lambda p, nn, lib: float(p),
    "format": lambda p, nn, lib: f"{p}",
    "add": lambda p, nn, lib: p + 1,
    "radd": lambda p, nn, lib: lib.ones(2) + p,
    "eq": lambda p, nn, lib: p == 1,
    "function": lambda p, nn, lib: lib.exp(p),
    "zeros_like": lambda p, nn, lib: lib.zeros_like(p),
    "linear": lambda p, nn, lib: nn.functional.linear(lib.ones(2, 3), p),
    "Parameter": lambda p, nn, lib: nn.Parameter(p),
    "share_memory_": lambda p, nn, lib: p.share_memory_(),
    "uniform_": lambda p, nn, lib: nn.init.uniform_(p),
    "normal_": lambda p, nn, lib: nn.init.normal_(p),
    "zeros_": lambda p, nn, lib: nn.init.zeros_(p),
    "constant_": lambda p, nn, lib: nn.init.constant_(p, 1),
    "xavier_uniform_": lambda p, nn, lib: nn.init.xavier_uniform_(p),
    "kaiming_normal_": lambda p, nn, lib: nn.init.kaiming_normal_(p),
}


@needs_torch
@pytest.mark.parametrize("name", ["UninitializedParameter", "UninitializedBuffer"])
@pytest.mark.parametrize("what", REFUSED)
def test_what_needs_values_is_refused(what: str, name: str) -> None:
    with pytest.raises((ValueError, RuntimeError)) as expected:
        REFUSED[what](getattr(torch.nn.parameter, name)(), torch.nn, torch)
    with pytest.raises(expected.type) as found:
        REFUSED[what](getattr(nn.parameter, name)(), nn, tt)
    assert name in str(found.value) and "\n" not in str(found.value)


@scenario
def what_an_uninitialised_tensor_knows(nn: Any, library: Any) -> Any:
    found = []
    for tensor in (
        nn.parameter.UninitializedParameter(),
        nn.parameter.UninitializedParameter(requires_grad=False, dtype=library.float64),
        nn.parameter.UninitializedBuffer(dtype=library.float16),
    ):
        found += [kind(tensor), str(tensor.device), tensor.requires_grad, tensor.is_leaf]
        found += [tensor.grad, repr(tensor), list(tensor.size()), tensor.is_floating_point()]
        found += [tensor.is_complex(), tensor.get_device(), isinstance(tensor, library.Tensor)]
        found += [isinstance(tensor, nn.Parameter), isinstance(tensor, nn.Buffer)]
        found += [nn.parameter.is_lazy(tensor), kind(tensor.data), list(tensor.data.size())]
        found += [kind(tensor.double()), kind(tensor.to(library.float16)), kind(tensor.long())]
        found += [tensor.cpu() is tensor, len({tensor, tensor})]
        tensor.requires_grad = False
        tensor.materialize((2, 3))
        found += [type(tensor).__name__, kind(tensor), tensor.requires_grad, list(tensor.shape)]
        found += [nn.parameter.is_lazy(tensor), tensor.numel()]
    other = nn.UninitializedParameter()
    other.materialize((2,), dtype=library.float64)
    found += [kind(other), other.requires_grad, other.is_leaf, nn.parameter.is_lazy(3)]
    found.append(nn.UninitializedBuffer(persistent=False).persistent)
    return found


def test_copies_keep_the_dtype() -> None:
    for made in (
        nn.UninitializedParameter(requires_grad=False, dtype=tt.float64),
        nn.UninitializedBuffer(dtype=tt.float64, persistent=False),
    ):
        for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            assert type(other) is type(made) and other is not made
            assert (other.dtype, other.requires_grad) == (tt.float64, False)
            assert vars(other) == vars(made)
            other.materialize((2,))
            assert nn.parameter.is_lazy(made)


# ------------------------------------------------------------------------------------------
# Modules
# ------------------------------------------------------------------------------------------


def net_of(nn: Any) -> Any:
    return nn.Sequential(
        nn.LazyConv2d(3, 2), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2)
    )


@scenario
def conversions_before_the_first_call(nn: Any, library: Any) -> Any:
    found = []
    for change in (
        lambda m: m.double(), lambda m: m.half(), lambda m: m.to(library.float64),
        lambda m: m.to("cpu"), lambda m: m.double().float(), lambda m: m.eval(),
        lambda m: m.cpu().double(),
    ):  # fmt: skip
        net = net_of(nn)
        before = list(net.parameters())
        change(net)
        found += [[kind(t) for t in net.state_dict().values()], repr(net)]
        found += [all(a is b for a, b in zip(before, net.parameters())), net[1].training]
    net = net_of(nn).double()
    y = net(library.ones(2, 1, 4, 4).double())
    return [*found, kind(y), [kind(t) for t in net.state_dict().values()], repr(net)]


@scenario
def loading(nn: Any, library: Any) -> Any:
    full = net_of(nn)
    full(library.ones(2, 1, 4, 4))
    found: list[Any] = []

    def load(own: Any, state: Any, **options: Any) -> None:
        """Record what loading returns or raises, and what is in the network then."""
        found.append(refused(lambda: own.load_state_dict(state, **options)))
        if found[-1] is None:
            found.append(list(own.load_state_dict(state, **options)))
            found.append([repr(p) for p in own.parameters() if nn.parameter.is_lazy(p)])
            found.append([kind(p) for p in own.parameters()])
            found.append(type(own[0]).__name__)

    load(net_of(nn), full.state_dict())
    load(net_of(nn), {k: t.double() for k, t in full.state_dict().items()})
    load(net_of(nn).double(), full.state_dict())
    load(net_of(nn), net_of(nn).state_dict())
    load(full, net_of(nn).state_dict())
    load(net_of(nn), {**full.state_dict(), "extra": library.ones(1)})
    load(net_of(nn), {**full.state_dict(), "extra": library.ones(1)}, strict=False)
    part = {k: t for k, t in full.state_dict().items() if k != "4.bias"}
    load(net_of(nn), part)
    load(net_of(nn), part, strict=False)
    loaded = net_of(nn)
    loaded.load_state_dict(full.state_dict())
    load(loaded, net_of(nn).state_dict())
    x = library.arange(32.0).reshape(2, 1, 4, 4)
    same = listed(loaded.eval()(x)) == listed(full.eval()(x))
    wrong = nn.LazyLinear(2)
    wrong.load_state_dict(nn.Linear(4, 2).state_dict())
    return [*found, same, repr(wrong), refused(lambda: wrong(library.ones(1, 5))),
            listed(wrong(library.ones(1, 4))) != [], repr(wrong)]  # fmt: skip


def test_a_refused_load_changes_nothing() -> None:
    net = nn.LazyLinear(3)
    with pytest.raises(RuntimeError, match="missing: bias"):
        net.load_state_dict({"weight": tt.ones(3, 4)})
    assert all(map(nn.parameter.is_lazy, net.parameters()))


@scenario
def wrong_inputs(nn: Any, library: Any) -> Any:
    ones = library.ones
    conv = nn.LazyConv2d(4, 2, groups=2)
    second = nn.LazyLinear(2)
    second(ones(1, 3))
    partly = nn.LazyConv1d(3, 1)
    partly.load_state_dict({"weight": ones(3, 4, 1)}, strict=False)
    return [
        refused(lambda: nn.LazyLinear(2)(library.tensor(1.0))),
        refused(lambda: nn.LazyLinear(2).forward(ones(1, 3))),
        refused(lambda: second(ones(1, 4))),
        refused(lambda: conv(ones(1, 3, 4, 4))), type(conv).__name__,
        refused(lambda: nn.LazyConv2d(4, 2)(ones(4, 4))),
        refused(lambda: nn.LazyConvTranspose1d(4, 2)(ones(4))),
        refused(lambda: nn.LazyConv2d(4, 2, groups=0)),
        refused(lambda: nn.LazyConv2d(4, 2, padding_mode="mirror")),
        refused(lambda: nn.LazyBatchNorm2d()(ones(4, 3))),
        refused(lambda: nn.LazyInstanceNorm1d()(ones(1, 2, 3, 4))),
        refused(lambda: partly(ones(2, 4, 2))),
        refused(lambda: nn.LazyLinear(2).requires_grad_(False)),
        refused(lambda: sum(p.numel() for p in nn.LazyLinear(2).parameters())),
        refused(lambda: nn.utils.parameters_to_vector(nn.LazyLinear(2).parameters())),
        refused(lambda: nn.utils.weight_norm(nn.LazyLinear(2))),
    ]  # fmt: skip


@scenario
def calls_with_keywords(nn: Any, library: Any) -> Any:
    up = nn.LazyConvTranspose1d(3, 2, 2)
    y = up(library.ones(1, 2, 3), output_size=[7])
    return [list(nn.LazyLinear(3)(input=library.ones(2, 4)).shape), list(y.shape), repr(up)]


@scenario
def a_lazy_module_of_ones_own(nn: Any, library: Any) -> Any:
    Mixin = getattr(nn, "LazyModuleMixin", None) or nn.modules.lazy.LazyModuleMixin

    class Scale(Mixin, nn.Module):  # type: ignore[misc,valid-type,name-defined]
        def __init__(self, materialised: bool = True) -> None:
            super().__init__()
            self.materialised = materialised
            self.weight = nn.UninitializedParameter()
            self.register_buffer("offset", nn.UninitializedBuffer(), persistent=False)

        def initialize_parameters(self, x: Any, *, start: float = 2.0) -> None:
            if self.has_uninitialized_params() and self.materialised:
                self.weight.materialize(x.shape[-1:])
                self.offset.materialize(x.shape[-1:])
                nn.init.constant_(self.weight, start)
                nn.init.ones_(self.offset)

        def forward(self, x: Any, *, start: float = 2.0) -> Any:
            return x * self.weight + self.offset

    class Unfinished(Mixin, nn.Module):  # type: ignore[misc,valid-type,name-defined]
        pass

    scale, x = Scale(), library.ones(2, 3)
    order = []
    scale.register_forward_pre_hook(lambda m, args: order.append(m.has_uninitialized_params()))
    before = list(scale.state_dict())
    y = scale(x, start=3.0)
    return [before, listed(y), listed(scale(x)), order, type(scale).__name__,
            refused(lambda: Scale(False)(x)), refused(lambda: Unfinished()(x))]  # fmt: skip


@scenario
def initial_values_by_apply(nn: Any, library: Any) -> Any:
    """As in "Dive into Deep Learning": a dummy batch, then net.apply(init)."""

    def init(module: Any) -> None:
        if type(module) in (nn.Linear, nn.Conv2d):
            nn.init.constant_(module.weight, 0.01)
            nn.init.zeros_(module.bias)

    def every(module: Any) -> None:
        if hasattr(module, "weight"):
            nn.init.xavier_uniform_(module.weight)

    net = net_of(nn)
    early = repr(net.apply(init))  # nothing is a Linear or a Conv2d yet
    kind_of_error = refused(lambda: net.apply(every))
    x = library.arange(32.0).reshape(2, 1, 4, 4)
    net(x)
    net.apply(init)
    return [early, kind_of_error, repr(net), listed(net(x)), listed(net[0].weight)]


OPTIMISERS = ["SGD", "Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop"]


@needs_torch
@pytest.mark.parametrize("name", OPTIMISERS)
def test_an_optimiser_made_before_the_first_call(name: str) -> None:
    """It accepts uninitialised parameters, skips them, and trains them once they have values."""
    losses = []
    for package, library in ((torch.nn, torch), (nn, tt)):
        net = package.Sequential(package.LazyLinear(3), package.Tanh(), package.LazyLinear(1))
        optimiser = getattr(library.optim, name)(net.parameters(), lr=0.1)
        optimiser.step()
        optimiser.zero_grad()
        x = library.tensor(np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32))
        net(x)
        with library.no_grad():
            for i, p in enumerate(net.parameters()):
                values = np.sin(np.arange(p.numel()) + i).reshape(tuple(p.shape))
                p.copy_(library.tensor(values.astype(np.float32)))
        seen = []
        for _ in range(4):
            optimiser.zero_grad()
            loss = (net(x) ** 2).mean()
            loss.backward()
            optimiser.step()
            seen.append(loss.item())
        losses.append(seen)
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)


def test_adagrad_accepts_them_too() -> None:
    """PyTorch's refuses them, because it makes its state in the constructor."""
    layer = nn.LazyLinear(2)
    optimiser = tt.optim.Adagrad(layer.parameters(), lr=0.1)
    layer(tt.ones(1, 3)).sum().backward()
    before = layer.weight.detach().clone()
    optimiser.step()
    assert not tt.equal(before, layer.weight)


# ------------------------------------------------------------------------------------------
# What PyTorch does not do, or does wrong
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 5), (2, 3, 4, 5)], ids=str)
def test_instance_norm_of_one_sample(shape: tuple) -> None:
    """C is the first dimension; PyTorch takes the second, and then refuses the input."""
    layer = getattr(nn, f"LazyInstanceNorm{len(shape) - 1}d")()
    assert tuple(layer(tt.randn(*shape)).shape) == shape
    assert layer.num_features == shape[0]


def test_a_wrong_number_of_dimensions_leaves_a_norm_lazy() -> None:
    layer = nn.LazyBatchNorm2d()
    with pytest.raises(ValueError, match="LazyBatchNorm2d: got an input of shape"):
        layer(tt.ones(4))
    assert layer.has_uninitialized_params()
    layer(tt.ones(2, 3, 4, 4))
    assert layer.num_features == 3


def test_no_features_at_all() -> None:
    """The bias is 0, as in Linear(0, 3), not what was in memory before."""
    assert nn.LazyLinear(3)(tt.ones(2, 0)).tolist() == [[0.0] * 3] * 2


def test_an_unused_lazy_module_is_freed_at_once() -> None:
    gc.collect()
    layer = nn.LazyLinear(3)
    alive = weakref.ref(layer)
    gc.disable()
    try:
        del layer
        assert alive() is None
    finally:
        gc.enable()


def test_hooks_from_a_pickle_are_not_replaced() -> None:
    """The ids in a pickle may be those that this process gives next."""
    layer = pickle.loads(pickle.dumps(nn.LazyLinear(3)))
    hooks, handle = layer._forward_pre_hooks, layer._initialize_hook
    following = layer.register_forward_pre_hook(note).id + 2
    hooks[following] = hooks.pop(handle.id)
    layer._forward_pre_hooks_with_kwargs[following] = True
    handle.id = following
    for _ in range(3):
        layer.register_forward_pre_hook(note)
    layer(tt.ones(1, 2))
    assert type(layer) is nn.Linear


def test_distributed_data_parallel_refuses_it() -> None:
    wrapper = nn.parallel.DistributedDataParallel
    with pytest.raises(RuntimeError, match="uninitialized parameters"):
        wrapper(nn.Sequential(nn.LazyLinear(2)))
    assert wrapper(nn.Linear(3, 2))(tt.ones(1, 3)).shape == (1, 2)


def test_import_paths() -> None:
    from tinytensor.nn.modules.lazy import LazyModuleMixin
    from tinytensor.nn.parameter import UninitializedParameter, is_lazy

    assert LazyModuleMixin is nn.lazy.LazyModuleMixin
    assert is_lazy(UninitializedParameter())


test_same_as_pytorch = scenario.test()
