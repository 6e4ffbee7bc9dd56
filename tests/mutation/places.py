"""Where mutations are made: nine packages, without what no test could or should notice.

Left out by rule, never by hand:

- text: strings, `raise` and `warn(…)`, `__repr__` and the like, files that only write text;
- annotations, and what only type checkers read;
- choices of speed: arguments of decorators (from which size on a kernel runs), whole numbers named
  LIKE_THIS at the top of a file (sizes of blocks and tiles), comparisons with such names;
- defaults of parameters that exist for PyTorch's sake and that the function never reads;
- kernels for a GPU, which are text until a GPU compiles them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "ops": "tinytensor/ops/",
    "autograd": "tinytensor/autograd/",
    "nn": "nn/",
    "optim": "tinytensor/optim/",
    "kernels": "tinytensor/kernels/",
    "linalg": "tinytensor/linalg/",
    "special": "tinytensor/special/",
    "sparse": "tinytensor/sparse/",
    "distributions": "tinytensor/distributions/",
}
FILES_LEFT_OUT = ("tinytensor/kernels/gpu/", "nn/summary.py", "tinytensor/autograd/site.py")
TEXT_FUNCTIONS = {"__repr__", "__str__", "__format__", "extra_repr"}
TEXT_CALLS = {"warn", "print"}

Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def sources(package: str, root: Path = ROOT) -> Iterator[str]:
    """The files of a package in which mutations are made, relative to the root."""
    for file in sorted((root / PACKAGES[package]).rglob("*.py")):
        path = file.relative_to(root).as_posix()
        if not path.startswith(FILES_LEFT_OUT):
            yield path


def nodes_to_change(tree: ast.Module) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """The nodes that the rules above do not leave out, each with its ancestors, outermost first."""
    skipped = {child for node in ast.walk(tree) for child in _left_out(node)}
    stack: list[tuple[ast.AST, list[ast.AST]]] = [(tree, [])]
    while stack:
        node, ancestors = stack.pop()
        yield node, ancestors
        children = [child for child in ast.iter_child_nodes(node) if child not in skipped]
        stack += [(child, [*ancestors, node]) for child in reversed(children)]


def _left_out(node: ast.AST) -> Iterator[ast.AST]:
    """The node itself, or those of its children that a rule leaves out."""
    match node:
        case ast.Raise() | ast.JoinedStr():
            yield node
        case ast.Call() if name_of(node.func) in TEXT_CALLS:
            yield node
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            yield node
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if node.name in TEXT_FUNCTIONS:
                yield node
            yield from node.decorator_list
            yield from filter(None, [node.returns])
            yield from _unread_defaults(node)
        case ast.ClassDef():
            yield from node.decorator_list
        case ast.arg(annotation=ast.AST()) | ast.AnnAssign():
            yield node.annotation  # type: ignore[misc]
        case ast.Module():
            yield from (line for line in node.body if _sets_size(line))
        case ast.Compare():
            if any(name_of(side).isupper() for side in (node.left, *node.comparators)):
                yield node


def _unread_defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    read = {n.id for line in function.body for n in ast.walk(line) if isinstance(n, ast.Name)}
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(positional[::-1], arguments.defaults[::-1])]
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None]
    return (default for argument, default in pairs if argument.arg not in read)


def _sets_size(line: ast.stmt) -> bool:
    """Whether a line at the top of a file gives whole numbers to names LIKE_THIS."""
    if not isinstance(line, ast.Assign):
        return False
    names = [n.id for target in line.targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    numbers = [n.value for n in ast.walk(line.value) if isinstance(n, ast.Constant)]
    return all(map(str.isupper, names)) and not any(isinstance(n, float) for n in numbers)


def name_of(node: ast.AST) -> str:
    """`f` of f, x.f and x["f"]; otherwise nothing."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return ""
