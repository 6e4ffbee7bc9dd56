"""Pack a graph for the page: each string and shape once, numbers as one block of float32.

`explore-data.js` reads this format; change both together. Arrays that occur several times, such as
a gradient that an addition passes on, are stored once.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...text import NAME, TEXT, cut, one_line
from ..data.graph import Graph, TracedNode
from ..data.values import BINS, Value
from ..data.wrong_order import WrongWalk
from .room_layout import labels, lay_out, pictures
from .rooms import Room, Rooms, build

KINDS = ("op", "parameter", "leaf", "constant")
ENTRIES = ("node", "room", "in", "out")
BUDGET = 350_000  # numbers in a page, about 1.9 MB; the largest matrices become summaries
LIMITS = (4096, 1024, 512, 256, 128, 64, 32, 16, 4)  # candidates for the most elements of a matrix
NOTHING = -1


class Pool:
    """Items that are stored once and referred to by index."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._places: dict[Any, int] = {}

    def put(self, item: Any, key: Any = None) -> int:
        """The index of an item; `key` identifies items that are not hashable."""
        key = item if key is None else key
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self.items)
            self.items.append(item)
        return place


class Texts:
    """Names, cut to the length that a page shows, each stored once."""

    def __init__(self) -> None:
        self.pool = Pool()

    @property
    def items(self) -> list[str]:
        return self.pool.items

    def put(self, text: str, most: int = NAME) -> int:
        """The index of a name, cut to `most` characters."""
        return self.pool.put(one_line(text, most))


class Numbers:
    """All values of a page. The code of each is its shape's index and a bit for summaries."""

    def __init__(self, shapes: Pool, limit: int):
        self.shapes, self.limit = shapes, limit
        self.codes: list[int] = []
        self._chunks: list[bytes] = []
        self._by_content: dict[tuple[int, bytes], int] = {}
        self._by_id: dict[int, int] = {}

    def put(self, value: Value | None) -> int:
        """The index by which the page refers to a value."""
        if value is None:
            return NOTHING
        known = self._by_id.get(id(value))
        if known is None:
            known = self._by_id[id(value)] = self._store(value)
        return known

    def _store(self, value: Value) -> int:
        summary = not value.is_small or math.prod(value.shape) > self.limit
        numbers = _summary(value.summary()) if summary else value.data
        # A float64 that is too large for float32 becomes infinity.
        with np.errstate(over="ignore"):
            content = np.asarray(numbers, dtype=np.float64).astype("<f4").tobytes()
        code = 2 * self.shapes.put(tuple(value.shape)) + summary
        place = self._by_content.get((code, content))
        if place is None:
            place = self._by_content[code, content] = len(self.codes)
            self.codes.append(code)
            self._chunks.append(content)
        return place

    def text(self) -> str:
        """All numbers, as base64."""
        return base64.b64encode(b"".join(self._chunks)).decode()


def _summary(value: Value) -> list[float]:
    """min, max, mean, std, nan, inf and the bins."""
    histogram = value.histogram or (0,) * BINS
    return [value.low, value.high, value.mean, value.std, value.nan, value.inf, *histogram]


