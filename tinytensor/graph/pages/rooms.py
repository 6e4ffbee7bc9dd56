"""The modules of a graph as nested rooms; the page draws one room at a time.

A room is one call of a module. It holds ops in the order they ran, the rooms of the modules called
inside it, and the leaves (parameters, inputs, constants) that only its own ops use. Because a room
is a contiguous run of ops, all its inputs ran before it and all its users run after it: a picture
with the inner rooms as boxes has no cycles, even when a module is called several times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..data.graph import Graph

INLINE = 2  # a room with at most this many ops is drawn as a frame in its parent, not as a box
CROWDED = 140  # a room with more items is cut into parts
PART = 60  # items in each of them


@dataclass(eq=False)
class Room:
    """One call of a module, or a part of a long one.

    path      of the module, "" for the whole graph
    label     the title of the box: the path within the parent, or "part 2 of 9"
    call      1 for the first call of the module inside its parent, 2 for the next one
    items     node ids and rooms, in the order they ran
    ops       the number of ops inside, at any depth
    """

    path: str
    label: str
    class_name: str
    parent: Room | None
    call: int = 1
    items: list[int | Room] = field(default_factory=list)
    ops: int = 0
    index: int = 0

    @property
    def inline(self) -> bool:
        """True if it is drawn as a frame in its parent: few ops and no inner rooms."""
        return (
            self.parent is not None
            and self.ops <= INLINE
            and not any(isinstance(item, Room) for item in self.items)
        )

    @property
    def view(self) -> Room:
        """The room whose picture shows the content of this one."""
        return self.parent if self.inline and self.parent is not None else self

    def chain(self) -> list[Room]:
        """The rooms from the whole graph down to this one."""
        room, rooms = self, [self]
        while room.parent is not None:
            room = room.parent
            rooms.append(room)
        return rooms[::-1]


@dataclass
class Rooms:
    """All rooms of a graph, parents first, and the room of each node."""

    all: list[Room]
    home: dict[int, Room]

    @property
    def views(self) -> list[Room]:
        """The rooms with a picture of their own."""
        return [room for room in self.all if not room.inline]


def build(graph: Graph) -> Rooms:
    """The rooms of a graph."""
    root = Room("", "graph", "", None)
    _place_ops(graph, root)
    _part_calls(graph, root)
    _count(root)
    for room in list(_walk(root)):
        _cut_into_parts(room)
    home = {item: room for room in _walk(root) for item in room.items if isinstance(item, int)}
    _place_leaves(graph, home, root)
    rooms = list(_walk(root))
    for index, room in enumerate(rooms):
        room.index = index
    return Rooms(rooms, home)


def _walk(root: Room) -> Iterator[Room]:
    """A room and all rooms inside it, parents first."""
    stack = [root]
    while stack:
        room = stack.pop()
        yield room
        stack.extend(item for item in reversed(room.items) if isinstance(item, Room))


def _place_ops(graph: Graph, root: Room) -> None:
    """Go through the ops in order, and open and close rooms as their modules change."""
    known = {node.module for node in graph.nodes if node.kind == "op"}
    known.update(path for path, module in graph.modules.items() if module.calls)
    known.discard("")
    open_rooms = [root]
    for node in graph.nodes:
        if node.kind != "op":
            continue
        paths = _prefixes(node.module, known)
        depth = 1
        while depth <= len(paths) and depth < len(open_rooms):
            if open_rooms[depth].path != paths[depth - 1]:
                break
            depth += 1
        del open_rooms[depth:]
        for path in paths[depth - 1 :]:
            open_rooms.append(_open(graph, open_rooms[-1], path))
        open_rooms[-1].items.append(node.id)


def _prefixes(path: str, known: set[str]) -> list[str]:
    """The modules that were called on the way to `path`: a.b.c → a, a.b, a.b.c."""
    parts = path.split(".")
    prefixes = [".".join(parts[: i + 1]) for i in range(len(parts))]
    return [prefix for prefix in prefixes if prefix in known]


def _open(graph: Graph, parent: Room, path: str) -> Room:
    module = graph.modules.get(path)
    label = path[len(parent.path) + 1 :] if parent.path else path
    calls = sum(isinstance(item, Room) and item.path == path for item in parent.items)
    room = Room(path, label, module.class_name if module else "", parent, calls + 1)
    parent.items.append(room)
    return room


def _part_calls(graph: Graph, root: Room) -> None:
    """Separate the calls of a module that follow each other without an op in between.

    They look like one run of ops. If the run repeats one sequence as often as the module was
    called, each repetition is a call.
    """
    rooms = list(_walk(root))
    runs = Counter(room.path for room in rooms)
    for room in rooms:
        module = graph.modules.get(room.path)
        calls, rest = divmod(module.calls, runs[room.path]) if module else (1, 0)
        if room.parent is None or calls < 2 or rest:
            continue  # fewer calls than runs: parts of it were called separately
        size, uneven = divmod(len(room.items), calls)
        if uneven or not size:
            continue
        kinds = [x.path if isinstance(x, Room) else graph.nodes[x].op for x in room.items]
        if kinds != kinds[:size] * calls:
            continue
        parts = [Room(room.path, room.label, room.class_name, room.parent) for _ in range(calls)]
        for i, part in enumerate(parts):
            part.items = room.items[i * size : (i + 1) * size]
            part.call = room.call + i
            for item in part.items:
                if isinstance(item, Room):
                    item.parent, item.call = part, 1
        place = room.parent.items.index(room)
        room.parent.items[place : place + 1] = parts


def _count(root: Room) -> None:
    for room in reversed(list(_walk(root))):
        room.ops = sum(item.ops if isinstance(item, Room) else 1 for item in room.items)


def _cut_into_parts(room: Room) -> None:
    """Put the items of a crowded room into rooms of about PART items each."""
    while len(room.items) > CROWDED:
        items = room.items
        number = -(-len(items) // PART)
        size = -(-len(items) // number)
        room.items = []
        for i in range(number):
            part = Room(room.path, f"part {i + 1} of {number}", "", room)
            part.items = items[i * size : (i + 1) * size]
            for item in part.items:
                if isinstance(item, Room):
                    item.parent = part
            part.ops = sum(item.ops if isinstance(item, Room) else 1 for item in part.items)
            room.items.append(part)


def _place_leaves(graph: Graph, home: dict[int, Room], root: Room) -> None:
    """Put each leaf into the innermost room that contains all of its users."""
    users: dict[int, list[int]] = {}
    for node in graph.nodes:
        if node.kind == "op":
            for source in node.inputs:
                if source is not None and graph.nodes[source].kind != "op":
                    users.setdefault(source, []).append(node.id)
    found: dict[Room, dict[int | Room, list[int]]] = {}
    for leaf, ops in users.items():
        chains = [home[op].chain() for op in ops]
        depth = 0
        while all(len(c) > depth + 1 for c in chains) and len({c[depth + 1] for c in chains}) == 1:
            depth += 1
        room = chains[0][depth]
        first_user = chains[0][depth + 1] if len(chains[0]) > depth + 1 else ops[0]
        found.setdefault(room, {}).setdefault(first_user, []).append(leaf)
        home[leaf] = room
    for room, before in found.items():
        room.items = [x for item in room.items for x in (*before.get(item, ()), item)]
    for node in graph.nodes:
        if node.id not in home:  # a leaf that nothing uses
            home[node.id] = root
            root.items.append(node.id)
