"""The mutation check itself: that it finds every kind of mistake, and catches an obvious one."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from .equivalents import EQUIVALENT
from .mutations import KINDS, Mutation, all_mutations, mutations_of, sample
from .places import PACKAGES, ROOT
from .run import SURVIVED, Copy, Result, check_control, parses, try_out
from .touches import Index, importers, own_tests
from .touches import test_files as files_of_tests

RED = "tests/ops/test_line.py::test_red"
EXAMPLES = {
    "flipped sign": [
        ("y = a + b", "y = a - b"), ("y = (a - b) * 2", "y = (a + b) * 2"),
        ("y = -x", "y = x"), ("y += x", "y -= x"),
    ],
    "dropped term": [("y = x * (a + b)", "y = (x)"), ("y = a + b", "y = (a)"), ("y *= x", "pass")],
    "wrong axis": [
        ("y = x.sum(axis=-1)", "y = x.sum(axis=0)"), ("n = x.shape[0]", "n = x.shape[1]"),
        ("y = x.unsqueeze(-2)", "y = x.unsqueeze(-1)"),
        ("def f(dim=1): return dim", "def f(dim=0): return dim"),
    ],
    "wrong eps": [
        ("y = x + eps", "y = (x)"), ("y = x + 1e-6", "y = x + 0.001"),
        ("y = x + group['eps']", "y = (x)"),
    ],
    "missing copy": [
        ("y = x.copy()", "y = x"), ("y = own_copy(g)", "y = g"),
        ("y = f(x, copy=True)", "y = f(x, copy=False)"),
    ],
    "wrong constant": [("y = 0.5 * x", "y = 0.25 * x"), ("y = f32(2.0)", "y = f32(3.0)")],
}  # fmt: skip
CASES = [(kind, *texts) for kind, pairs in EXAMPLES.items() for texts in pairs]


def found_in(text: str) -> list[Mutation]:
    return mutations_of(textwrap.dedent(text), "ops", "tinytensor/ops/example.py")


@pytest.mark.parametrize("kind, before, after", CASES, ids=[case[1] for case in CASES])
def test_finds_every_kind(kind: str, before: str, after: str) -> None:
    line = f"σ = '∂'; {before}" if not before.startswith("def") else before
    changed = [m.apply(line.encode()).decode() for m in found_in(line) if m.kind == kind]
    assert any(text.endswith(after) for text in changed), changed


@pytest.fixture(scope="module")
def mutations() -> list[Mutation]:
    return all_mutations()


def test_every_package_has_several_kinds(mutations: list[Mutation]) -> None:
    found = {(m.package, m.kind) for m in mutations}
    assert {package for package, _ in found} == set(PACKAGES)
    assert {kind for _, kind in found} == set(KINDS)


@pytest.mark.parametrize(
    "text",
    [
        "raise ValueError(f'{a + b} of {-c}')",
        "warn('dim is not given', stacklevel=a + 1)",
        "def __repr__(self): return self.a + self.b",
        "def f(x: Literal[-1.0]) -> tuple[1 + 1]: return x",
        "if TYPE_CHECKING:\n    y = a + b",
        "@accelerated('softmax', threshold=2 * n)\ndef f(x): return x",
        "BLOCK, TILE = 2 * n, 1 + n",
        "if 4 * x.size > BLOCK: pass",
        "def f(x, eps=1e-6): return x",
        "y = 'a' + b + c",
        "shape = x.shape[:-1] + (n,)",
    ],
)
def test_rules_leave_out(text: str) -> None:
    assert found_in(text) == []


def test_knows_the_function() -> None:
    text = """
    y = -x
    class Outer:
        def method(self, eps=1e-6):
            def inner(): return -x
            return inner, eps
    """
    names = [m.function for m in found_in(text)]
    assert sorted(names) == ["", "Outer.method", "Outer.method.<locals>.inner"]


def test_sample_takes_from_all_alike(mutations: list[Mutation]) -> None:
    chosen = sample(mutations, 100, seed=0)
    assert len({m.key for m in chosen}) == 100
    for package in PACKAGES:
        assert sum(m.package == package for m in chosen) in (11, 12)
        assert len({m.kind for m in chosen if m.package == package}) >= 3
    assert sample(mutations[::-1], 100, seed=0) == chosen
    assert sample(mutations, 100, seed=1) != chosen
    assert all(parses(m, ROOT) for m in chosen)


def test_equivalents_are_in_the_source(mutations: list[Mutation]) -> None:
    keys = {m.key for m in mutations}
    assert sorted(set(EQUIVALENT) - keys) == []


def test_importers_are_found_through_others() -> None:
    users = importers(ROOT, "tinytensor/kernels/machinery/tile.py")
    assert {
        "tinytensor/kernels/machinery/packed_product.py",
        "tinytensor/kernels/attention.py",
    } <= users
    users = importers(ROOT, "nn/generation/kv_cache.py")  # also from folder to folder
    assert {"nn/attention.py", "nn/models/gpt.py", "nn/models/bert.py"} <= users


def test_tests_are_found_in_folders_of_folders() -> None:
    assert own_tests("nn", "nn/models/gpt.py") == "tests/nn/models/test_gpt.py"
    assert own_tests("ops", "tinytensor/ops/scan.py") == "tests/ops/test_scan.py"
    assert "tests/nn/models/test_gpt.py" in files_of_tests(ROOT)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package of one function, with a test for one of its two terms only."""
    files = {
        "setup.cfg": (
            "[tool:pytest]\naddopts = --strict-markers -rfE\nmarkers =\n    slow: slow\n"
            "filterwarnings =\n    error\n"
        ),
        "tinytensor/ops/line.py": "def line(a, x, b):\n    y = a * x\n    return y + b\n",
        "tests/ops/test_line.py": (
            "from tinytensor.ops.line import line\n\n"
            "def test_slope():\n    assert line(2, 3, 0) == 6\n\n"
            "def test_nothing():\n    pass\n\n"
            "def test_red():\n    assert line(1, 1, 1) == 7\n"
        ),
        **{f"{folder}/__init__.py": "" for folder in ("tests", "tests/ops")},
        **{f"tinytensor{folder}/__init__.py": "" for folder in ("", "/ops")},
    }
    for file in Path(__file__).parent.glob("*.py"):
        if file.name != Path(__file__).name:
            files[f"tests/mutation/{file.name}"] = file.read_text()
    for name, text in files.items():
        (tmp_path / "project" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "project" / name).write_text(text)
    subprocess.run(["git", "init", "--quiet", tmp_path / "project"], check=True)
    return tmp_path / "project"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code objects have no qualified name")
def test_catches_an_obvious_mistake(project: Path, tmp_path: Path) -> None:
    path = "tinytensor/ops/line.py"
    text = (project / path).read_text()
    with closing(Copy(tmp_path / "work", project)) as copy:
        touches = copy.touches()
        index: Index = touches.index(copy.tree)
        assert index.of_function.keys() == {f"{path}:line"}
        check_control(copy, broken := [Result(mutations_of(text, "ops", path)[0], RED, 1)])
        results = {
            m.after: try_out(copy, index, m, budget=60).caught_by
            for m in mutations_of(text, "ops", path)
        }
    assert results == {"(a)": "tests/ops/test_line.py::test_slope", "(y)": SURVIVED,
                       "y - b": SURVIVED}  # fmt: skip
    assert (project / path).read_text() == text
    assert (copy.tree / path).read_text() == text
    assert touches.stale(copy.tree) == []
    assert broken[0].caught_by == SURVIVED  # a test that fails anyway proves nothing