def pack(graph: Graph, wrong: WrongWalk | None) -> tuple[dict[str, Any], str]:
    """(data for JSON, the block of numbers) of the page."""
    rooms = build(graph)
    named = labels(graph)
    texts, shapes, names, formulas, sources = Texts(), Pool(), Pool(), Pool(), Pool()
    numbers = Numbers(shapes, affordable_limit(graph))

    def pack_node(node: TracedNode) -> list[Any]:
        arguments = ", ".join(f"{key}={value}" for key, value in node.arguments.items())
        source = NOTHING
        if node.source is not None:
            file, line, code = node.source
            shown = [one_line(file, 2 * NAME), line, one_line(code, TEXT)]
            source = sources.put(shown, node.source)
        formula = NOTHING
        if node.formula is not None:
            formula = formulas.put(_formula(node), id(node.formula))
        return [
            KINDS.index(node.kind), texts.put(named[node.id]), texts.put(node.op),
            texts.put(node.module), shapes.put(tuple(node.shape)), texts.put(node.dtype),
            [NOTHING if i is None else i for i in node.inputs],
            names.put([one_line(name) for name in node.argument_names], tuple(node.argument_names)),
            texts.put(arguments, TEXT),
            source, numbers.put(node.value), numbers.put(node.grad), rooms.home[node.id].index,
            formula,
        ]  # fmt: skip

    found = pictures(graph, rooms)
    layouts, which = lay_out(found)
    failed = [node.id for node in graph.nodes if node.failed]
    data = {
        "nodes": [pack_node(node) for node in graph.nodes],
        "rooms": [_room(room, texts) for room in rooms.all],
        "layouts": layouts,
        "pictures": [
            [
                picture.room.index,
                layout,
                [ENTRIES.index(entry.kind) for entry in picture.entries],
                [entry.key for entry in picture.entries],
                [frame.index for frame in picture.frames],
            ]
            for picture, layout in zip(found, which)
        ],
        "backward": _steps(graph, numbers),
        "wrong": None if wrong is None else _wrong(wrong, numbers),
        "loss": graph.loss,
        "failed": failed[0] if failed else NOTHING,
        "error": cut(graph.error, TEXT),
        "start": _first_room(rooms),
        "texts": texts.items,
        "shapes": shapes.items,
        "names": names.items,
        "formulas": formulas.items,
        "sources": sources.items,
        "values": numbers.codes,
    }
    return data, numbers.text()


def _formula(node: TracedNode) -> dict[str, Any]:
    assert node.formula is not None
    return {
        "forward": one_line(node.formula.forward, TEXT),
        "gradients": {one_line(k): one_line(v, TEXT) for k, v in node.formula.gradients.items()},
        "definitions": [one_line(text, TEXT) for text in node.formula.definitions],
        "notes": one_line(node.formula.notes, TEXT),
    }


def _room(room: Room, texts: Texts) -> list[int]:
    parent = NOTHING if room.parent is None else room.parent.index
    label, class_name = texts.put(room.label), texts.put(room.class_name)
    return [texts.put(room.path), label, class_name, parent, room.call, room.ops, int(room.inline)]


def _steps(graph: Graph, numbers: Numbers) -> list[list[Any]] | None:
    """[node, gradient, [[place, target, contribution, after], …], slots] for each backward step."""
    if graph.steps is None:
        return None
    return [
        [
            step.node,
            numbers.put(step.gradient),
            [
                [c.position, c.target, numbers.put(c.value), numbers.put(c.after)]
                for c in step.contributions
            ],
            [numbers.put(slot) for slot in step.slots],
        ]
        for step in graph.steps
    ]


def _wrong(walk: WrongWalk, numbers: Numbers) -> dict[str, Any]:
    return {
        "order": walk.order,
        "gradients": [numbers.put(value) for value in walk.gradients],
        "arrivals": [[node, *positions] for node, positions in walk.arrivals.items()],
        "final": [[node, numbers.put(value)] for node, value in walk.final.items()],
        "errors": [[node, float(f"{error:.4g}")] for node, error in walk.errors.items()],
    }


def _first_room(rooms: Rooms) -> int:
    """The index of the first room to show: the outermost with more than one box."""
    room = rooms.all[0]
    while len(room.items) == 1 and isinstance(room.items[0], Room) and not room.items[0].inline:
        room = room.items[0]
    return room.index


def affordable_limit(graph: Graph) -> int:
    """The size limit of matrices, the largest for which all of them fit into the budget."""
    sizes = [math.prod(value.shape) for value in _all_values(graph) if value.is_small]
    for limit in LIMITS:
        if sum(size for size in sizes if size <= limit) <= BUDGET:
            return limit
    return LIMITS[-1]


def _all_values(graph: Graph) -> Iterator[Value]:
    """The distinct values of a graph."""
    found: dict[int, Value] = {}
    for node in graph.nodes:
        found.update((id(v), v) for v in (node.value, node.grad) if v is not None)
    for step in graph.steps or ():
        found.update((id(c.value), c.value) for c in step.contributions)
    return iter(found.values())
