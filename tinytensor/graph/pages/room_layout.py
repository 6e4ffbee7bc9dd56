"""A picture for each room, laid out in advance by Graphviz, so the page needs no layout code.

Graphviz gets only sizes and edges; the page writes the labels. So rooms of equal geometry, such as
the twelve blocks of a GPT, share one layout, and no name can break the DOT text.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ...text import one_line
from ..data.graph import Graph, TracedNode
from ..drawing.graphviz import run_dot
from .rooms import Room, Rooms

POINTS = 72  # Graphviz's points in an inch
CHARACTER = 6.7  # width of a letter of the page's labels
THUMBNAIL = 34  # the width of the small picture of a value, and of that of its gradient
HEIGHT = 44
BOX_HEIGHT = 58
PORT = (124, 26)
STEP = 12  # widths are rounded up to a multiple, so that similar rooms share a layout
CONSTANT_HEIGHT = 24
SPINE = 12  # the weight of edges from ops, which makes them straighter than those of leaves
BESIDE = 2  # most leaves beside an op
LONG_ROW = 6  # more alike entries are put into several rows


@dataclass
class Entry:
    """An item of a room: a node, an inner room, or a port to the outside.

    kind     "node", "room", or "in" and "out" for ports
    key      the id of the node (of a port: outside or inside), or the index of the room
    frame    the inline room around it
    """

    kind: str
    key: int
    width: int
    height: int
    frame: Room | None = None
    is_made: bool = True  # by an op; False for a leaf


@dataclass
class Picture:
    """The content of a room: entries in a fixed order, and edges between their indices."""

    room: Room
    entries: list[Entry]
    edges: list[tuple[int, int]]
    frames: list[Room] = field(default_factory=list)

    def geometry(self) -> tuple:
        """Everything that the layout depends on."""
        sizes = tuple((e.width, e.height, e.kind, e.is_made) for e in self.entries)
        frames = tuple(self.frames.index(e.frame) if e.frame else -1 for e in self.entries)
        return sizes, frames, tuple(self.edges)


def pictures(graph: Graph, rooms: Rooms) -> list[Picture]:
    """One picture for each room that has one."""
    users = graph.consumers()
    names = labels(graph)
    return [_picture(graph, users, names, room) for room in rooms.views]


def _picture(graph: Graph, users: list[list[int]], names: list[str], room: Room) -> Picture:
    picture = Picture(room, [], [])

    def add_node(index: int, frame: Room | None) -> None:
        node = graph.nodes[index]
        place[index] = len(picture.entries)
        letters = max(len(short_name(node, names[index])), len(shape_text(node.shape)))
        constant = node.kind == "constant"
        width = round_up(letters * CHARACTER + (34 if constant else 16 + 2 * THUMBNAIL))
        height = CONSTANT_HEIGHT if constant else HEIGHT
        picture.entries.append(Entry("node", index, width, height, frame, node.kind == "op"))

    place: dict[int, int] = {}  # node → entry, for all nodes inside, at any depth
    for item in room.items:
        if isinstance(item, int):
            add_node(item, None)
        elif item.inline:
            picture.frames.append(item)
            for inner in item.items:
                assert isinstance(inner, int)  # an inline room holds no rooms
                add_node(inner, item)
        else:
            for inner in _nodes(item):
                place[inner] = len(picture.entries)
            picture.entries.append(Entry("room", item.index, _box_width(item), BOX_HEIGHT))
    edges: dict[tuple[int, int], None] = {}  # a set that keeps its order
    ports: dict[tuple[str, int], int] = {}
    for inside in sorted(place):
        for source in graph.nodes[inside].inputs:
            if source is None:
                continue
            start = place.get(source)
            if start is None:
                start = _port("in", source, picture, ports)
            if start != place[inside]:
                edges[start, place[inside]] = None
        if any(user not in place for user in users[inside]):
            edges[place[inside], _port("out", inside, picture, ports)] = None
    picture.edges = list(edges)
    return picture


def _nodes(room: Room) -> list[int]:
    """The nodes in a room, at any depth."""
    found: list[int] = []
    stack: list[int | Room] = [room]
    while stack:
        item = stack.pop()
        if isinstance(item, Room):
            stack.extend(item.items)
        else:
            found.append(item)
    return found


def _port(kind: str, key: int, picture: Picture, ports: dict[tuple[str, int], int]) -> int:
    if (kind, key) not in ports:
        ports[kind, key] = len(picture.entries)
        picture.entries.append(Entry(kind, key, *PORT))
    return ports[kind, key]


def _box_width(room: Room) -> int:
    letters = max(len(room.label) + (4 if room.call > 1 else 0), len(room.class_name) + 10, 14)
    return round_up(min(letters, 34) * CHARACTER + 40)


def round_up(width: float) -> int:
    return int(-(-width // STEP) * STEP)


def short_name(node: TracedNode, name: str) -> str:
    """The text on a node, cut: the name, or the last part of a parameter's path."""
    short = name.rsplit(".", 1)[-1] if node.kind == "parameter" else name
    return short if len(short) <= 22 else short[:21] + "…"


