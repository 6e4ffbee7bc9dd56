"""PyTorch's own samples of optimisers (`torch.testing._internal.common_optimizers.optim_db`).

Every optimiser with every set of options that the database lists, and each of foreach, fused and
differentiable that it supports, takes the same steps here and there.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")
database = pytest.importorskip("torch.testing._internal.common_optimizers")

STEPS = 5
INFOS = {info.optim_cls.__name__: info for info in database.optim_db}
SHAPES = ((3, 4), (2, 2), (5, 3))  # Muon takes matrices only
OTHER_SHAPES = ((), (4,), (2, 3, 2))
DTYPES = ("float32", "float64")
# (rtol, atol): PyTorch's foreach and fused versions round in another order than its plain one.
NEAR = {"float32": (2e-5, 2e-6), "float64": (1e-10, 1e-12)}
pytestmark = pytest.mark.filterwarnings("ignore")


def ours(value: Any) -> Any:
    """PyTorch's tensors, in any structure, as ours."""
    if isinstance(value, torch.Tensor):
        return tt.tensor(value.detach().numpy().copy())
    if isinstance(value, (list, tuple)):
        return type(value)(ours(v) for v in value)
    if isinstance(value, dict):
        return {k: ours(v) for k, v in value.items()}
    return value


def inputs() -> Iterator[Any]:
    for name, info in INFOS.items():
        found = database._get_optim_inputs_including_global_cliquey_kwargs("cpu", None, info)
        for i, sample in enumerate(found):
            label = f"{name}-{i}-{sample.desc}".replace(" ", "_")
            yield pytest.param(name, sample.kwargs, id=label)


FLAGS = ("foreach", "fused", "differentiable")
ALL = [
    pytest.param(*sample.values, dtype, id=f"{sample.id}-{dtype}")
    for dtype in DTYPES
    for sample in inputs()
    if dtype == "float64" or not any(sample.values[1].get(flag) for flag in FLAGS)
]
PLAIN = [
    pytest.param(name, info.optim_inputs_func("cpu")[0].kwargs, id=name)
    for name, info in INFOS.items()
]


@pytest.fixture(autouse=True)
def numbers_are_kept_in_the_dtype(request: pytest.FixtureRequest) -> Iterator[None]:
    """PyTorch counts steps, and computes with the count, in float64 if that is the default."""
    dtype = request.node.callspec.params.get("dtype", "float32")
    for lib in (tt, torch):
        lib.set_default_dtype(getattr(lib, dtype))
    yield
    for lib in (tt, torch):
        lib.set_default_dtype(lib.float32)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small matrices in bfloat16 take PyTorch seconds with more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Run:
    """Parameters of several shapes, and an optimiser whose steps have gradients from a seed."""

    def __init__(self, lib: Any, name: str, kwargs: dict, dtype: str, groups: bool = False):
        self.lib, self.dtype = lib, getattr(lib, dtype)
        self.rng = np.random.default_rng(7)
        self.kwargs = kwargs if lib is torch else ours(kwargs)
        shapes = SHAPES if name == "Muon" else SHAPES + OTHER_SHAPES
        if name == "SparseAdam":
            shapes = SHAPES + ((2, 3, 2),)
        self.sparse = name == "SparseAdam"
        self.closure = name == "LBFGS"
        self.differentiable = bool(kwargs.get("differentiable"))
        self.params = [self.tensor(shape) for shape in shapes]
        for p in self.params if not self.differentiable else ():
            p.requires_grad_()
        given: list = self.params
        if groups:
            given = [{"params": self.params[:2]}, {"params": self.params[2:], "lr": 0.003}]
        self.optimizer = getattr(lib.optim, name)(given, **self.kwargs)

    def tensor(self, shape: tuple) -> Any:
        return self.lib.tensor(self.rng.normal(size=shape), dtype=self.dtype)

    def set_gradients(self) -> None:
        for p in self.params:
            p.grad = self.tensor(tuple(p.shape))
            if self.sparse:
                p.grad[0] = 0  # a row without a gradient
                p.grad = p.grad.to_sparse(1) if self.lib is torch else p.grad

    def loss(self) -> Any:
        """For LBFGS: a convex function, the same for every call."""
        self.optimizer.zero_grad()
        total = sum(((p - i / 5) ** 2).sum() + (p**4).sum() / 10 for i, p in enumerate(self.params))
        total.backward()
        return total

    def steps(self, count: int = STEPS) -> Run:
        for _ in range(count):
            if self.closure:
                self.optimizer.step(self.loss)
            else:
                self.set_gradients()
                self.optimizer.step()
        return self


