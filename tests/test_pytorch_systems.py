"""Whole programs written for PyTorch, run with PyTorch and, with other import lines, with ours.

The programs are in tests/programs. Both runs start from the same weights (PyTorch's, through
state_dict) and draw the same random numbers; what `train` returns, every weight and every gradient
must then be the same.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tinytensor

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")
pytest.importorskip("safetensors", reason="the programs save checkpoints")

FOLDER = Path(__file__).parent / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


# ------------------------------------------------------------------------------------------
# The program, with other import lines
# ------------------------------------------------------------------------------------------


def with_our_imports(source: str) -> str:
    """The same program; lines that import from torch import from tinytensor."""
    source = re.sub(r"^import torch$", "import tinytensor as torch", source, flags=re.M)
    return re.sub(r"^(import|from) torch\b(?=[. ])", r"\1 tinytensor", source, flags=re.M)


def load(name: str, library: Any) -> ModuleType:
    path = FOLDER / f"{name}.py"
    source = path.read_text()
    if library is tinytensor:
        source = with_our_imports(source)
        assert not re.search(r"^\s*(import|from) torch\b", source, flags=re.M)
    module = ModuleType(f"{name}_with_{library.__name__}")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


# ------------------------------------------------------------------------------------------
# The same random numbers
# ------------------------------------------------------------------------------------------


def random_functions(library: Any) -> dict[str, Callable]:
    """Functions under the names of the library's, that draw from NumPy's generator."""
    rng = np.random.default_rng(0)

    def sizes(size: tuple) -> tuple:
        first = size[0] if size and not isinstance(size[0], int) else size
        return tuple(int(n) for n in first)

    def made(array: Any, dtype: Any = None, requires_grad: bool = False, **place: Any) -> Any:
        tensor = library.tensor(np.asarray(array), dtype=dtype or library.float32)
        return tensor.requires_grad_(requires_grad)

    def randint(low: int, high: Any = None, size: Any = None, dtype: Any = None, **_: Any) -> Any:
        if not isinstance(high, int):
            low, high, size = 0, low, high if size is None else size
        return made(rng.integers(low, high, tuple(size)), dtype or library.int64)

    def multinomial(input: Any, num_samples: int, replacement: bool = False, **_: Any) -> Any:
        rows = np.asarray(input.detach().numpy(), dtype=np.float64).reshape(-1, input.shape[-1])
        drawn = [
            rng.choice(len(row), num_samples, replace=replacement, p=row / row.sum())
            for row in rows
        ]
        return made(drawn, library.int64).reshape(*input.shape[:-1], num_samples)

    def bernoulli(input: Any, **_: Any) -> Any:
        return made(rng.random(tuple(input.shape)) < input.detach().numpy(), input.dtype)

    functions = {
        "randn": lambda *size, **options: made(rng.standard_normal(sizes(size)), **options),
        "rand": lambda *size, **options: made(rng.random(sizes(size)), **options),
        "randn_like": lambda x, **_: made(rng.standard_normal(tuple(x.shape)), x.dtype),
        "rand_like": lambda x, **_: made(rng.random(tuple(x.shape)), x.dtype),
        "randperm": lambda n, **_: made(rng.permutation(n), library.int64),
        "randint": randint, "multinomial": multinomial, "bernoulli": bernoulli,
    }  # fmt: skip
    return {name: unless_seeded(getattr(library, name), f) for name, f in functions.items()}


def unless_seeded(original: Callable, same: Callable) -> Callable:
    """`same`, but the library's own function when a generator is given, as samplers do."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return (same if kwargs.get("generator") is None else original)(*args, **kwargs)

    return function


# ------------------------------------------------------------------------------------------
# Running and comparing
# ------------------------------------------------------------------------------------------


class Run:
    """One run of a program: what it returned, and its models afterwards."""

    def __init__(self, name: str, library: Any, start: dict | None, folder: Path):
        program = load(name, library)
        made = program.make()
        self.models = made if isinstance(made, dict) else {"model": made}
        self.start = {key: copied(model.state_dict()) for key, model in self.models.items()}
        if start is not None:
            for key, model in self.models.items():
                assert list(self.start[key]) == list(start[key]), f"{name}: keys of {key} differ"
                model.load_state_dict(start[key])
        folder.mkdir()
        self.result = program.train(made, str(folder))


def copied(state: dict) -> dict:
    return {key: value.detach().numpy().copy() for key, value in state.items()}


def assert_same(where: str, ours: Any, theirs: Any) -> None:
    """Tensors and floats to float32's precision, all else exactly."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key, value in theirs.items():
            assert_same(f"{where}[{key!r}]", ours[key], value)
    elif isinstance(theirs, (list, tuple)):
        assert isinstance(ours, (list, tuple)) and len(ours) == len(theirs), where
        for i, value in enumerate(theirs):
            assert_same(f"{where}[{i}]", ours[i], value)
    elif isinstance(theirs, torch.Tensor):
        assert isinstance(ours, tinytensor.Tensor), where
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1], where
        assert ours.requires_grad == theirs.requires_grad, f"{where}: requires_grad"
        assert_close(where, ours.detach().numpy(), theirs.detach().numpy())
    elif isinstance(theirs, (float, np.ndarray)):
        assert type(ours) is type(theirs), where
        assert_close(where, np.asarray(ours), np.asarray(theirs))
    else:
        assert (type(ours), ours) == (type(theirs), theirs), where


def assert_close(where: str, ours: np.ndarray, theirs: np.ndarray, slack: float = 1e-6) -> None:
    assert ours.shape == theirs.shape, where
    if theirs.dtype.kind not in "fc":
        np.testing.assert_array_equal(ours, theirs, err_msg=where)
        return
    scale = float(np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0))
    atol = 2e-4 * scale + slack
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=atol, err_msg=where)


def gradients(model: Any) -> dict:
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def test_flags_may_be_set() -> None:
    # Importing PyTorch's own tests, as tests/torch_samples does, forbids to set flags outside a
    # `with`. The programs set them, so their test must allow it in whatever order tests run.
    allowed = torch.backends.__allow_nonbracketed_mutation
    with allowed():  # which also restores what was allowed before
        torch.backends.disable_global_flags()
        with pytest.raises(RuntimeError, match="not allowed to set torch.backends.cudnn flags"):
            torch.backends.cudnn.benchmark = False
        with allowed():
            torch.backends.cudnn.benchmark = torch.backends.cudnn.benchmark


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_pytorch(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda model, **_: model)  # it takes a minute
    runs: list[Run] = []
    for library in (torch, tinytensor):
        library.manual_seed(0)
        for function, same in random_functions(library).items():
            monkeypatch.setattr(library, function, same)
        with warnings.catch_warnings():
            if library is torch:
                warnings.simplefilter("ignore")  # its own, about old ways
            warnings.filterwarnings("ignore", message=".*number first is deprecated")
            start = runs[0].start if runs else None
            with torch.backends.__allow_nonbracketed_mutation():  # see test_flags_may_be_set
                runs.append(Run(name, library, start, tmp_path / library.__name__))
    theirs, ours = runs
    assert_same(f"{name}: result", ours.result, theirs.result)
    for key, model in theirs.models.items():
        assert_same(f"{name}: gradients of {key}", gradients(ours.models[key]), gradients(model))
        state, expected = copied(ours.models[key].state_dict()), copied(model.state_dict())
        assert list(state) == list(expected)
        for path, value in expected.items():
            # Adam divides by the size of the gradient: where it is 0 but for rounding (the bias of
            # the keys of an attention), that rounding is all there is.
            assert_close(f"{name}: {key}.{path}", state[path], value, slack=5e-4)