def labels(graph: Graph) -> list[str]:
    """A name for each node: "q = matmul" for an op whose result is the user's variable q.

    A nameless constant gets the name of the argument that it is passed as.
    """
    found = [" = ".join(filter(None, (node.variable, node.name))) for node in graph.nodes]
    for node in graph.nodes:
        for source, argument in zip(node.inputs, node.argument_names):
            if source is not None and not found[source]:
                found[source] = argument
    return [one_line(name or node.kind) for name, node in zip(found, graph.nodes)]


def shape_text(shape: Any) -> str:
    """(4, 8) as 4×8; a scalar as the word."""
    return "×".join(map(str, shape)) if shape else "scalar"


# ------------------------------------------------------------------------------------------
# Graphviz
# ------------------------------------------------------------------------------------------


def lay_out(found: list[Picture]) -> tuple[list[dict[str, Any]], list[int]]:
    """Layouts, and for each picture the index of its own. Each geometry is laid out once."""
    layouts: list[dict[str, Any]] = []
    known: dict[tuple, int] = {}
    indices = []
    for picture in found:
        geometry = picture.geometry()
        if geometry not in known:
            known[geometry] = len(layouts)
            layouts.append(_read(picture, run_dot(to_dot(picture), "json")))
        indices.append(known[geometry])
    return layouts, indices


def to_dot(picture: Picture) -> str:
    """The DOT text of a picture: boxes of fixed size without labels."""
    lines = [
        "digraph {",
        "graph [rankdir=TB, nodesep=0.25, ranksep=0.4, splines=spline]",
        'node [shape=box, fixedsize=true, label=""]',
        "edge [arrowsize=0.6]",
    ]
    for i, entry in enumerate(picture.entries):
        size = f"width={entry.width / POINTS:.4f}, height={entry.height / POINTS:.4f}"
        lines.append(f"n{i} [{size}]")
    beside = _rows(picture)
    for number, frame in enumerate(picture.frames):
        inside = [i for i, entry in enumerate(picture.entries) if entry.frame is frame]
        rows = " ".join(_one_rank("same", beside[i]) for i in inside if i in beside)
        names = " ".join(f"n{i}" for i in inside)
        lines.append(
            f'subgraph cluster_{number} {{ margin=12; label=" "; fontsize=11 {names} {rows} }}'
        )
    for op, row in beside.items():
        if picture.entries[op].frame is None:
            lines.append(_one_rank("same", row))
    for rank, kind in (("source", "in"), ("sink", "out")):
        ports = [i for i, entry in enumerate(picture.entries) if entry.kind == kind]
        if ports:
            lines.append(_one_rank(rank, ports))
    for above, below in _wrapped(picture):
        lines.append(f"n{above} -> n{below} [style=invis]")
    for start, end in picture.edges:
        if start in beside.get(end, ())[2:]:  # right of its op, where Graphviz puts heads
            lines.append(f"n{end} -> n{start} [dir=back]")
        else:
            straight = f" [weight={SPINE}]" if picture.entries[start].is_made else ""
            lines.append(f"n{start} -> n{end}{straight}")
    return "\n".join([*lines, "}"])