def numbers(value: Any) -> np.ndarray:
    """All numbers in a value of a state."""
    if value is None:
        return np.zeros(0)
    if isinstance(value, (list, tuple)):
        return np.concatenate([numbers(v) for v in value] or [np.zeros(0)])
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    return np.ravel(np.asarray(value, dtype=np.float64))


def assert_near(found: Run, expected: Run, rtol: float, atol: float) -> None:
    for p, q in zip(found.params, expected.params, strict=True):
        assert str(p.dtype).split(".")[1] == str(q.dtype).split(".")[1]
        np.testing.assert_allclose(
            p.detach().numpy(), q.detach().numpy(), rtol=rtol, atol=atol, err_msg="parameter"
        )
    if found.closure and found.dtype == tt.float32:
        return
    here, there = (run.optimizer.state_dict() for run in (found, expected))
    assert list(here["state"]) == list(there["state"])
    for number, values in there["state"].items():
        assert set(here["state"][number]) == set(values)
        for key, value in values.items():
            mine = here["state"][number][key]
            kinds = [getattr(v, "shape", None) for v in (mine, value)]
            assert kinds[0] == kinds[1] or found.closure, (key, kinds)
            np.testing.assert_allclose(
                numbers(mine), numbers(value), rtol=rtol, atol=atol, err_msg=key
            )
    for mine, theirs in zip(here["param_groups"], there["param_groups"], strict=True):
        assert mine.keys() == theirs.keys()
        for key, value in theirs.items():
            if not isinstance(value, torch.Tensor):
                assert str(mine[key]).replace("tinytensor", "torch") == str(value), key


def tolerance(name: str, kwargs: dict, dtype: str) -> tuple[float, float]:
    rtol, atol = NEAR[dtype]
    if name == "Muon":  # sums in another order may round to the neighbour in bfloat16
        return 1e-5, STEPS * float(kwargs.get("lr", 1e-3)) * 2**-8
    if isinstance(kwargs.get("lr"), torch.Tensor):  # PyTorch computes with it in its own dtype
        return 1e-5, 1e-7
    if name == "LBFGS":  # quotients of differences of gradients amplify rounding
        return (1e-3, 1e-3) if dtype == "float32" else (1e-6, 1e-8)
    return rtol, atol


@pytest.mark.parametrize(("name", "kwargs", "dtype"), ALL)
def test_steps_equal_pytorchs(name: str, kwargs: dict, dtype: str) -> None:
    count = 2 if name == "LBFGS" else STEPS
    found, expected = (Run(lib, name, kwargs, dtype).steps(count) for lib in (tt, torch))
    assert_near(found, expected, *tolerance(name, kwargs, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "kwargs"), [p for p in PLAIN if p.id != "LBFGS"])
def test_groups_equal_pytorchs(name: str, kwargs: dict, dtype: str) -> None:
    """Two groups with their own learning rates, and a third one that is added later."""
    runs = []
    for lib in (tt, torch):
        run = Run(lib, name, kwargs, dtype, groups=True).steps(2)
        run.params.append(run.tensor((4, 2)).requires_grad_())
        run.optimizer.add_param_group({"params": run.params[-1:], "lr": 0.02})
        runs.append(run.steps(2))
    assert_near(*runs, *tolerance(name, kwargs, dtype))


# ------------------------------------------------------------------------------------------
# Wrong arguments
# ------------------------------------------------------------------------------------------


def wrong_inputs() -> Iterator[Any]:
    for name, info in INFOS.items():
        for i, sample in enumerate(info.optim_error_inputs_func("cpu", torch.float32)):
            label = f"{name}-{i}-{sample.optimizer_error_input.desc}".replace(" ", "_")
            yield pytest.param(name, sample, id=label)


