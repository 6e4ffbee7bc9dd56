"""Small mistakes to make in the source: found in the syntax tree, written as edits of the text.

Each kind has a function that looks at one node and gives the edits to be made there, if any.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .places import PACKAGES, ROOT, Function, name_of, nodes_to_change, sources

AXES = {"axis", "dim"}  # parameters that name a dimension
FIRST_IS_AXIS = {
    "all", "any", "argmax", "argmin", "cumsum", "expand_dims", "flatten", "max", "mean", "min",
    "movedim", "prod", "size", "squeeze", "stride", "sum", "swapaxes", "transpose", "unsqueeze",
}  # fmt: skip
COPIES = {"clone", "copy", "copy_of", "deepcopy", "own_copy"}
TINY = 1e-3  # constants below are meant as some eps

Key = tuple[str, str, str, int]


class Edit(NamedTuple):
    """Replace a node's text."""

    node: ast.AST
    text: str


@dataclass(frozen=True)
class Mutation:
    """One mistake: the bytes start … stop of a file, replaced."""

    package: str
    kind: str
    path: str
    function: str  # the qualified name, "" outside of functions
    line: int
    start: int
    stop: int
    before: str
    after: str
    place: int  # 0 for the first of those in the function that read the same, and so on

    @property
    def key(self) -> Key:
        """What stays the same while other lines of the file change."""
        return self.path, self.function, f"{self.before} → {self.after}", self.place

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.stop :]


class Source:
    """The text of a file, by the positions of its syntax tree (which count bytes in a line)."""

    def __init__(self, text: str) -> None:
        self.bytes = text.encode()
        self.tree = ast.parse(text)
        self.starts = [0]
        for line in self.bytes.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        stop = self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, stop

    def text(self, node: ast.AST) -> str:
        start, stop = self.span(node)
        return self.bytes[start:stop].decode()

    def between(self, left: ast.AST, right: ast.AST) -> str:
        return self.bytes[self.span(left)[1] : self.span(right)[0]].decode()


# ------------------------------------------------------------------------------------------
# The kinds
# ------------------------------------------------------------------------------------------


def flipped_sign(node: ast.AST, ancestors: list[ast.AST], source: Source) -> Iterator[Edit]:
    """a + b ↔ a − b,  a += b ↔ a −= b,  −a → a"""
    flipped = {ast.Add: ("+", "-"), ast.Sub: ("-", "+")}
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right) if is_number(node):
            old, new = flipped[type(op)]
            middle = source.between(left, right).replace(old, new, 1)
            first, last = source.span(node)[0], source.span(left)[1]
            head = source.bytes[first:last].decode()  # with an opening bracket, if there is one
            tail = source.bytes[source.span(right)[0] : source.span(node)[1]].decode()
            yield Edit(node, head + middle + tail)
        case ast.AugAssign(target, ast.Add() | ast.Sub() as op, value) if is_number(value):
            old, new = flipped[type(op)]
            middle = source.between(target, value).replace(old, new, 1)
            yield Edit(node, source.text(target) + middle + source.text(value))
        case ast.UnaryOp(ast.USub(), operand):
            whole = isinstance(operand, ast.Constant) and isinstance(operand.value, int)
            if not whole:  # which would be an axis or a place
                yield Edit(node, source.text(operand))


def dropped_term(node: ast.AST, ancestors: list[ast.AST], source: Source) -> Iterator[Edit]:
    """a + b → a,  a − b → a,  a·b → a,  a += b → nothing,  a *= b → nothing"""
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult(), right):
            if is_number(node) and not is_eps(right):
                yield Edit(node, f"({source.text(left)})")
        case ast.AugAssign(_, ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), value):
            if is_number(value) and not is_eps(value):
                yield Edit(node, "pass")


def wrong_axis(node: ast.AST, ancestors: list[ast.AST], source: Source) -> Iterator[Edit]:
    """Another dimension: as axis= or dim=, as its default, in x.sum(0) and x.shape[0]."""
    match node:
        case ast.keyword(arg, value) if arg in AXES:
            yield from _other_axis(value)
        case ast.FunctionDef(args=arguments):
            names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)][::-1]
            for name, default in zip(names, arguments.defaults[::-1]):
                if name in AXES:
                    yield from _other_axis(default)
        case ast.Call(ast.Attribute(attr=name), [first, *_]) if name in FIRST_IS_AXIS:
            yield from _other_axis(first)
        case ast.Subscript(ast.Attribute(attr="shape" | "strides"), place):
            yield from _other_axis(place)


def _other_axis(node: ast.AST) -> Iterator[Edit]:
    if (axis := whole_number(node)) is not None:
        yield Edit(node, str({-1: 0, 0: 1, 1: 0}.get(axis, axis + 1 if axis < 0 else axis - 1)))


