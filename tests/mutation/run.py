"""Makes small mistakes in the source, one at a time, and says which of them the tests notice.

    python -m tests.mutation.run --count 100 --seed 0

The mistakes (mutations.py) are made in a copy of the tree in a temporary folder. At the first run
every test is run there once, under a trace that records which functions it calls (touch.py, some
minutes); later, only those in files that have changed. For each mutation the tests that call the
mutated function run first, then, if all of them pass, the others that call something in its file:
in forks of a process that has collected them (forks.py), and if need be in a new process. A
mutation that hangs or crashes is caught. In the end the tests that have noticed something must pass
without a mutation. Python 3.11 is needed.

    --survivors FILE    try again those that survived, by the results of an earlier run
    --list              only say what would be tried
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from .equivalents import EQUIVALENT
from .forks import CANNOT
from .mutations import KINDS, Mutation, all_mutations, sample
from .places import PACKAGES, ROOT
from .touches import Index, Touches, test_files

SURVIVED, UNKNOWN = "SURVIVED", "UNKNOWN"
LEAST_SECONDS = 300  # until tests count as hanging: kernels may have to be compiled
QUICK = ["-m", "not slow", "-q", "-p", "no:cacheprovider"]


@dataclass
class Result:
    mutation: Mutation
    caught_by: str  # a test, "hang", "crash", or SURVIVED
    tests: int  # how many were asked

    @property
    def caught(self) -> bool:
        return self.caught_by != SURVIVED

    def row(self) -> str:
        m = self.mutation
        change = f"{_one_line(m.before)} → {_one_line(m.after)}"
        return f"| {m.path}:{m.line} | {m.kind} | `{change}` | {self.caught_by} |"


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 50 else text[:49] + "…"


class Copy:
    """A copy of the tree to run tests in; it lies in `work`, beside what is known of the tests."""

    def __init__(self, work: Path, root: Path = ROOT) -> None:
        self.work, self.tree = work, work / "tree"
        self.tree.mkdir(parents=True, exist_ok=True)
        wanted = set(_files(root))
        for path in wanted:
            _bring(root / path, self.tree / path)
        for file in [*self.tree.rglob("*.py")]:
            if file.relative_to(self.tree).as_posix() not in wanted:
                file.unlink()
        self.line: Any = None  # to the process that forks, once it is started
        self.forking: Any = None

    def start(self, *args: str, **options: Any) -> subprocess.Popen:
        """Start pytest in the copy, without slow tests."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.tree),
            "NUMBA_CACHE_DIR": str(self.work / "kernels"),
            **options.pop("environment", {}),
        }
        command = ["nice", sys.executable, "-m", "pytest", *QUICK, *args]
        return subprocess.Popen(
            command, cwd=self.tree, env=environment, start_new_session=True, **options
        )

    def pytest(self, *args: str, seconds: float | None = None, **environment: str) -> tuple:
        """(exit status, output) of pytest; the status is None if it took too long."""
        process = self.start(
            *args, environment=environment, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None, ""
        finally:  # also what the tests have started and left behind, and if this is interrupted
            _end(process)
        return process.returncode, output

    def close(self) -> None:
        if self.forking is not None:
            self.line.close()
            _end(self.forking)

    def touches(self) -> Touches:
        """The record of what tests call, brought up to date."""
        touches = Touches(self.work / "touches.json")
        if stale := touches.stale(self.tree):
            print(f"recording what the tests in {len(stale)} files call", file=sys.stderr)
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "record.json"
                status, output = self.pytest(
                    "-p", "tests.mutation.touch", f"--touches={file}", *stale
                )
                if status not in (0, 1):
                    raise SystemExit(f"mutation: the tests do not run:\n{output[-3000:]}")
                touches.renew(self.tree, stale, json.loads(file.read_text()))
        return touches

    @contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[None]:
        """Make the mistake, and undo it; also restore the file's time, which caches compare."""
        file = self.tree / mutation.path
        before, state = file.read_bytes(), file.stat()
        file.write_bytes(mutation.apply(before))
        try:
            yield
        finally:
            file.write_bytes(before)
            os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))

    def caught_in_fork(self, mutation: Mutation, tests: list[str], seconds: float) -> str:
        """What notices a mutation, of these tests; UNKNOWN if it is not in a function's code."""
        if self.forking is None:
            self.line, end = Pipe()
            number = end.fileno()
            self.forking = self.start(
                "-p", "tests.mutation.forks", f"--forks={number}", "--capture=sys",
                *test_files(self.tree), pass_fds=[number], stdout=subprocess.DEVNULL,
            )  # fmt: skip
            end.close()
        file = self.tree / mutation.path
        source, kernels = mutation.apply(file.read_bytes()), ""
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            if is_compiled(mutation):
                stack.enter_context(self.mutated(mutation))
                kernels = folder
            allowed = LEAST_SECONDS + 10 * seconds
            self.line.send((tests, str(file), source, kernels, allowed))
            status, failed = self.line.recv()
        return failed or {0: SURVIVED, CANNOT: UNKNOWN}.get(status) or _ended(status)

    def caught_by(self, mutation: Mutation, tests: list[str], seconds: float) -> str:
        """What notices a mutation, of these tests, which should take so many seconds."""
        private: dict[str, str] = {}
        with tempfile.TemporaryDirectory() as folder, self.mutated(mutation):
            if is_compiled(mutation):  # kernels are compiled anew, all of them
                private["NUMBA_CACHE_DIR"] = folder
            status, failed = self.run_listed(
                tests, "-x", seconds=LEAST_SECONDS + 10 * seconds, PYTHONDONTWRITEBYTECODE="1",
                **private,
            )  # fmt: skip
        if status is None or status < 0:
            return _ended(status)
        return failed[0] if failed else SURVIVED

    def run_listed(self, tests: list[str], *args: str, **options: Any) -> tuple:
        """(exit status, the tests that failed), of these tests, in this order."""
        with tempfile.TemporaryDirectory() as folder:
            listed, failed = Path(folder) / "tests", Path(folder) / "failed"
            listed.write_text("\n".join(tests))
            files = sorted({id.split("::")[0] for id in tests})
            plugin = ["-p", "tests.mutation.listed", f"--listed={listed}", f"--failed={failed}"]
            status, output = self.pytest(*plugin, *args, *files, **options)
            found = failed.read_text().splitlines() if failed.exists() else []
        killed = status is None or status < 0
        if not killed and status not in ((1, 2) if found else (0, 5)):
            raise SystemExit(f"mutation: pytest ended with {status}:\n{output[-3000:]}")
        return status, found