def needs_other_tensors(value: Any) -> bool:
    """Whether a value has complex tensors."""
    if isinstance(value, torch.Tensor):
        return value.is_complex()
    values = value.values() if isinstance(value, dict) else value
    return isinstance(value, (dict, list, tuple)) and any(map(needs_other_tensors, values))


def with_gradients(params: Any) -> Any:
    """Our copies of PyTorch's parameters: the same tensor stays the same."""
    known: dict[int, Any] = {}

    def convert(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.is_sparse:
            return tt.zeros(*value.shape).to_sparse()
        if isinstance(value, torch.Tensor):
            if id(value) not in known:
                known[id(value)] = ours(value).requires_grad_(value.requires_grad)
                known[id(value)].grad = None if value.grad is None else ours(value.grad)
            return known[id(value)]
        if isinstance(value, dict):
            return {k: convert(v) for k, v in value.items()}
        return type(value)(map(convert, value)) if isinstance(value, (list, tuple)) else value

    return convert(params)


@pytest.mark.parametrize(("name", "sample"), list(wrong_inputs()))
def test_wrong_arguments_are_refused(name: str, sample: Any) -> None:
    """With the same type of exception, or a warning where PyTorch warns."""
    given = sample.optimizer_error_input
    if needs_other_tensors(given.params):
        pytest.skip("complex parameters have tests of their own")
    params = given.params
    if params is None:
        params = [torch.nn.Parameter(torch.randn(1, 1))]
    build: Callable = getattr(tt.optim, name)

    def run() -> None:
        optimizer = build(with_gradients(params), **ours(given.kwargs))
        if sample.error_on.name == "STEP_ERROR":
            optimizer.step()

    if issubclass(sample.error_type, Warning):
        with pytest.warns(sample.error_type, match=f"{name}: "):
            run()
    else:
        with pytest.raises(sample.error_type) as caught:
            run()
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith(f"{name}: ")


# ------------------------------------------------------------------------------------------
# Saved states
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "kwargs"), PLAIN)
def test_a_state_that_pytorch_saved_goes_on_here_and_back(
    name: str, kwargs: dict, dtype: str
) -> None:
    """Two steps in PyTorch, two here, two in PyTorch: as six in PyTorch."""
    whole = Run(torch, name, kwargs, dtype).steps(6)
    first, here, last = (Run(lib, name, kwargs, dtype) for lib in (torch, tt, torch))
    first.steps(2)
    for run, before in ((here, first), (last, here)):
        run.rng = before.rng
        state = before.optimizer.state_dict()
        run.optimizer.load_state_dict(ours(state) if run is here else theirs(state))
        for p, q in zip(run.params, before.params, strict=True):
            p.data = run.lib.tensor(q.detach().numpy(), dtype=run.dtype)
        run.steps(2)
    rtol, atol = tolerance(name, kwargs, dtype)
    for p, q in zip(last.params, whole.params, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=rtol, atol=atol)


def theirs(value: Any) -> Any:
    """Our tensors, in any structure, as PyTorch's."""
    if isinstance(value, tt.Tensor):
        return torch.tensor(value.detach().numpy().copy())
    if isinstance(value, (list, tuple)):
        return type(value)(theirs(v) for v in value)
    if isinstance(value, dict):
        return {k: theirs(v) for k, v in value.items()}
    return value


@pytest.mark.parametrize(("name", "kwargs"), PLAIN)
def test_files_and_copies_go_on(name: str, kwargs: dict) -> None:
    """A saved file, a deep copy and a state dict of a copy: the same steps as without."""
    whole = Run(tt, name, kwargs, "float64").steps(4)
    run = Run(tt, name, kwargs, "float64").steps(2)
    file = io.BytesIO()
    tt.save(run.optimizer.state_dict(), file)
    file.seek(0)
    again = Run(tt, name, kwargs, "float64")
    again.optimizer.load_state_dict(tt.load(file))
    twin = copy.deepcopy(run.optimizer)
    for p, q in zip(again.params, run.params, strict=True):
        p.data = q.detach().clone()
    again.rng = copy.deepcopy(run.rng)
    rng = copy.deepcopy(run.rng)
    again.steps(2)
    run.rng, run.optimizer, run.params = rng, twin, twin.param_groups[0]["params"]
    run.steps(2)
    for other in (again, run):
        for p, q in zip(other.params, whole.params, strict=True):
            np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())