def wrong_eps(node: ast.AST, ancestors: list[ast.AST], source: Source) -> Iterator[Edit]:
    """a + eps → a,  1e-5 → 1e-2"""
    match node:
        case ast.BinOp(left, ast.Add(), right) if is_eps(right) and is_number(node):
            yield Edit(node, f"({source.text(left)})")
        case ast.AugAssign(_, ast.Add(), value) if is_eps(value):
            yield Edit(node, "pass")
        case ast.Constant(value=float(value)) if 0 < value < TINY:
            yield Edit(node, f"{value * 1000:g}")


def missing_copy(node: ast.AST, ancestors: list[ast.AST], source: Source) -> Iterator[Edit]:
    """x.copy() → x,  own_copy(x) → x,  copy=True → copy=False"""
    match node:
        case ast.Call(ast.Attribute(value=x, attr="copy" | "clone"), []):
            yield Edit(node, source.text(x))
        case ast.Call(function, [x]) if name_of(function) in COPIES:
            yield Edit(node, source.text(x))
        case ast.keyword(arg="copy", value=ast.Constant(value=True) as value):
            yield Edit(value, "False")


def wrong_constant(node: ast.AST, ancestors: list[ast.AST], source: Source) -> Iterator[Edit]:
    """0.5 → 0.25,  1 → 2,  in a sum, product or power, and in a kernel's f32(…)"""
    match node:
        case ast.Constant(value=int(value) | float(value)) if not isinstance(value, bool):
            parent = ancestors[-1]
            factor = isinstance(parent, ast.BinOp) and is_number(parent)
            kernel = isinstance(parent, ast.Call) and name_of(parent.func) == "f32"
            if (factor or kernel) and not 0 < value < TINY:
                other = {0: 1, 0.5: 0.25}.get(value, value + 1)
                yield Edit(node, repr(type(value)(other)))


KINDS: dict[str, Callable[[ast.AST, list[ast.AST], Source], Iterator[Edit]]] = {
    "flipped sign": flipped_sign,
    "dropped term": dropped_term,
    "wrong axis": wrong_axis,
    "wrong eps": wrong_eps,
    "missing copy": missing_copy,
    "wrong constant": wrong_constant,
}


def is_number(node: ast.AST) -> bool:
    """Whether an expression may be a number: no part of it is a text, tuple or list."""
    return not any(
        isinstance(part, (ast.JoinedStr, ast.Tuple, ast.List))
        or (isinstance(part, ast.Constant) and isinstance(part.value, (str, bytes)))
        for part in _operands(node)
    )


def _operands(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        yield from _operands(node.left)
        yield from _operands(node.right)
    else:
        yield node


def is_eps(node: ast.AST) -> bool:
    tiny = isinstance(node, ast.Constant) and isinstance(node.value, float)
    return "eps" in name_of(node) or (tiny and 0 < node.value < TINY)  # type: ignore[attr-defined]


def whole_number(node: ast.AST) -> int | None:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(value=int(value))):
            return -value
    return None


# ------------------------------------------------------------------------------------------
# Finding them
# ------------------------------------------------------------------------------------------


def mutations_of(text: str, package: str, path: str) -> list[Mutation]:
    """Every mutation of a file's text."""
    source, found = Source(text), []
    seen: Counter = Counter()
    for node, ancestors in nodes_to_change(source.tree):
        for kind, find in KINDS.items():
            for edited, after in find(node, ancestors, source):
                function, before = _qualified_name([*ancestors, node]), source.text(edited)
                place = seen[function, before, after]
                seen[function, before, after] += 1
                found.append(Mutation(
                    package, kind, path, function, edited.lineno, *source.span(edited), before,
                    after, place,
                ))  # fmt: skip
    return found


def _qualified_name(nodes: list[ast.AST]) -> str:
    """As `__qualname__`; a default is counted to the function that it belongs to."""
    name, outer = "", None
    for node in nodes:
        if isinstance(node, (*Function, ast.ClassDef)):
            joint = ".<locals>." if isinstance(outer, Function) else "." if outer else ""
            name, outer = name + joint + node.name, node
    return name


def all_mutations(root: Path = ROOT) -> list[Mutation]:
    """Those of all packages."""
    return [
        mutation
        for package in PACKAGES
        for path in sources(package, root)
        for mutation in mutations_of((root / path).read_text(), package, path)
    ]


def sample(mutations: list[Mutation], count: int, seed: int) -> list[Mutation]:
    """So many of them, by turns from each package, and within a package from each kind.

    The order within a kind depends on what the mutation is, not on where: it stays as it is while
    other code changes.
    """

    def shuffled(mutation: Mutation) -> str:
        return hashlib.sha256(repr((seed, *mutation.key)).encode()).hexdigest()

    shelves: dict[str, dict[str, list[Mutation]]] = {}
    for mutation in sorted(mutations, key=shuffled):
        shelves.setdefault(mutation.package, {}).setdefault(mutation.kind, []).append(mutation)
    packages = [list(by_turns([*kinds.values()])) for kinds in shelves.values()]
    return list(itertools.islice(by_turns(packages), count))


def by_turns(lists: list[list]) -> Iterator:
    """The first of each list, the second of each, …"""
    for row in itertools.zip_longest(*lists):
        yield from (item for item in row if item is not None)