def _end(process: subprocess.Popen) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ended(status: int | None) -> str:
    return "hang" if status is None else f"crash ({signal.Signals(-status).name})"


def _files(root: Path) -> list[str]:
    """What git has or would take, without links."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    files = [name for name in names.split("\0") if name]
    return [f for f in files if (root / f).is_file() and not (root / f).is_symlink()]


def _bring(source: Path, target: Path) -> None:
    """Copy a file that has changed, with its time."""
    new = source.stat()
    if target.exists():
        old = target.stat()
        if (old.st_mtime_ns, old.st_size) == (new.st_mtime_ns, new.st_size):
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def parses(mutation: Mutation, tree: Path) -> bool:
    """Whether the file with the mutation is Python, and means something else than before."""
    source = (tree / mutation.path).read_bytes()
    try:
        changed = ast.parse(mutation.apply(source))
    except SyntaxError:
        return False
    return ast.dump(changed) != ast.dump(ast.parse(source))


def is_compiled(mutation: Mutation) -> bool:
    return mutation.package == "kernels"


def try_out(copy: Copy, index: Index, mutation: Mutation, budget: float) -> Result:
    """Ask the tests that call the function; if they notice nothing, those around."""
    near = index.within(index.near(mutation), budget)
    far = index.within(index.far(mutation), budget)
    first = index.in_few_files(near)
    # A process of its own imports the file, which a fork does not; but tests are collected anew.
    for ask in (copy.caught_in_fork, copy.caught_by):
        for tests in (first, [id for id in near if id not in first], far):
            by = ask(mutation, tests, index.seconds(tests)) if tests else SURVIVED
            if by == UNKNOWN:
                break
            if by != SURVIVED:
                return Result(mutation, by, len(near))
        if by == SURVIVED and is_compiled(mutation):
            break  # there the fork was the first to import it
    return Result(mutation, SURVIVED, len(near + far))


def check_control(copy: Copy, results: list[Result]) -> None:
    """The tests that noticed something must pass where there is nothing to notice."""
    tests = sorted({result.caught_by for result in results if "::" in result.caught_by})
    _, failed = copy.run_listed(tests)
    for result in results:
        if result.caught_by in failed:
            print(f"void, as it fails without the mutation, too: {result.row()}")
            result.caught_by = SURVIVED


def counts(results: list[Result], equivalent: list[Mutation]) -> str:
    """A table of packages and kinds: caught / survived / equivalent."""
    cells: Counter = Counter()
    for result in results:
        cells[result.mutation.package, result.mutation.kind, result.caught] += 1
    for m in equivalent:
        cells[m.package, m.kind, None] += 1

    def cell(packages: list[str], kinds: list[str]) -> str:
        parts = [sum(cells[p, k, c] for p in packages for k in kinds) for c in (True, False, None)]
        return " / ".join(map(str, parts))

    lines = ["| caught / survived / equivalent | " + " | ".join(PACKAGES) + " | all |"]
    lines.append("|" + "---|" * (len(PACKAGES) + 2))
    for name, kinds in [*((kind, [kind]) for kind in KINDS), ("all", [*KINDS])]:
        row = [cell([package], kinds) for package in PACKAGES] + [cell([*PACKAGES], kinds)]
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def choose(count: int, seed: int, root: Path = ROOT) -> tuple[list[Mutation], list[Mutation]]:
    """The mutations to try, and the equivalent ones in whose place others came."""
    found = all_mutations(root)
    others = [m for m in found if m.key not in EQUIVALENT]
    chosen = [m for m in sample(others, 2 * count, seed) if parses(m, root)]
    return chosen[:count], [m for m in sample(found, count, seed) if m.key in EQUIVALENT]


def again(file: Path, root: Path = ROOT) -> list[Mutation]:
    """The survivors of an earlier run, where they are in the source now."""
    old = [json.loads(line) for line in file.read_text().splitlines()]
    keys = {tuple(r["key"]) for r in old if r["caught_by"] == SURVIVED}
    found = {m.key: m for m in all_mutations(root) if m.key in keys and m.key not in EQUIVALENT}
    return [found[key] for key in keys & found.keys()]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.run")
    parser.add_argument("--count", type=int, default=100, help="how many mutations")
    parser.add_argument("--seed", type=int, default=0, help="another seed chooses others")
    parser.add_argument("--budget", type=float, default=300, help="seconds of tests, twice")
    parser.add_argument("--list", action="store_true", help="only list them")
    parser.add_argument("--survivors", type=Path, help="results of a run, to try survivors again")
    parser.add_argument("--out", type=Path, help="a file for the results, a line of JSON for each")
    place = Path(tempfile.gettempdir()) / "tinytensor-mutation"
    parser.add_argument("--work", type=Path, default=place, help="the folder for the copy")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was begun is undone

    if options.survivors:
        mutations, equivalent = again(options.survivors), []
    else:
        mutations, equivalent = choose(options.count, options.seed)
    if options.list:
        print("\n".join(Result(m, "", 0).row() for m in mutations))
        return 0
    out = options.out or options.work / f"results-{options.seed}.jsonl"
    results = []
    with closing(Copy(options.work)) as copy, out.open("w") as file:
        index = copy.touches().index(copy.tree)
        for mutation in sorted(mutations, key=is_compiled):  # those that take long come last
            result = try_out(copy, index, mutation, options.budget)
            results.append(result)
            print(result.row(), flush=True)
            entry = {**asdict(result), "key": mutation.key}
            print(json.dumps(entry), file=file, flush=True)
        check_control(copy, results)
    survivors = [result for result in results if not result.caught]
    print(f"\n{counts(results, equivalent)}\n\n{len(survivors)} of {len(results)} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
