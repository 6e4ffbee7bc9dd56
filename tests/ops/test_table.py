"""Every row of the op table, in every way an op is used.

values and gradients against PyTorch (float64 and float32) · first and second derivatives against
finite differences · float32 stays float32 · non-contiguous, empty and 0-d inputs · a read-only
incoming gradient · method and function agree · the same on the stand-in for a GPU.
"""

from __future__ import annotations

import importlib
import operator
import pkgutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.autograd.gradcheck import gradcheck, gradgradcheck
from tinytensor.autograd.op import Op
from tinytensor.autograd.variable import wrap
from tinytensor.autograd.walk import collect
from tinytensor.linalg.svd import Decomposition, QrComplete
from tinytensor.ops.convert import ToDevice
from tinytensor.ops.ctc_loss import CTC, CTCGradient
from tinytensor.ops.promote import Cast

from .. import ops as table_package
from .table import Row, T

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")


def all_rows() -> list[Row]:
    rows: list[Row] = []
    for info in pkgutil.iter_modules(table_package.__path__):
        if info.name.startswith("rows_"):
            module = importlib.import_module(f"{table_package.__name__}.{info.name}")
            rows += module.ROWS
    return rows


ROWS = all_rows()
DIFFERENTIABLE = [row for row in ROWS if row.order > 0]


def each(rows: list[Row]) -> Any:
    return pytest.mark.parametrize("row", rows, ids=str)


# ------------------------------------------------------------------------------------------
# Calling a row
# ------------------------------------------------------------------------------------------


def tensors_of(row: Row, arrays: list, dtype: Any = np.float64, device: str = "cpu") -> list:
    made = []
    for spec, array in zip(row.specs(), arrays):
        array = in_dtype(array, dtype)
        tensor = wrap(array)
        if device != "cpu":
            tensor = tensor.to(device)
        if array.dtype.kind in "fc" and spec.grad:
            tensor.requires_grad_()
        made.append(tensor)
    return made


