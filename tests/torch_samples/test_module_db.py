"""PyTorch's own module samples (`module_db`, in its wheel): the same numbers from the same weights.

Each sample is a constructor call and a forward call. Compared are outputs, gradients of inputs and
parameters, and gradients of those gradients (float64 in training and evaluation; outputs and
gradients also in float32); the keys of state_dict, repr, a pickle and a deep copy; and the inputs
that PyTorch refuses.
"""

from __future__ import annotations

import copy
import functools
import os
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

torch = pytest.importorskip("torch")
samples = pytest.importorskip("torch.testing._internal.common_modules")

MISSING = {"LinearCrossEntropyLoss"}  # nn-LinearCrossEntropyLoss is not implemented: porting.md
INFOS = {info.name: info for info in samples.module_db if info.module_cls.__name__ not in MISSING}
# Layers whose output is random while training
RANDOM = {"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout",
          "RReLU"}  # fmt: skip
# Some modules have hundreds of samples. ALL_SAMPLES=1 in the environment takes them all (minutes).
MOST = 10**6 if os.environ.get("ALL_SAMPLES") else 5
# CTCLoss adds logarithms of 50 frames' sums: float32 has fewer digits left than elsewhere.
TOLERANCE = {torch.float64: (1e-9, 1e-10), torch.float32: (1e-3, 2e-5)}


# ------------------------------------------------------------------------------------------
# Both libraries
# ------------------------------------------------------------------------------------------


def ours(value: Any) -> Any:
    """A value of PyTorch's samples as one for tinytensor."""
    if isinstance(value, torch.Tensor):
        made = tt.tensor(value.detach().numpy().copy())
        return made.requires_grad_() if value.requires_grad else made
    if isinstance(value, torch.dtype):
        return getattr(tt, str(value).removeprefix("torch."))
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        attention = value.self_attn
        made = nn.TransformerEncoderLayer(
            attention.embed_dim, attention.num_heads, value.linear1.out_features, value.dropout.p,
            value.activation.__name__, batch_first=attention.batch_first,
            norm_first=value.norm_first, bias=value.linear1.bias is not None,
        ).to(ours(value.linear1.weight.dtype))  # fmt: skip
        made.load_state_dict({k: ours(v) for k, v in value.state_dict().items()})
        return made
    if isinstance(value, torch.nn.Module):
        made = getattr(nn, type(value).__name__)()
        made.load_state_dict({k: ours(v) for k, v in value.state_dict().items()})
        return made
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(ours, value))
    if isinstance(value, dict):
        return {k: ours(v) for k, v in value.items()}
    if callable(value) and str(getattr(value, "__module__", "")).startswith("torch"):
        return getattr(nn.functional, value.__name__)
    return value