def _one_rank(rank: str, places: list[int]) -> str:
    return f"{{ rank={rank}; {' '.join(f'n{i}' for i in places)} }}"


def _rows(picture: Picture) -> dict[int, list[int]]:
    """{op: the op and the leaves beside it}: ops run down, their leaves are at their sides.

    The leaves that only one op uses are beside it, one on the left and one on the right; with more
    of them the row would be long, and they stay above.
    """
    uses = Counter(start for start, _ in picture.edges)
    rows: dict[int, list[int]] = {}
    for start, end in picture.edges:
        leaf, user = picture.entries[start], picture.entries[end]
        if (
            not leaf.is_made
            and uses[start] == 1
            and user.kind == "node"
            and user.frame is leaf.frame
        ):
            rows.setdefault(end, [end]).append(start)
    return {op: row for op, row in rows.items() if len(row) <= BESIDE + 1}


def _wrapped(picture: Picture) -> list[tuple[int, int]]:
    """Pairs (above, below) that wrap a long row of alike entries, such as attention heads."""
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for start, end in picture.edges:
        before.setdefault(end, []).append(start)
        after.setdefault(start, []).append(end)
    alike: dict[tuple, list[int]] = {}
    for i, entry in enumerate(picture.entries):
        if entry.frame is None and entry.kind in ("node", "room") and i in before and i in after:
            alike.setdefault((*before[i], "to", *after[i]), []).append(i)
    rows = [row for row in alike.values() if len(row) > LONG_ROW]
    return [(row[i], row[i + columns])
            for row in rows
            for columns in [round(len(row) ** 0.5) + 1]
            for i in range(len(row) - columns)]  # fmt: skip


def _read(picture: Picture, output: bytes) -> dict[str, Any]:
    """The places in Graphviz's JSON, in whole pixels, with y pointing down."""
    drawn = json.loads(output)
    _, _, width, height = _numbers(drawn["bb"])
    objects = drawn.get("objects", [])
    at: list[list[int]] = [[] for _ in picture.entries]
    frames: list[list[int]] = [[] for _ in picture.frames]
    for thing in objects:
        name = thing["name"]
        if name.startswith("cluster_"):
            left, low, right, high = _numbers(thing["bb"])
            corner = [round(left), round(height - high)]
            frames[int(name[8:])] = [*corner, round(right - left), round(high - low)]
        elif name.startswith("n"):
            x, y = _numbers(thing["pos"])
            entry = picture.entries[int(name[1:])]
            at[int(name[1:])] = [round(x), round(height - y), entry.width, entry.height]
    edges = []
    for edge in drawn.get("edges", []):
        if edge.get("style") == "invis":
            continue
        ends = [int(objects[edge[end]]["name"][1:]) for end in ("tail", "head")]
        if edge.get("dir") == "back":
            ends.reverse()
        edges.append([*ends, _spline(edge["pos"], height)])
    return {"size": [round(width), round(height)], "at": at, "frames": frames, "edges": edges}


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def _spline(pos: str, height: float) -> list[int]:
    """Graphviz's "e,x,y x,y x,y …" as a flat list: a start, Bézier triples, and the arrow's tip.

    With "s,x,y" the tip is at the start, and the curve is reversed.
    """
    points = [_numbers(part) for part in pos.split() if part[0] not in "es"]
    tips = [part for part in pos.split() if part[0] in "es"]
    if tips and tips[0][0] == "s":
        points.reverse()
    points += [_numbers(tip[2:]) for tip in tips]
    return [value for x, y in points for value in (round(x), round(height - y))]
