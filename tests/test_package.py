"""The package as a whole: its names, what importing it costs and pulls in, and the README."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tinytensor as tt
from tinytensor.graph.drawing.graphviz import GraphvizMissing, run_dot

ROOT = Path(__file__).parent.parent


def test_every_public_name_is_there_once() -> None:
    assert len(tt.__all__) == len(set(tt.__all__))
    missing = [name for name in tt.__all__ if not hasattr(tt, name)]
    assert not missing


def test_every_op_is_public() -> None:
    """What a file of ops/ lists in its __all__ is in the package's, and nothing else of ops is."""
    names = [f"tinytensor.ops.{info.name}" for info in pkgutil.iter_modules(tt.ops.__path__)]
    files = [importlib.import_module(name) for name in names]
    listed = [name for file in files for name in getattr(file, "__all__", [])]
    assert sorted(listed) == sorted(tt.ops.__all__)
    assert set(listed) <= set(tt.__all__)


def test_public_functions_are_documented() -> None:
    bare = [name for name in tt.ops.__all__ if not (getattr(tt, name).__doc__ or "").strip()]
    assert not bare


def private_imports(folder: str) -> list[str]:
    """Imports of a name with a leading underscore from another package, as file: names."""
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.ImportFrom):
                continue
            own = node.level == 1 and "." not in (node.module or "")
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            private = [name for name in names if re.fullmatch(r"_[a-z]\w*", name)]
            ours = node.level or names[0] in ("tinytensor", "nn")
            if private and ours and not own:
                found.append(f"{path.relative_to(ROOT)}: {', '.join(private)}")
    return found


@pytest.mark.parametrize("folder", ["tinytensor", "nn", "examples"])
def test_no_private_name_crosses_a_package(folder: str) -> None:
    assert not private_imports(folder)


def run(code: str, folder: Path | None = None) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_pulls_in_numpy_alone() -> None:
    heavy = {"torch", "cupy", "numba", "scipy", "nn", "pytest", "hypothesis", "tqdm"}
    loaded = run("import sys, tinytensor; print(*sys.modules)").split()
    assert not heavy & set(loaded)


def test_importing_is_quick() -> None:
    """What only rare calls need is imported by them; NumPy's own modules cost nothing more."""
    code = """
import sys, numpy
before = set(sys.modules)
import tinytensor
print(*set(sys.modules) - before)
"""
    rare = {"json", "html", "tempfile", "pickle", "inspect", "ast", "subprocess"}
    assert not rare & set(run(code).split())


@pytest.mark.parametrize("options", [["-W", "error"], ["-O"], ["-OO"], ["-I"]], ids=str)
def test_importing_with_options(options: list[str]) -> None:
    """Without warnings, without asserts and docstrings, without a home or a current folder."""
    code = "import tinytensor as t; x = t.ones(2, requires_grad=True); (x * 2).sum().backward()"
    command = [sys.executable, *options, "-c", code]
    environment = {"PATH": "", "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/")
    assert done.returncode == 0, done.stderr


def test_nn_is_found_on_first_use() -> None:
    out = run("import tinytensor as t; print(t.nn.functional.relu is t.relu, t.nn.__name__)")
    assert out.split() == ["True", "nn"]
    with pytest.raises(AttributeError, match="module 'tinytensor' has no attribute 'quux'"):
        tt.quux  # noqa: B018


def test_nothing_is_changed_for_the_process() -> None:
    """NumPy's warnings are silent inside our ops, and only there."""
    code = """
import warnings, numpy as np, tinytensor as tt
warnings.simplefilter("error")
x = tt.tensor([0.0, 1e38, float("inf")], requires_grad=True)
y = x.log() + (x * x) / x + (x - x)
y.sum().backward()
try:
    np.float32(1) / np.zeros(1, np.float32)
except RuntimeWarning:
    print("numpy still warns")
"""
    assert run(code).strip() == "numpy still warns"


README_BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_first_example_of_the_readme_runs(tmp_path: Path) -> None:
    assert "True" in run(README_BLOCKS[0], tmp_path)


def test_the_pictures_of_the_readme_are_drawn(tmp_path: Path) -> None:
    try:
        run_dot("digraph {}", "svg")
    except GraphvizMissing as missing:
        pytest.skip(str(missing))
    run(README_BLOCKS[1], tmp_path)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"graph.svg", "page.html", "attention.html"}