def leaves(value: Any) -> Iterator[Any]:
    """The tensors in a value, in order."""
    if isinstance(value, (torch.Tensor, tt.Tensor)):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from leaves(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from leaves(v)


@functools.cache
def inputs(name: str, dtype: Any, training: bool) -> list:
    """The samples of a module, evenly thinned out to at most MOST."""
    torch.manual_seed(0)
    info = INFOS[name]
    found = info.module_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=True, training=training
    )
    return found[:: -(-len(found) // MOST)]


def build(name: str, sample: Any, dtype: Any, training: bool) -> tuple[Any, Any]:
    """(PyTorch's module, ours with its weights); lazy layers have seen their first input."""
    call = sample.constructor_input
    theirs = INFOS[name].module_cls(*call.args, **call.kwargs).to(dtype).train(training)
    if INFOS[name].is_lazy:
        with torch.no_grad():
            theirs(*sample.forward_input.args, **sample.forward_input.kwargs)
            theirs.reset_parameters()
    mine = getattr(nn, INFOS[name].module_cls.__name__)(*ours(call.args), **ours(call.kwargs))
    mine = mine.to(ours(dtype)).train(training)
    mine.load_state_dict({k: ours(v) for k, v in theirs.state_dict().items()})
    return theirs, mine


class Run:
    """One forward call, its gradients, and their gradients: `first` and `second`, a list each.

    second is None if order is 1, or if the library has no derivative of a gradient.
    """

    def __init__(self, module: Any, sample: Any, mine: bool, order: int):
        call = sample.forward_input
        args = ours((call.args, call.kwargs)) if mine else fresh((call.args, call.kwargs))
        self.library: Any = tt if mine else torch
        self.outputs = list(leaves(module(*args[0], **args[1])))
        self.inputs = [x for x in leaves(args) if x.requires_grad]
        self.inputs += [p for p in module.parameters() if p.requires_grad]
        self.first = self._gradients(self.outputs, 1, create_graph=order > 1)
        self.second: list | None = None
        if order > 1:
            try:
                self.second = self._gradients(self.first, 2)
            except (RuntimeError, NotImplementedError) as error:
                assert "implemented" in str(error) or "no derivative" in str(error), error

    def _gradients(self, values: list, seed: int, **options: Any) -> list:
        rng = np.random.default_rng(seed)
        tracked, seeds = [], []
        for y in values:
            if y is None:
                continue
            weight = rng.uniform(0.5, 1.5, tuple(y.shape)).astype(array(y).dtype)
            if y.requires_grad:
                tracked.append(y)
                seeds.append(self.library.tensor(weight))
        if not tracked or not self.inputs:
            return [None] * len(self.inputs)
        return list(
            self.library.autograd.grad(tracked, self.inputs, seeds, allow_unused=True, **options)
        )


def fresh(value: Any) -> Any:
    """The samples' tensors as new leaves."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(fresh, value))
    if isinstance(value, dict):
        return {k: fresh(v) for k, v in value.items()}
    return value


def array(tensor: Any) -> np.ndarray:
    # force: PyTorch's zeros that were never written
    return tensor.numpy(force=True) if isinstance(tensor, torch.Tensor) else tensor.detach().numpy()


def assert_close(what: str, mine: list, theirs: list, dtype: Any) -> None:
    assert len(mine) == len(theirs), what
    rtol, atol = TOLERANCE[dtype]
    if "CTC" in what and dtype is torch.float32:
        rtol, atol = 1e-2, 2e-4
    for number, (a, b) in enumerate(zip(mine, theirs)):
        if a is None or b is None:  # zeros in one library may be None in the other
            rest = a if b is None else b
            assert rest is None or not np.any(array(rest)), f"{what} {number}: None"
            continue
        x, y = array(a), array(b)
        assert x.shape == y.shape and x.dtype == y.dtype, f"{what} {number}: {x.dtype} {x.shape}"
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol, err_msg=f"{what} {number}")


# ------------------------------------------------------------------------------------------
# The checks
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", INFOS)
def test_same_numbers(name: str, training: bool) -> None:
    info = INFOS[name]
    if training and info.module_cls.__name__ in RANDOM:
        pytest.skip("random while training")
    for dtype in (torch.float64, torch.float32):
        if dtype not in info.dtypes or (dtype is torch.float32 and training):
            continue
        order = 2 if info.supports_gradgrad and dtype is torch.float64 else 1
        for number, sample in enumerate(inputs(name, dtype, training)):
            what = f"{name} {number} {sample.desc} {dtype}"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # deprecated arguments, in both
                theirs, mine = build(name, sample, dtype, training)
                b = Run(theirs, sample, False, order)
                a = Run(mine, sample, True, 1 if b.second is None else 2)
            assert_close(f"{what}: output", a.outputs, b.outputs, dtype)
            assert_close(f"{what}: gradient", a.first, b.first, dtype)
            if b.second is not None:
                assert_close(f"{what}: second derivative", a.second or [], b.second, dtype)
            state, expected = mine.state_dict(), theirs.state_dict()
            assert list(state) == list(expected), what
            assert_close(f"{what}: state", list(state.values()), list(expected.values()), dtype)


@pytest.mark.parametrize("name", INFOS)
def test_repr_pickle_and_copy(name: str) -> None:
    for sample in inputs(name, torch.float32, True):
        call = sample.constructor_input
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = INFOS[name].module_cls(*call.args, **call.kwargs)
            mine = getattr(nn, INFOS[name].module_cls.__name__)(
                *ours(call.args), **ours(call.kwargs)
            )
        expected = repr(theirs).replace("NonDynamicallyQuantizableLinear", "Linear")
        assert repr(mine) == expected, name
        for other in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
            assert repr(other) == repr(mine) and list(other.state_dict()) == list(mine.state_dict())


@pytest.mark.parametrize("name", [n for n in INFOS if INFOS[n].module_error_inputs_func])
def test_refused_as_in_pytorch(name: str) -> None:
    info = INFOS[name]
    for training in (True, False):
        refused = info.module_error_inputs_func(
            info, device="cpu", dtype=torch.float64, requires_grad=True, training=training
        )
        for case in refused:
            sample = case.module_error_input
            call, forward = sample.constructor_input, sample.forward_input
            make = getattr(nn, info.module_cls.__name__)
            if case.error_on == samples.ModuleErrorEnum.CONSTRUCTION_ERROR:
                with pytest.raises(case.error_type):
                    make(*ours(call.args), **ours(call.kwargs))
                continue
            module = make(*ours(call.args), **ours(call.kwargs))
            with pytest.raises(case.error_type):
                module(*ours(forward.args), **ours(forward.kwargs))
