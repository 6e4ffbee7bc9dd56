"""Graph: the result of `trace`, as plain data from which every picture is drawn.

    Graph
      nodes      ops, parameters, leaves and constants, each before its users
      modules    {path: ModuleInfo}, the tree of the modules that ran
      steps      the backward walk: one TracedStep for each node, in the engine's order
      loss       the id of the node where the walk starts

A node's id is its index in `nodes`. `save` and `load` use JSON.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from typing import Any

from ...autograd.site import Site
from ...text import TEXT, encodable_json, one_line
from ..files import write_text
from .formula import Formula
from .values import Value, shortest

FORMAT = 1  # of the JSON; `load` refuses any other


@dataclass
class TracedNode:
    """One op, or one tensor that was not made by an op.

    kind            "op", "parameter", "leaf" (a tracked tensor of the user) or "constant"
    name            "linear"; "blocks.0.attn.weight"; for a leaf or constant the variable's name
    op              the class name of an op; "Output" for one of several outputs of an op
    variable        the user's variable for the output of an op, if it was recorded
    module          path of the module it is in, such as "GPT.blocks.0.attn"; "" outside
    inputs          for each argument of an op: the id of its node, or None
    argument_names  their names, as in the formula
    arguments       {name: text} of the arguments that are not tensors
    source          the line of the user's code that made it
    value, grad     of the output; None if not known
    failed          True if forward raised here
    """

    id: int
    kind: str
    name: str
    op: str = ""
    variable: str = ""
    module: str = ""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    inputs: list[int | None] = field(default_factory=list)
    argument_names: list[str] = field(default_factory=list)
    arguments: dict[str, str] = field(default_factory=dict)
    source: Site | None = None
    value: Value | None = None
    grad: Value | None = None
    formula: Formula | None = None
    failed: bool = False

    @property
    def parents(self) -> list[int]:
        """The ids of its input nodes, in order; an input used twice is listed twice."""
        return [i for i in self.inputs if i is not None]


@dataclass
class ModuleInfo:
    """A module that ran. `parent` is the path of its caller, "" for none."""

    path: str
    class_name: str = ""
    parent: str = ""
    children: list[str] = field(default_factory=list)
    calls: int = 1

    @property
    def name(self) -> str:
        """Its name inside its parent: "blocks.0"."""
        return self.path[len(self.parent) + 1 :] if self.parent else self.path


@dataclass
class TracedContribution:
    """A term that a step adds to the gradient of one input: after = before + value.

    position   which argument of the op the input is
    target     the id of the input's node
    rule       the formula, "dx = g·W"; "" if the op has none
    before     None for the first contribution to a node
    """

    position: int
    target: int
    rule: str
    value: Value
    before: Value | None
    after: Value


@dataclass
class TracedStep:
    """One step of the backward walk: a node whose gradient is complete passes it on.

    An op with several outputs has no `gradient` but `slots`, one for each output. A leaf has no
    contributions.
    """

    node: int
    gradient: Value | None = None
    contributions: list[TracedContribution] = field(default_factory=list)
    slots: list[Value | None] = field(default_factory=list)


@dataclass
class Graph:
    """A computation graph as plain data; see the module docstring."""

    nodes: list[TracedNode] = field(default_factory=list)
    modules: dict[str, ModuleInfo] = field(default_factory=dict)
    steps: list[TracedStep] | None = None
    loss: int | None = None
    error: str = ""  # the message, if forward failed

    def consumers(self) -> list[list[int]]:
        """For each node, the ids of the ops that use it, one entry for each use."""
        users: list[list[int]] = [[] for _ in self.nodes]
        for node in self.nodes:
            for parent in node.parents:
                users[parent].append(node.id)
        return users

    def within(self, path: str) -> Iterator[TracedNode]:
        """The nodes inside a module and its submodules."""
        return (n for n in self.nodes if n.module == path or n.module.startswith(f"{path}."))

    def __repr__(self) -> str:
        ops = sum(node.kind == "op" for node in self.nodes)
        text = f"Graph({ops} ops, {len(self.nodes) - ops} leaves, {len(self.modules)} modules"
        return text + (f", failed: {one_line(self.error, TEXT)})" if self.error else ")")

    # --------------------------------------------------------------------------------------
    # JSON
    # --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The graph as lists, dicts, strings and numbers; default values are left out.

        Each op's formula is stored once, in "formulas", and nodes refer to it by number.
        NaN and infinities, which JSON lacks, are the strings "NaN", "Infinity" and "-Infinity".
        """
        writer = _Writer()
        return {
            "format": FORMAT,
            "nodes": writer.plain(self.nodes),
            "modules": writer.plain(self.modules),
            "steps": writer.plain(self.steps),
            "formulas": writer.formulas,
            "loss": self.loss,
            "error": self.error,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Graph:
        """The graph from the result of `to_dict`."""
        if plain.get("format") != FORMAT:
            raise ValueError(
                f"graph: got JSON of format {plain.get('format')!r}, expected {FORMAT}; "
                "save the graph again with this version"
            )
        formulas = [Formula(**f) for f in plain["formulas"]]
        steps = plain["steps"]
        return cls(
            nodes=[_node(n, formulas) for n in plain["nodes"]],
            modules={path: ModuleInfo(**m) for path, m in plain["modules"].items()},
            steps=None if steps is None else [_step(s) for s in steps],
            loss=plain["loss"],
            error=plain["error"],
        )

    def to_json(self) -> str:
        """The graph as JSON text."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))
        return encodable_json(text)

    @classmethod
    def from_json(cls, text: str) -> Graph:
        """The graph of a JSON text."""
        return cls.from_dict(json.loads(text))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph to a JSON file."""
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Graph:
        """Read a graph from a JSON file."""
        with open(path, encoding="utf-8") as file:
            return cls.from_json(file.read())


class _Writer:
    """Converts dataclasses to dicts of the fields that differ from their default, tuples to lists.

    One Value often occurs several times, as value, before, after and gradient; it is converted
    once.
    """

    def __init__(self) -> None:
        self.values: dict[int, dict] = {}
        self.formulas: list[dict] = []
        self.numbers: dict[int, int] = {}  # of formulas, by id

    def plain(self, thing: Any) -> Any:
        if thing is None or isinstance(thing, (str, int)):
            return thing
        if isinstance(thing, float):
            return thing if math.isfinite(thing) else _in_words(thing)
        if isinstance(thing, Formula):
            return self.number_of(thing)
        if isinstance(thing, Value):
            return self.value(thing)
        if isinstance(thing, dict):
            return {key: self.plain(item) for key, item in thing.items()}
        if isinstance(thing, (list, tuple)):
            return [self.plain(item) for item in thing]
        return self.fields(thing)

    def fields(self, thing: Any) -> dict:
        assert is_dataclass(thing), thing
        known = [(f, getattr(thing, f.name)) for f in fields(thing)]
        return {f.name: self.plain(value) for f, value in known if not _is_default(f, value)}

    def number_of(self, formula: Formula) -> int:
        if id(formula) not in self.numbers:
            self.numbers[id(formula)] = len(self.formulas)
            self.formulas.append(self.fields(formula))
        return self.numbers[id(formula)]

    def value(self, value: Value) -> dict:
        if id(value) not in self.values:
            plain = self.fields(replace(value, data=None))
            if value.data is not None:
                plain["data"] = _finite(shortest(value))
            self.values[id(value)] = plain
        return self.values[id(value)]


def _finite(data: Any) -> Any:
    """Nested lists with strings for NaN and infinities."""
    if not isinstance(data, list):
        return _in_words(data) if isinstance(data, float) and not math.isfinite(data) else data
    if data and not isinstance(data[0], list) and math.isfinite(sum(data)):
        return data  # the usual case, without a test of each number
    return [_finite(item) for item in data]


def _is_default(described: Any, value: Any) -> bool:
    if described.default_factory is not MISSING:
        return not value
    return described.default is not MISSING and value == described.default


def _in_words(x: float) -> str:
    return "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"


def _numbers(data: Any) -> Any:
    """Nested lists with the strings for NaN and infinities converted back."""
    if isinstance(data, list):
        return [_numbers(item) for item in data]
    return float(data) if isinstance(data, str) else data


def _value(plain: dict | None) -> Any:
    if plain is None:
        return None
    known = {name: _numbers(item) for name, item in plain.items() if name != "dtype"}
    known["shape"] = tuple(plain["shape"])
    known["histogram"] = tuple(plain.get("histogram", ()))
    return Value(dtype=plain["dtype"], **known)


def _node(plain: dict, formulas: list[Formula]) -> TracedNode:
    known = dict(plain)
    known["shape"] = tuple(plain.get("shape", ()))
    known["value"], known["grad"] = _value(plain.get("value")), _value(plain.get("grad"))
    if "source" in plain:
        known["source"] = Site(*plain["source"])
    if "formula" in plain:
        known["formula"] = formulas[plain["formula"]]
    return TracedNode(**known)


def _step(plain: dict) -> TracedStep:
    contributions = [
        TracedContribution(
            c["position"], c["target"], c["rule"],
            _value(c["value"]), _value(c["before"]), _value(c["after"]),
        )
        for c in plain.get("contributions", ())
    ]  # fmt: skip
    slots = [_value(slot) for slot in plain.get("slots", ())]
    return TracedStep(plain["node"], _value(plain.get("gradient")), contributions, slots)
