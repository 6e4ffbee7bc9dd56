"""Every row of the module table, in every way a module is used.

with PyTorch's own weights, loaded through load_state_dict: outputs, gradients of inputs and
parameters, and what training left in the buffers (float64 and float32, training and evaluation) ·
derivatives against finite differences · float32 stays float32 · the same repr as PyTorch's · a deep
copy · state_dict there and back · the same on the stand-in for a GPU.
"""

from __future__ import annotations

import copy
import importlib
import pkgutil
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from tinytensor import devices
from tinytensor.autograd.variable import wrap
from tinytensor.create.generator import _defaults

from .. import nn as table_package
from ..ops.test_table import needs_torch, to_numpy, torch
from ..standin import fake_cupy as cp
from .table import Row


def all_rows() -> list[Row]:
    rows: list[Row] = []
    for info in pkgutil.iter_modules(table_package.__path__):
        if info.name.startswith("rows_"):
            rows += importlib.import_module(f"{table_package.__name__}.{info.name}").ROWS
    return rows


ROWS = all_rows()
WITH_TORCH = [row for row in ROWS if row.torch is not None]
DIFFERENTIABLE = [row for row in ROWS if row.derivative]
SAME_NAME = [row for row in WITH_TORCH if row.torch == "same name" and row.make is None]


def each(rows: list[Row]) -> Any:
    return pytest.mark.parametrize("row", rows, ids=str)


# ------------------------------------------------------------------------------------------
# Making and calling a row's module
# ------------------------------------------------------------------------------------------


class Run:
    """A row's module, the inputs of one call, and what came of it: outputs and gradients."""

    def __init__(self, row: Row, module: Any, inputs: list):
        self.row, self.module, self.inputs = row, module, inputs
        self.leaves = [x for x in inputs if x.requires_grad]
        self.leaves += [p for p in module.parameters() if p.requires_grad]
        self.names = [f"input {i}" for i, x in enumerate(inputs) if x.requires_grad]
        self.names += [name for name, p in module.named_parameters() if p.requires_grad]

    def forward(self) -> list:
        inputs = self.inputs
        if self.row.kwargs.get("inplace"):  # a leaf cannot be written into
            inputs = [x.clone() for x in inputs]
        args, kwargs = self.row.fill(inputs)
        with warnings.catch_warnings():
            if not isinstance(self.module, nn.Module):
                warnings.simplefilter("ignore")  # what PyTorch says of its own ways
            return flatten(self.module(*args, **kwargs))

    def gradients(self, outputs: list) -> list:
        """d Σ w·y / d leaf, with fixed weights w, by one backward."""
        tracked = [y for y in outputs if y.requires_grad]
        if not tracked:
            return []
        library = tt if isinstance(tracked[0], tt.Tensor) else torch
        rng = np.random.default_rng(1)
        seeds = []
        for y in tracked:
            weight = rng.uniform(0.5, 1.5, tuple(y.shape)).astype(to_numpy(y).dtype)
            seeds.append(library.tensor(weight, device=y.device))
        return list(library.autograd.grad(tracked, self.leaves, seeds, allow_unused=True))

    def state(self) -> dict[str, Any]:
        """The module's state_dict, under our keys."""
        state = self.module.state_dict()
        renamed = self.row.keys is not None and not isinstance(self.module, nn.Module)
        return self.row.keys(state) if renamed else state


