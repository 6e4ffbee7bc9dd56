"""PyTorch's import paths, and places of earlier versions: one module, whichever path is used."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys

import pytest

import tinytensor as tt
from tinytensor.compat import PATHS

STATEMENTS = """
import tinytensor.amp
import tinytensor.backends.cudnn as cudnn
import tinytensor.distributed as dist
import tinytensor.nn.functional as F
from tinytensor import amp, backends, jit
from tinytensor.amp import GradScaler, autocast
from tinytensor.autograd.gradcheck import gradcheck
from tinytensor.backends.cuda import matmul
from tinytensor.cuda.amp import autocast as cuda_autocast
from tinytensor.gradcheck import gradgradcheck
from tinytensor.jit import script
from tinytensor.profiler import ProfilerActivity, profile, record_function
from tinytensor.random import fork_rng, manual_seed
from tinytensor.testing import assert_close
import tinytensor._dynamo
import tinytensor.functional as TF
import tinytensor.autograd.profiler as profiler
from tinytensor.utils.data.dataloader import DataLoader
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_the_module_it_stands_for(path: str) -> None:
    module = importlib.import_module(path)
    assert module is importlib.import_module(PATHS[path]) is sys.modules[path]
    assert module.__spec__ is not None and module.__spec__.name == module.__name__ == PATHS[path]
    parent, _, name = path.rpartition(".")
    above = getattr(importlib.import_module(parent), name)
    assert above is module or (parent == "nn.parallel" and callable(above))  # as in PyTorch


@pytest.mark.parametrize("statement", STATEMENTS.strip().splitlines())
def test_a_statement_in_a_fresh_process(statement: str) -> None:
    run(statement)


def test_attributes_in_a_fresh_process() -> None:
    tops = [path for path in PATHS if path.startswith("tinytensor.") and path.count(".") == 1]
    names = sorted(path.removeprefix("tinytensor.") for path in tops)
    found = run(f"import tinytensor as tt; print(*(getattr(tt, n).__name__ for n in {names}))")
    assert found.split() == [PATHS[f"tinytensor.{name}"] for name in names]
    assert run("import tinytensor as tt; print(tt.backends.cudnn.version(), tt.cuda.amp.__name__)")


def test_importing_tinytensor_imports_none_of_the_lazy_ones() -> None:
    loaded = set(run("import sys, tinytensor; print(*sys.modules)").split())
    lazy = {f"tinytensor.compat.{name}" for name in ("backends", "distributed", "jit")}
    assert not loaded & (lazy | {"nn", *PATHS})


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"tinytensor\.compat\.backends\.quux"):
        importlib.import_module("tinytensor.backends.quux")


def moved(value: object, new: str, old: str) -> bytes:
    """The pickle of a value as an earlier version wrote it: with the module's old name."""
    text = pickle.dumps(value, protocol=2)  # the last to write names as text
    assert f"c{new}\n".encode() in text
    return text.replace(f"c{new}\n".encode(), f"c{old}\n".encode())


def test_pickles_of_earlier_versions_load() -> None:
    generator = tt.Generator().manual_seed(3)
    tt.rand(5, generator=generator)
    written = moved(generator, "tinytensor.create.generator", "tinytensor.generator")
    again = pickle.loads(written)
    assert again.initial_seed() == 3
    assert tt.rand(4, generator=again).tolist() == tt.rand(4, generator=generator).tolist()
    for value, new, old in (
        (tt.channels_last, "tinytensor.memory_format", "tinytensor.layout"),
        (tt.create.arange, "tinytensor.create.ranges", "tinytensor.ranges"),
        (tt.zeros_like, "tinytensor.create.filled", "tinytensor.create"),
        (tt.LongTensor, "tinytensor.compat.old_forms", "tinytensor.compat"),
        (tt.autograd.Variable, "tinytensor.autograd.old_variable", "tinytensor.compat"),
        (tt.autocast, "tinytensor.compat.amp", "tinytensor.amp"),
        (tt.ops.fold, "tinytensor.ops.unfold", "tinytensor.ops.columns"),
        (tt.ops.one_hot, "tinytensor.ops.embedding", "tinytensor.ops.count"),
        (tt.ops.histc, "tinytensor.ops.histogram", "tinytensor.ops.count"),
        (tt.ops.matmul, "tinytensor.ops.matmul", "tinytensor.ops.linalg"),
        (tt.ops.narrow, "tinytensor.ops.partial_views", "tinytensor.ops.part"),
        (tt.ops.gru_cell, "tinytensor.ops.recurrent_cell", "tinytensor.ops.recurrent"),
    ):
        assert pickle.loads(moved(value, new, old)) is value


def test_files_of_distributions_are_attributes() -> None:
    code = "import tinytensor as tt; print(tt.distributions.binomial.Binomial(3, tt.tensor(0.5)))"
    assert run(code).startswith("Binomial(")
    for path in PATHS:
        parent, _, name = path.rpartition(".")
        if parent == "tinytensor.distributions":
            assert getattr(tt.distributions, name).__name__ == PATHS[path]
    with pytest.raises(AttributeError, match="has no attribute 'parrot'"):
        tt.distributions.parrot  # noqa: B018
