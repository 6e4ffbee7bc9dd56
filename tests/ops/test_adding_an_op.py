"""docs/adding_an_op.md, followed in a copy of the package: an op needs its file and one list."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "adding_an_op.md"

SCRIPT = """
import tinytensor as tt
from tinytensor import graph, ops
from tinytensor.ops.activation import Softcap

assert {"softcap"} <= set(tt.__all__) & set(ops.__all__)
x = tt.tensor([-100.0, 0.5, 100.0], dtype=tt.float64, requires_grad=True)
y = tt.softcap(x, 5.0)
assert y.tolist() == x.softcap(5.0).tolist() and y.grad_fn.name() == "SoftcapBackward"
assert tt.autograd.gradcheck(lambda x: x.softcap(2.0), (x,))
assert graph.formula_of(Softcap).gradients["x"] == "dx = g·(1 − (y/c)²)"
try:
    tt.softcap("five", 2.0)
except TypeError as error:
    assert str(error).startswith("softcap: got a str"), error
"""


def add(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), "utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package to write into."""
    leave_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tinytensor", tmp_path / "tinytensor", ignore=leave_out)
    return tmp_path


def test_an_op_touches_its_file_and_one_list(copy: Path) -> None:
    block = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0]
    op = block[block.index("class Softcap") :].rstrip()
    family = copy / "tinytensor" / "ops" / "activation.py"
    add(family, "\n__all__ = [", f'\n{op}\n\n\n__all__ = ["softcap", ')
    add(copy / "tinytensor" / "methods.py", "    prelu = ops.prelu\n",
        "    prelu = ops.prelu\n    softcap = ops.softcap\n")  # fmt: skip
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    environment = {"PYTHONPATH": str(copy), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=copy, env=environment)
    assert done.returncode == 0, done.stderr