def flatten(result: Any) -> list:
    """The tensors in a result, in order."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in flatten(item)]
    return [] if result is None else [result]


def ours(row: Row, dtype: Any = np.float64, device: str = "cpu") -> Run:
    """The row in tinytensor. Its values are away from what they start at, so that they matter."""
    tt.manual_seed(0)
    module = row.build(nn, lambda a: wrap(a.astype(dtype) if a.dtype.kind == "f" else a))
    module.to(tt.float64 if dtype == np.float64 else tt.float32)
    disturb(module)
    module.to(device)
    inputs = []
    for spec, array in zip(row.specs(), row.arrays()):
        floats = array.dtype.kind == "f"
        tensor = wrap(array.astype(dtype) if floats else array).to(device)
        inputs.append(tensor.requires_grad_() if floats and spec.grad else tensor)
    return Run(row, module, inputs)


def theirs(row: Row, dtype: Any = np.float64) -> Run:
    """The row in PyTorch."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = row.build(
            torch.nn, lambda a: torch.tensor(a.astype(dtype) if a.dtype.kind == "f" else a)
        )
    module.to(torch.float64 if dtype == np.float64 else torch.float32)
    disturb(module)
    inputs = []
    for spec, array in zip(row.specs(), row.arrays()):
        floats = array.dtype.kind == "f"
        tensor = torch.tensor(array.astype(dtype) if floats else array)
        inputs.append(tensor.requires_grad_() if floats and spec.grad else tensor)
    return Run(row, module, inputs)


def disturb(module: Any) -> None:
    """Add a little to every float in the module's state: weights of 1 and biases of 0 hide much."""
    rng = np.random.default_rng(2)
    for tensor in {id(t): t for t in module.state_dict(keep_vars=True).values()}.values():
        if tensor.is_floating_point():
            array = tensor.detach().numpy()
            array += rng.uniform(0.05, 0.3, array.shape).astype(array.dtype)


def load(run: Run, reference: Run) -> None:
    """Give run's module the weights of PyTorch's."""
    state = reference.state()
    assert list(run.module.state_dict()) == list(state), f"{run.row}: keys differ"
    run.module.load_state_dict(state)


def assert_close(row: Row, name: str, a: Any, b: Any, tolerance: float) -> None:
    """|a − b| ≤ tolerance·(1 + the largest |b|), with the same shape and dtype."""
    x, y = to_numpy(a), to_numpy(b)
    assert x.shape == y.shape, f"{row}: {name} has shape {x.shape}, expected {y.shape}"
    assert x.dtype == y.dtype, f"{row}: {name} has dtype {x.dtype}, expected {y.dtype}"
    finite = y[np.isfinite(y)] if y.dtype.kind == "f" else y
    atol = tolerance * (1 + float(np.abs(finite).max(initial=0)))
    np.testing.assert_allclose(x, y, rtol=tolerance, atol=atol, err_msg=f"{row}: {name}")


def assert_same_run(run: Run, reference: Run, tolerance: float) -> None:
    """Outputs, gradients and state after one forward and backward of both."""
    row = run.row
    outputs, expected = run.forward(), reference.forward()
    assert len(outputs) == len(expected), f"{row}: {len(outputs)} outputs, not {len(expected)}"
    for i, (a, b) in enumerate(zip(outputs, expected)):
        assert_close(row, f"output {i}", a, b, tolerance)
    if row.order:
        found, wanted = run.gradients(outputs), reference.gradients(expected)
        assert len(found) == len(wanted), f"{row}: {len(found)} gradients, not {len(wanted)}"
        for name, a, b in zip(run.names, found, wanted):
            if a is None or b is None:  # one side says "no gradient", the other zeros
                other = b if a is None else a
                assert other is None or not to_numpy(other).any(), f"{row}: {name}: None"
                continue
            assert_close(row, f"gradient of {name}", a, b, tolerance)
    state = run.state()
    for key, value in reference.state().items():
        assert_close(row, f"{key} afterwards", state[key], value, tolerance)


# ------------------------------------------------------------------------------------------
# The checks
# ------------------------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-10), (np.float32, 1e-5)],
                         ids=["float64", "float32"])  # fmt: skip
@each(WITH_TORCH)
def test_same_as_pytorch(row: Row, dtype: Any, tolerance: float) -> None:
    for mode in row.train:
        run, reference = ours(row, dtype), theirs(row, dtype)
        load(run, reference)
        run.module.train(mode)
        reference.module.train(mode)
        assert_same_run(run, reference, tolerance)


@needs_torch
@each(SAME_NAME)
def test_repr_is_that_of_pytorch(row: Row) -> None:
    # In MultiheadAttention they have a subclass of Linear, for a quantizer's sake.
    expected = repr(theirs(row).module).replace("NonDynamicallyQuantizableLinear", "Linear")
    assert repr(ours(row).module) == expected