def in_dtype(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Floats in `dtype`, complex numbers with parts of it; others as they are."""
    if array.dtype.kind == "c":
        dtype = np.complex64 if dtype is np.float32 else np.complex128
    return array.astype(dtype) if array.dtype.kind in "fc" else array


def call(row: Row, tensors: list, method: bool = False) -> Any:
    args, kwargs = row.fill(tensors)
    if row.name.startswith("method:") or method:
        return row.result(getattr(args[0], row.name.removeprefix("method:"))(*args[1:], **kwargs))
    return row.result(operator.attrgetter(row.name)(tt)(*args, **kwargs))


def torch_function(row: Row) -> Any:
    if callable(row.torch):
        return row.torch
    name = row.torch if row.torch != "same name" else row.name.removeprefix("method:")
    if "." in name:
        return operator.attrgetter(name)(torch)
    for home in (torch, torch.nn.functional, torch.Tensor):
        if hasattr(home, name):
            return getattr(home, name)
    raise LookupError(f"{row}: PyTorch has no {name}; give torch=")


def torch_dtype(value: Any) -> Any:
    return getattr(torch, value.name) if isinstance(value, tt.dtype) else value


def call_torch(row: Row, arrays: list, dtype: Any = np.float64) -> tuple[Any, list]:
    made = []
    for spec, array in zip(row.specs(), arrays):
        tensor = torch.tensor(in_dtype(array, dtype))
        if array.dtype.kind in "fc" and spec.grad:
            tensor.requires_grad_()
        made.append(tensor)
    args, kwargs = row.fill(made)
    args = tuple(torch_dtype(a) for a in args)
    kwargs = {k: torch_dtype(v) for k, v in kwargs.items()}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.chain_matmul is deprecated")  # it warns once
        warnings.filterwarnings("ignore", "index_reduce.* is in beta")
        return row.result(torch_function(row)(*args, **kwargs)), made


def flatten(result: Any) -> list:
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in flatten(item)]
    return [result]


def to_numpy(value: Any) -> np.ndarray:
    if torch is not None and isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().resolve_neg().numpy()
    if isinstance(value, tt.Tensor):
        return value.detach().cpu().numpy() if value.is_cuda else value.detach().numpy()
    return np.asarray(value)


def weights_for(outputs: list) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.uniform(0.5, 1.5, tuple(y.shape)) for y in outputs]


def gradients(outputs: list, inputs: list, weights: list, readonly: bool = False) -> list:
    """d Σ w·y / dx for the tracked inputs, by one backward."""
    tracked = [(y, w) for y, w in zip(outputs, weights) if y.requires_grad]
    if not tracked:
        return []
    seeds = []
    for y, w in tracked:
        array = y.array if isinstance(y, tt.Tensor) else None
        seed = w.astype(to_numpy(y).dtype)
        if array is None:
            seeds.append(torch.tensor(seed))
            continue
        if readonly:
            seed.flags.writeable = False
        seeds.append(wrap(seed) if not y.is_cuda else wrap(seed).to("cuda"))
    library = tt if isinstance(tracked[0][0], tt.Tensor) else torch
    needs = [x for x in inputs if x.requires_grad]
    outs = [y for y, _ in tracked]
    return list(library.autograd.grad(outs, needs, seeds, allow_unused=True))


def assert_same(
    row: Row, ours: list, theirs: list, rtol: float, atol: float, dtypes: bool = True
) -> None:
    assert len(ours) == len(theirs), f"{row}: {len(ours)} results, expected {len(theirs)}"
    for a, b in zip(ours, theirs):
        if a is None or b is None:  # one side says "no gradient", the other zeros
            assert not np.any(to_numpy(b if a is None else a)), f"{row}: None against non-zero"
            continue
        x, y = to_numpy(a), to_numpy(b)
        assert x.shape == y.shape, f"{row}: shape {x.shape}, expected {y.shape}"
        if dtypes:
            assert x.dtype == y.dtype, f"{row}: dtype {x.dtype}, expected {y.dtype}"
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol, err_msg=str(row))


# ------------------------------------------------------------------------------------------
# The checks
# ------------------------------------------------------------------------------------------


def compare_with_torch(row: Row, arrays: list, dtype: Any, rtol: float, atol: float) -> None:
    inputs = tensors_of(row, arrays, dtype)
    ours = flatten(call(row, inputs))
    result, torch_inputs = call_torch(row, arrays, dtype)
    theirs = flatten(result)
    assert_same(row, ours, theirs, rtol, atol)
    if row.order:
        weights = weights_for(ours)
        mine = gradients(ours, inputs, weights)
        reference = gradients(theirs, torch_inputs, weights)
        assert_same(row, mine, reference, rtol, atol)


@needs_torch
@each([row for row in ROWS if row.torch is not None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
def test_matches_pytorch(row: Row, dtype: Any) -> None:
    rtol, atol = (1e-9, 1e-10) if dtype is np.float64 else (2e-5, 2e-5)
    compare_with_torch(row, row.arrays(), dtype, rtol, atol)


def emptied(row: Row) -> list[np.ndarray]:
    """The arrays of a row without their elements: those that have as many lines as the first."""
    first, *_ = row.arrays()
    return [a[:0] if a.ndim and a.shape[0] == first.shape[0] else a for a in row.arrays()]


@needs_torch
@each([row for row in ROWS if row.empty and row.torch is not None])
def test_empty_input(row: Row) -> None:
    compare_with_torch(row, emptied(row), np.float64, 1e-9, 1e-10)


@each([row for row in ROWS if row.empty])
def test_empty_results_have_arrays_of_their_own(row: Row) -> None:
    """Unless the op returns its argument or a view of it, which share a version counter."""
    inputs = tensors_of(row, emptied(row))
    for y in flatten(call(row, inputs)):
        if isinstance(y, tt.Tensor) and y._view is None:
            assert not any(y.array is x.array and y is not x for x in inputs), row


@needs_torch
@each([row for row in ROWS if row.scalar and row.torch is not None])
def test_0d_input(row: Row) -> None:
    arrays = [np.asarray(a.reshape(-1)[0]) for a in row.arrays()]
    compare_with_torch(row, arrays, np.float64, 1e-9, 1e-10)


def checked_function(row: Row) -> Any:
    def function(*tensors: Any) -> Any:
        outputs = flatten(call(row, list(tensors)))
        return tuple(y for y in outputs if isinstance(y, tt.Tensor) and y.array.dtype.kind in "fc")

    function.__name__ = row.label
    return function


@each(DIFFERENTIABLE)
def test_first_derivative(row: Row) -> None:
    gradcheck(checked_function(row), tensors_of(row, row.arrays()), atol=row.atol)


@each([row for row in DIFFERENTIABLE if row.order >= 2])
def test_second_derivative(row: Row) -> None:
    gradgradcheck(checked_function(row), tensors_of(row, row.arrays()), atol=row.atol)


@each(ROWS)
def test_float32_stays_float32(row: Row) -> None:
    inputs = tensors_of(row, row.arrays(), np.float32)
    outputs = flatten(call(row, inputs))
    for y in outputs:
        if isinstance(y, tt.Tensor) and y.is_floating_point() and "dtype" not in row.kwargs:
            assert y.dtype == tt.float32, row
    found = gradients(outputs, inputs, weights_for(outputs)) if row.order else []
    for g in found:
        assert g is None or g.array.dtype in (np.float32, np.complex64), row


def strided(array: np.ndarray) -> np.ndarray:
    """The same values, every second element of a larger array."""
    if not array.ndim:
        return array
    larger = np.repeat(array, 2, axis=-1).swapaxes(0, -1).copy().swapaxes(0, -1)
    return larger[..., ::2]


@each(ROWS)
def test_non_contiguous_input(row: Row) -> None:
    arrays = row.arrays()
    plain = tensors_of(row, arrays)
    spread = []
    for spec, array in zip(row.specs(), arrays):
        tensor = wrap(strided(in_dtype(array, np.float64)))
        spread.append(tensor.requires_grad_() if array.dtype.kind in "fc" and spec.grad else tensor)
    a, b = flatten(call(row, plain)), flatten(call(row, spread))
    assert_same(row, b, a, 1e-12, 1e-12)
    if row.order:
        weights = weights_for(a)
        assert_same(row, gradients(b, spread, weights), gradients(a, plain, weights), 1e-12, 1e-12)


@each(DIFFERENTIABLE)
def test_read_only_gradient_and_untouched_inputs(row: Row) -> None:
    arrays = row.arrays()
    inputs = tensors_of(row, [a.copy() for a in arrays])
    outputs = flatten(call(row, inputs))
    weights = weights_for(outputs)
    first = gradients(outputs, inputs, weights, readonly=True)
    for tensor, array in zip(inputs, arrays):
        np.testing.assert_array_equal(tensor.array, array, err_msg=f"{row}: input was changed")
    again = tensors_of(row, arrays)
    second = gradients(flatten(call(row, again)), again, weights)
    assert_same(row, first, second, 0, 0)


def check_write_into_results(row: Row, dtype: Any, rtol: float, atol: float) -> None:
    """y.mul_(2) before backward: the gradients of 2·y, or an error, but never wrong ones."""
    inputs, again = (tensors_of(row, row.arrays(), dtype) for _ in range(2))
    outputs, written = flatten(call(row, inputs)), flatten(call(row, again))
    weights = weights_for(outputs)
    expected = gradients(outputs, inputs, [2 * w for w in weights])
    try:
        for y in written:
            if y.requires_grad:
                y.mul_(2)
        found = gradients(written, again, weights)
    except RuntimeError:
        return  # refused, as a view of a leaf, or noticed, as the rule looks at y
    assert_same(row, found, expected, rtol, atol)


@each(DIFFERENTIABLE)
def test_a_write_into_the_result_gives_no_wrong_gradient(row: Row) -> None:
    check_write_into_results(row, np.float64, 1e-12, 1e-12)


def shared_with(value: Any, inputs: list) -> list[bool]:
    """For each input, whether the result lies in its memory."""
    return [np.may_share_memory(to_numpy(value), to_numpy(x)) for x in inputs]


@needs_torch
@each([row for row in ROWS if row.torch is not None])
def test_shares_memory_where_pytorch_does(row: Row) -> None:
    """What is no view is an array of its own, also where there is nothing to do for a dtype."""
    for dtype in (np.float64, np.int64, np.bool_):
        with np.errstate(invalid="ignore"):  # NaN and infinity as whole numbers
            arrays = [a.astype(dtype) if a.dtype.kind == "f" else a for a in row.arrays()]
        inputs = [wrap(a) for a in arrays]
        try:
            result, theirs = call_torch(row, arrays)
            outputs = flatten(call(row, inputs))
        except Exception:
            assert dtype is not np.float64, row
            continue  # not made for this dtype, here or there
        expected = [shared_with(y, theirs) for y in flatten(result)]
        assert [shared_with(y, inputs) for y in outputs] == expected, (row, dtype)


def has_method(row: Row) -> bool:
    return (
        row.method
        and bool(row.args)
        and isinstance(row.args[0], T)
        and hasattr(tt.Tensor, row.name)
        and not row.name.startswith("method:")
    )


@each([row for row in ROWS if has_method(row)])
def test_method_equals_function(row: Row) -> None:
    inputs = tensors_of(row, row.arrays())
    assert_same(row, flatten(call(row, inputs, method=True)), flatten(call(row, inputs)), 0, 0)


def all_ops() -> set[type]:
    found: set[type] = set()
    stack = [Op]
    while stack:
        for cls in stack.pop().__subclasses__():
            if cls.__module__.startswith(("tinytensor.ops", "tinytensor.linalg")):
                found.add(cls)
            stack.append(cls)
    return found


def nodes_of(row: Row) -> set[type]:
    """The ops that the row's result is made of, and those that its gradients are made of."""
    inputs = tensors_of(row, row.arrays())
    outputs = [y for y in flatten(call(row, inputs)) if y.requires_grad]
    weights = [wrap(w).requires_grad_() for w in weights_for(outputs)]
    needs = [x for x in inputs if x.requires_grad]
    options = {"create_graph": True, "allow_unused": True}
    grads = tt.autograd.grad(outputs, needs, weights, **options) if outputs else ()
    nodes = [y.grad_fn for y in (*outputs, *grads) if y is not None and y.grad_fn is not None]
    return {type(node) for node in collect(nodes)}


def test_every_op_has_a_row() -> None:
    exercised: set[type] = set()
    for row in DIFFERENTIABLE:
        exercised |= nodes_of(row)
    # A row has one device and one float dtype: ToDevice is tested in test_standin.py, Cast in
    # test_convert.py and test_arithmetic.py. AsStrided is in test_views.py. QrComplete, whose
    # backward raises, is tested in test_linalg.py. The gradient of CTC is not its derivative:
    # test_ctc_loss.py.
    elsewhere = {ToDevice, Cast, CTC, CTCGradient, Decomposition, QrComplete}
    missing = {op for op in all_ops() - exercised - elsewhere if op.differentiable}
    assert not missing, f"ops without a row in the table: {sorted(op.__name__ for op in missing)}"


# Public functions that no row can express, and the file that tests them instead.
TESTED_ELSEWHERE = {
    "as_strided": "tests/test_views.py",  # its gradient is defined on the storage, not the input
    "as_strided_scatter": "tests/test_views.py",
    "as_strided_copy": "tests/ops/test_view_copies.py",
    "broadcast_shapes": "tests/ops/test_shape.py",  # takes no tensor
    "float_power": "tests/ops/test_arithmetic.py",  # float64 for float32, by definition
    "gumbel_softmax": "tests/ops/test_softmax.py",  # random
    "view_as_complex": "tests/ops/test_complex.py",  # not of every memory layout
    "view_as_complex_copy": "tests/ops/test_view_copies.py",
}


def test_every_public_function_has_a_row() -> None:
    functions = {name: getattr(tt.ops, name) for name in tt.ops.__all__}
    rows = {row.name.removeprefix("method:") for row in ROWS}
    covered = {function for name, function in functions.items() if name in rows}  # and aliases
    missing = {name for name, function in functions.items() if function not in covered}
    assert missing == set(TESTED_ELSEWHERE), f"functions without a row: {sorted(missing)}"
    root = Path(__file__).parent.parent.parent
    for name, file in TESTED_ELSEWHERE.items():
        assert name in (root / file).read_text(), f"{name} is not tested in {file}"
