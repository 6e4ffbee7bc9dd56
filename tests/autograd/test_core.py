"""The core of the engine: what its files import, and that they differentiate by themselves."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tinytensor

PACKAGE = Path(tinytensor.__file__).parent
CORE = ("backend", "autograd.mode", "autograd.variable", "autograd.op", "autograd.walk",
        "autograd.engine")  # fmt: skip
NAMES = "errors"  # exceptions only


def imported(module: str) -> set[str]:
    """The modules of this package that a core file imports, without those for mypy alone."""
    tree = ast.parse((PACKAGE / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    package = module.split(".")[:-1]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            found.add(".".join([*base, node.module]) if node.module else ".".join(base))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = (
                [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            )
            for name in names:
                top = str(name).split(".")[0]
                assert top == "numpy" or top in sys.stdlib_module_names, f"{module} imports {name}"
    return found


@pytest.mark.parametrize("module", CORE)
def test_core_files_import_only_each_other(module: str) -> None:
    assert imported(module) <= {*CORE, NAMES}


ALONE = f"""
import sys, types
for name in ("tinytensor", "tinytensor.autograd"):
    package = sys.modules[name] = types.ModuleType(name)  # without its __init__
    package.__path__ = [{str(PACKAGE.parent)!r} + "/" + name.replace(".", "/")]
from tinytensor.autograd import engine
from tinytensor.autograd.op import Op
from tinytensor.autograd.variable import wrap
import numpy as np

class Mul(Op):
    saves = {{"a": "b", "b": "a"}}
    def forward(self, a, b):
        return a * b
    def backward(self, g):
        a, b = self.saved
        return None if b is None else g * b, None if a is None else g * a

def leaf(*values):
    tensor = wrap(np.array(values))
    tensor._tracked = True
    return tensor

x, y, row = leaf(2.0, 3.0), leaf(5.0, 7.0), leaf(10.0)
z = Mul.apply(Mul.apply(Mul.apply(x, y), x), row)  # x²·y·row
engine.backward(z, np.ones(2))
assert x._grad.array.tolist() == [200.0, 420.0], x._grad.array
assert y._grad.array.tolist() == [40.0, 90.0], y._grad.array
assert row._grad.array.tolist() == [83.0], row._grad.array
loaded = sorted(name for name in sys.modules if name.startswith("tinytensor."))
print(*loaded)
"""


def test_the_core_differentiates_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert {name.removeprefix("tinytensor.") for name in done.stdout.split()} == {
        *CORE, NAMES, "autograd"
    }  # fmt: skip


def test_the_core_stays_small() -> None:
    """Six files that can be read in one sitting."""
    files = [PACKAGE / f"{module.replace('.', '/')}.py" for module in CORE]
    assert len(files) <= 6
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= 1000