@each(DIFFERENTIABLE)
def test_derivatives(row: Row) -> None:
    """Along a random direction of each input and parameter, against central differences."""
    for mode in row.train:
        run = ours(row)
        run.module.train(mode)
        rng = np.random.default_rng(3)
        outputs = run.forward()
        weights = [rng.uniform(0.5, 1.5, tuple(y.shape)) for y in outputs]

        def total(run: Run = run, weights: list = weights) -> Any:
            floats = zip(run.forward(), weights)
            return sum(((y * wrap(w)).sum() for y, w in floats if y.is_floating_point()), 0.0)

        found = tt.autograd.grad(total(), run.leaves, allow_unused=True)
        for name, leaf, g in zip(run.names, run.leaves, found):
            direction = rng.normal(size=tuple(leaf.shape))
            home = leaf.array
            ends = []
            for step in (1e-6, -1e-6):
                leaf.array = home + step * direction
                ends.append(float(total()))
            leaf.array = home
            numerical = (ends[0] - ends[1]) / 2e-6
            slope = 0.0 if g is None else float((g.array * direction).sum())
            message = f"{row}: derivative by {name} (training={mode})"
            assert slope == pytest.approx(numerical, rel=1e-5, abs=1e-6), message


@each(ROWS)
def test_float32_stays_float32(row: Row) -> None:
    run = ours(row, np.float32)
    run.module.train(row.train[0])
    outputs = run.forward()
    for y in (*outputs, *run.gradients(outputs), *run.module.state_dict().values()):
        assert y is None or not y.is_floating_point() or y.dtype == tt.float32, row


@each(ROWS)
def test_deepcopy(row: Row) -> None:
    run = ours(row)
    run.module.train(row.train[-1])
    twin = Run(row, copy.deepcopy(run.module), run.inputs)
    memory = {p.data_ptr() for p in run.module.parameters() if p.numel()}
    assert not memory & {p.data_ptr() for p in twin.module.parameters()}
    assert repr(twin.module) == repr(run.module)
    assert_same_run(twin, run, 0)


@each(ROWS)
def test_state_dict_there_and_back(row: Row) -> None:
    run, other = ours(row), ours(row)
    for tensor in other.module.state_dict().values():
        tensor.zero_()
    assert not any(other.module.load_state_dict(run.module.state_dict()))
    for each_run in (run, other):
        each_run.module.train(row.train[-1])
    assert_same_run(other, run, 0)


@pytest.fixture
def cuda() -> Iterator[None]:
    devices.register(cp)
    yield
    devices.unregister(cp)
    _defaults.pop(tt.device("cuda"), None)  # the generator of a device that is gone


@each(ROWS)
def test_same_on_the_standin(row: Row, cuda: None) -> None:
    for mode in row.train:
        run, reference = ours(row, device="cuda"), ours(row)
        run.module.train(mode)
        reference.module.train(mode)
        assert all(t.is_cuda for t in run.module.state_dict().values()), row
        assert_same_run(run, reference, 1e-12)
        outputs = run.forward()
        found = run.gradients(outputs) if row.order else []
        assert all(t is None or t.is_cuda for t in (*outputs, *found)), f"{row}: left the device"


def test_every_module_has_a_row() -> None:
    made: set[type] = set()
    for row in ROWS:
        made |= {type(module) for module in ours(row).module.modules()}
    exported = {value for value in vars(nn).values() if isinstance(value, type)}
    modules = {cls for cls in exported if issubclass(cls, nn.Module) and cls is not nn.Module}
    # Lazy layers have no parameters to fill before the first call: test_lazy.py has their table.
    modules = {cls for cls in modules if not issubclass(cls, nn.LazyModuleMixin)}
    # Base classes, without a forward of their own; Container is in test_linear_cross_entropy.py
    modules -= {nn.Container, nn.RNNBase, nn.RNNCellBase}
    missing = sorted(cls.__name__ for cls in modules - made)
    assert not missing, f"modules without a row in the table: {missing}"
