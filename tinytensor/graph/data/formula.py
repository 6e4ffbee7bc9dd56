"""Formula: the equations of an op, read from its docstring, where they are written once.

    "y = x·n, n = …;  dx = g·n, dn = …"

First comes the output, then definitions, then the gradient of each input by its name in forward,
or by a letter of it: W or w for weight, Q for query.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...autograd import Op
from ...autograd.function import Function
from ...autograd.function_ctx import FunctionCtx

NAME = r"[^\W\d]\w*[̄']*(?:\[[^\]]*\]|\(x\))?"  # x, xₖ, n̄, y[…, i], φ(x)
EQUATION = re.compile(rf"(?:^|, |: )({NAME}(?:, (?:{NAME}|…))*) = ")
REFERENCE = re.compile(r"(, then )?as in (\w+)")
GREEK = {"Δ": "delta", "α": "alpha", "β": "beta"}


@dataclass
class Formula:
    """The equations of one op.

    forward       "y = x·Wᵀ + b"
    gradients     {"x": "dx = g·W", "weight": "dW = gᵀ·x"}, by forward's names; g is dL/dy
    definitions   equations of other symbols
    notes         the rest of the docstring
    """

    forward: str = ""
    gradients: dict[str, str] = field(default_factory=dict)
    definitions: list[str] = field(default_factory=list)
    notes: str = ""


@functools.cache
def formula_of(op: type) -> Formula:
    """The formula of an Op class, or of the class of a Function's node."""
    source: Any = op.function if issubclass(op, FunctionCtx) else op
    written = source not in (Function, Op) and source.__dict__.get("__doc__")
    head, _, notes = inspect.cleandoc(written or "").partition("\n\n")
    equations = _equations(" ".join(head.split()))
    if not equations:
        return Formula(notes=inspect.cleandoc(written or ""))

    arguments = argument_names(op)
    formula = Formula(forward="{} = {}".format(*equations[0]), notes=notes.replace("\n", " "))
    unplaced = []  # gradients of other symbols, such as dS of scores
    for left, right in equations[1:]:
        reference = REFERENCE.search(right)
        if reference:
            right = right[: reference.start()]
            if right:
                formula.definitions.append(f"{left} = {right}")
            _take_over(formula, reference[2], left if reference[1] else "g")
            continue
        places = [_argument(name, arguments, head) for name in left.split(", ")]
        for place in places:
            if place:
                formula.gradients[place] = f"{left} = {right}"
        if not any(places):
            formula.definitions.append(f"{left} = {right}")
            if left.startswith("d"):
                unplaced.append(f"{left} = {right}")
    if unplaced and not formula.gradients:  # in parts: da, db for the halves of x
        formula.definitions = [d for d in formula.definitions if d not in unplaced]
        formula.gradients[arguments[0]] = ", ".join(unplaced)
    return formula


@functools.cache
def argument_names(op: type) -> tuple[str, ...]:
    """The names of forward's arguments, without self or ctx; the last may start with a star."""
    forward: Any = op.forward  # type: ignore[attr-defined]
    skip = 1
    if issubclass(op, FunctionCtx):
        forward = op.function.forward
        separate = op.function.setup_context is not Function.setup_context
        skip = 0 if separate else 1
    parameters = list(inspect.signature(forward).parameters.values())[skip:]
    star = inspect.Parameter.VAR_POSITIONAL
    return tuple(f"*{p.name}" if p.kind is star else p.name for p in parameters)


def name_argument(names: Sequence[str], i: int) -> str:
    """The name of argument i; "tensors[2]" for one of a starred argument."""
    if names and names[-1].startswith("*") and i >= len(names) - 1:
        return f"{names[-1][1:]}[{i - len(names) + 1}]"
    return names[i] if i < len(names) else f"argument {i}"


def rule_for(formula: Formula, argument: str) -> str:
    """The equation of the gradient of an argument: "dx = g·W"; "" if there is none."""
    return formula.gradients.get(argument.partition("[")[0], "")


def _equations(text: str) -> list[tuple[str, str]]:
    """The (left, right) sides in a docstring's first paragraph, in order."""
    found = []
    for statement in text.split(";"):
        statement = statement.strip().rstrip(".")
        starts = list(EQUATION.finditer(statement))
        for start, following in zip(starts, [*starts[1:], None]):
            end = following.start() if following else len(statement)
            found.append((start[1], statement[start.end() : end].strip()))
    return found


def _argument(name: str, arguments: Sequence[str], text: str) -> str:
    """The argument whose gradient `name` is: x for dx, dxₖ and dx[i]; weight for dW. Or ""."""
    if not name.startswith("d"):
        return ""
    symbol = re.match(r"[A-Za-z_Δαβ]+", name[1:])
    if symbol is None:
        return ""
    wanted = GREEK.get(symbol[0], symbol[0])
    plain = [argument.lstrip("*") for argument in arguments]
    if wanted in plain:
        return wanted
    if len(wanted) > 1:
        return ""
    # One letter stands for an argument whose full name the text does not contain.
    begins = [a for a in plain if a[0] == wanted.lower() and not re.search(rf"\b{a}\b", text)]
    if len(begins) == 1:
        return begins[0]
    starred = bool(arguments) and arguments[-1].startswith("*")
    return plain[-1] if starred and wanted == "x" else ""


def _take_over(formula: Formula, name: str, gradient: str) -> None:
    """Add the gradients of the op called `name`, with `gradient` in place of its g."""
    op = op_called(name)
    if op is None:
        raise LookupError(f"formula: a docstring says 'as in {name}', but there is no such op")
    other = formula_of(op)
    known = {equation.partition(" = ")[0] for equation in formula.definitions}
    for equation in other.definitions:
        if equation.partition(" = ")[0] not in known:
            formula.definitions.append(re.sub(r"\bg\b", gradient, equation))
    for argument, equation in other.gradients.items():
        equation = re.sub(r"\bg\b", gradient, equation)
        formula.gradients.setdefault(argument, equation)


def op_called(name: str) -> type | None:
    """The op with that name, such as "LayerNorm" or "layer_norm"; None if there is none."""
    classes: list[type[Op]] = [Op]
    while classes:
        op = classes.pop()
        if name in (op.__name__, op.op_name):
            return op
        classes += op.__subclasses__()
    return None
