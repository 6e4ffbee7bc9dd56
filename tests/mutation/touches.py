"""Which tests can notice a mutation, by a record of the functions that each test calls."""

from __future__ import annotations

import ast
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .mutations import Mutation, by_turns
from .places import PACKAGES, Function

FEW_FILES, FEW_TESTS = 2, 200
FOLDERS = (
    "ops", "nn", "optim", "autograd", "kernels", "utils", "special", "sparse", "distributions",
)  # fmt: skip


def test_files(root: Path) -> list[str]:
    """The test files that are asked; others draw pictures, read pages and run examples."""
    tests = root / "tests"
    found = [*tests.glob("test_*.py")]
    for folder in FOLDERS:
        found += (tests / folder).rglob("test_*.py")
    return sorted(file.relative_to(root).as_posix() for file in found)


def digest(root: Path, path: str) -> str:
    """Changes with a test file, and with what lies beside it that is no test (tables of rows)."""
    file = root / path
    helpers = [f for f in file.parent.glob("*.py") if not f.name.startswith("test_")]
    text = b"".join(f.read_bytes() for f in (file, *sorted(helpers)))
    return hashlib.sha256(text).hexdigest()[:16]


class Touches:
    """{test: (seconds, functions)}, and from a function to its tests. Kept in a JSON file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.digests: dict[str, str] = {}
        self.tests: dict[str, tuple[float, list[str]]] = {}
        if file.exists():
            self.add(json.loads(file.read_text()))

    def add(self, record: dict[str, Any]) -> None:
        names = record["functions"]
        self.digests.update(record.get("digests", {}))
        for id, (seconds, places) in record["tests"].items():
            self.tests[id] = seconds, [names[place] for place in places]

    def stale(self, root: Path) -> list[str]:
        """The test files that are new or have changed since they were recorded."""
        return [f for f in test_files(root) if self.digests.get(f) != digest(root, f)]

    def renew(self, root: Path, files: Iterable[str], record: dict[str, Any]) -> None:
        """Put a new record in place of that of some files, and write it all to disk."""
        again = set(files)
        self.tests = {id: t for id, t in self.tests.items() if id.split("::")[0] not in again}
        self.add({**record, "digests": {f: digest(root, f) for f in again}})
        places: dict[str, int] = {}
        tests = {
            id: (seconds, [places.setdefault(name, len(places)) for name in functions])
            for id, (seconds, functions) in self.tests.items()
        }
        whole = {"digests": self.digests, "functions": list(places), "tests": tests}
        self.file.write_text(json.dumps(whole))

    def index(self, root: Path) -> Index:
        """The index over the tests whose files are still there."""
        there = set(test_files(root))
        tests = {id: test for id, test in self.tests.items() if id.split("::")[0] in there}
        return Index(tests, root)


class Index:
    """Finds the tests for a mutation, those first that are most likely to notice it."""

    def __init__(self, tests: dict[str, tuple[float, list[str]]], root: Path) -> None:
        self.tests, self.root = tests, root
        self.of_function: dict[str, set[str]] = defaultdict(set)
        self.of_file: dict[str, set[str]] = defaultdict(set)
        for id, (_, functions) in tests.items():
            for name in functions:
                self.of_function[name].add(id)
                self.of_file[name.split(":")[0]].add(id)

    def near(self, mutation: Mutation) -> list[str]:
        """The tests that call the mutated function; or, if it is compiled or none, its file."""
        return self.in_order(self._callers(mutation), mutation)

    def far(self, mutation: Mutation) -> list[str]:
        """The tests that call anything in its file, or in files of its package that import it."""
        found = self.of_file[mutation.path] | self._users(mutation)
        return self.in_order(found - self._callers(mutation), mutation)

    def _callers(self, mutation: Mutation) -> set[str]:
        name = f"{mutation.path}:{mutation.function}"
        while name not in self.of_function and ".<locals>." in name:
            name = name.rpartition(".<locals>.")[0]
        found = self.of_function.get(name) or self._callers_of_compiled(mutation)
        return (found or self.of_file[mutation.path] or self._users(mutation)) | self._own(mutation)

    def _own(self, mutation: Mutation) -> set[str]:
        """The tests in the file of the same name, of a kernel also those of the files that import
        it: they may call nothing but what is compiled.
        """
        files = {mutation.path}
        if mutation.package == "kernels":
            files |= importers(self.root, mutation.path)
        names = tuple(f"{own_tests(mutation.package, file)}::" for file in files)
        return {id for id in self.tests if id.startswith(names)}

    def _callers_of_compiled(self, mutation: Mutation) -> set[str]:
        """The tests that call a function that uses the mutated one, by its name in the source."""
        folder = self.root / PACKAGES[mutation.package]
        files = [file.relative_to(self.root).as_posix() for file in folder.rglob("*.py")]
        users = users_by_name(folder)
        stack, seen, found = [mutation.function.split(".")[0]], set(), set()
        while stack:
            for user in users[stack.pop()] - seen:
                seen.add(user)
                tests = set().union(*(self.of_function.get(f"{f}:{user}", ()) for f in files))
                found |= tests
                if not tests:
                    stack.append(user)
        return found

    def _users(self, mutation: Mutation) -> set[str]:
        files = importers(self.root, mutation.path)
        return set().union(*(self.of_file[file] for file in files))

    def in_order(self, ids: Iterable[str], mutation: Mutation) -> list[str]:
        """The file's own tests first, then the package's; those first that call little else; of
        several with other parameters, one at a time.

        Compiling takes longer than testing: of kernels, all tests with the same parameters at once.
        """
        own, folder = self._own(mutation), f"tests/{mutation.package}/"

        def rank(id: str) -> tuple:
            place = 0 if id in own else 1 if id.startswith(folder) else 2
            return place, len(self.tests[id][1]), id.partition("[")[2], id

        ordered = sorted(ids, key=rank)
        if mutation.package == "kernels":
            return ordered
        groups: dict[str, list[str]] = {}
        for id in ordered:
            groups.setdefault(id.split("[")[0], []).append(id)
        return list(by_turns([*groups.values()]))

    def in_few_files(self, tests: list[str]) -> list[str]:
        """The first of them, as far as they are in a few files."""
        files = list(dict.fromkeys(id.split("::")[0] for id in tests))[:FEW_FILES]
        return [id for id in tests if id.split("::")[0] in files][:FEW_TESTS]

    def seconds(self, ids: Iterable[str]) -> float:
        return sum(self.tests[id][0] for id in ids)

    def within(self, ids: list[str], budget: float) -> list[str]:
        """As many of them, from the first on, as take so many seconds."""
        chosen, total = [], 0.0
        for id in ids:
            total += self.tests[id][0]
            if chosen and total > budget:
                break
            chosen.append(id)
        return chosen


def own_tests(package: str, path: str) -> str:
    """The test file that mirrors a source: nn/models/gpt.py → tests/nn/models/test_gpt.py."""
    source = Path(path).relative_to(PACKAGES[package])
    return (Path("tests", package) / source.with_name(f"test_{source.name}")).as_posix()


def users_by_name(folder: Path) -> dict[str, set[str]]:
    """{name: what is defined by it} at the top of all files below a folder."""
    users: dict[str, set[str]] = defaultdict(set)
    for file in folder.rglob("*.py"):
        for line in ast.parse(file.read_text()).body:
            names = [n for n in ast.walk(line) if isinstance(n, ast.Name)]
            made = {n.id for n in names if isinstance(n.ctx, ast.Store)}
            if isinstance(line, (*Function, ast.ClassDef)):
                made = {line.name}
            for name in names:
                users[name.id] |= made
    return users


def importers(root: Path, path: str) -> set[str]:
    """The files of the same package that import a file, directly or through others."""
    package = next(folder for folder in PACKAGES.values() if path.startswith(folder))
    files = [file.relative_to(root) for file in (root / package).rglob("*.py")]
    uses = {file.as_posix(): set(_imports(root, file)) for file in files}
    found, stack = set(), [path]
    while stack:
        name = stack.pop()
        new = [user for user, used in uses.items() if name in used and user not in found]
        found.update(new)
        stack += new
    return found


def _imports(root: Path, file: Path) -> Iterator[str]:
    """The files that relative imports of a file, given relative to the root, may name."""
    for node in ast.walk(ast.parse((root / file).read_text())):
        if isinstance(node, ast.ImportFrom) and node.level and node.module:
            module = file.parents[node.level - 1] / node.module.replace(".", "/")
            yield f"{module.as_posix()}.py"
            yield from (f"{(module / alias.name).as_posix()}.py" for alias in node.names)
