"""Statements that make a view: `t5 = t2.narrow(0, 1, 2)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .generator import Generator


def statement(g: Generator) -> None:
    name = g.tensor()
    x = g[name]
    kinds = ANY + (WITH_DIMS if x.ndim else ()) + (MATRICES if x.ndim >= 2 else ())
    known = len(g.names)
    g.one(kinds)(g, name)
    if name in g.hidden or name[0] == "g":
        g.hidden.update(g.names[known:])


def factors(g: Generator, size: int) -> tuple[int, ...]:
    """A random shape of `size` elements."""
    if size == 0:
        return (0, g.integer(1, 3))
    shape = []
    while size > 1:
        d = g.one([d for d in range(2, size + 1) if size % d == 0])
        shape.append(d)
        size //= d
    if g.chance(0.2):
        shape.insert(g.integer(0, len(shape) + 1), 1)
    return tuple(shape)


def slice_text(g: Generator, n: int) -> str:
    """A slice of a dimension of size n, seldom empty."""
    start = g.integer(0, max(n, 1))
    stop = g.one(("", g.integer(start, n + 1), "-1"))
    step = g.one(("", "", "2", "3"))
    return f"{start}:{stop}:{step}"


def index_text(g: Generator, shape: tuple) -> str:
    """Integers, slices, None and … as an index."""
    entries = []
    for n in shape[: g.integer(1, len(shape) + 1)]:
        kind = g.choices.random()
        if kind < 0.3 and n:
            entries.append(str(g.integer(-n, n)))
        elif kind < 0.9:
            entries.append(slice_text(g, n))
        else:
            entries += ["None", ":"]
    if g.chance(0.15):
        entries.insert(0, "...")
        entries = [*entries[:1], ":"] if len(shape) == 1 else entries[:1] + ["0:"] * len(shape)
    return ", ".join(entries)


def reshape(g: Generator, name: str) -> None:
    how = g.one(("reshape", "view", "reshape"))
    g.let(f"{name}.{how}({factors(g, g[name].numel())})")


def flat(g: Generator, name: str) -> None:
    g.let(f"{name}.{g.one(('reshape(-1)', 'flatten()', 'ravel()', 'view(-1)'))}")


def view_as(g: Generator, name: str) -> None:
    size = g[name].numel()
    like = g.one([n for n in g.names if g[n].numel() == size] or [name])
    g.let(f"{name}.{g.one(('view_as', 'reshape_as'))}({like})")


def unsqueeze(g: Generator, name: str) -> None:
    n = g[name].ndim
    if n < 4:
        g.let(f"{name}.unsqueeze({g.integer(-n - 1, n + 1)})")


def squeeze(g: Generator, name: str) -> None:
    x = g[name]
    g.let(f"{name}.squeeze({g.dim(x) if x.ndim and g.chance(0.5) else ''})")


def expand(g: Generator, name: str) -> None:
    x = g[name]
    sizes = [n if n != 1 or g.chance(0.4) else g.integer(1, 4) for n in x.shape]
    if x.ndim < 4 and g.chance(0.6):
        sizes.insert(0, g.integer(1, 4))
    how = g.one(("expand", "expand", "broadcast_to"))
    g.let(f"{name}.{how}({tuple(sizes)})")


def outside_the_graph(g: Generator, name: str) -> None:
    how = g.one(("detach()", "detach()", "data"))
    known = len(g.names)
    g.let(f"{name}.{how}")
    if how == "data":
        g.hidden.update(g.names[known:])


def the_same(g: Generator, name: str) -> None:
    g.let(f"{name}{g.one(('[...]', '.contiguous()', '.view(*' + name + '.shape)'))}")


def as_strided(g: Generator, name: str) -> None:
    """Any part of the whole storage, whatever part of it x shows."""
    x = g[name]
    if g.storage(name) in g.gradients:
        return  # their layout is left open
    length = x.untyped_storage().size() // x.element_size()
    offset = g.integer(0, length) if length else 0
    shape, strides = [], []
    room = length - offset - 1
    for _ in range(g.integer(0, 3)):
        stride = g.integer(1, 4)
        size = g.integer(1, max(room // stride, 0) + 2)
        shape.append(min(size, 4))
        strides.append(stride)
        room -= (shape[-1] - 1) * stride
    if length and room >= 0 and _distinct(shape, strides):
        where = "" if x.numel() and x.storage_offset() == offset else f", {offset}"
        g.let(f"{name}.as_strided({tuple(shape)}, {tuple(strides)}{where})")


def _distinct(shape: list[int], strides: list[int]) -> bool:
    """Whether no two elements share memory: what a write to those does is not defined."""
    places = {0}
    for n, stride in zip(shape, strides, strict=True):
        more = {p + i * stride for p in places for i in range(n)}
        if len(more) < len(places) * n:
            return False
        places = more
    return True


def index(g: Generator, name: str) -> None:
    g.let(f"{name}[{index_text(g, tuple(g[name].shape))}]")


def select(g: Generator, name: str) -> None:
    x = g[name]
    dim = g.dim(x)
    if x.shape[dim]:
        g.let(f"{name}.select({dim}, {g.integer(-x.shape[dim], x.shape[dim])})")


def narrow(g: Generator, name: str) -> None:
    x = g[name]
    dim = g.dim(x)
    start = g.integer(0, x.shape[dim] + 1)
    g.let(f"{name}.narrow({dim}, {start}, {g.integer(0, x.shape[dim] - start + 1)})")


def unflatten(g: Generator, name: str) -> None:
    x = g[name]
    dim = g.dim(x)
    sizes = factors(g, x.shape[dim])
    if sizes and x.ndim + len(sizes) <= 5:
        g.let(f"{name}.unflatten({dim}, {sizes})")


def unfold(g: Generator, name: str) -> None:
    x = g[name]
    dim = g.dim(x)
    if x.ndim < 4 and x.shape[dim]:
        size = g.integer(1, x.shape[dim] + 1)
        g.let(f"{name}.unfold({dim}, {size}, {g.integer(size, size + 2)})")


def pieces(g: Generator, name: str) -> None:
    x = g[name]
    dim = g.dim(x)
    if x.shape[dim]:
        how = g.one(("split", "chunk", "unbind"))
        g.let(f"pieces({name}, {how!r}, {g.integer(1, 4)}, {dim})", count=2)


def transpose(g: Generator, name: str) -> None:
    x = g[name]
    how = g.one(("transpose", "swapaxes", "movedim"))
    g.let(f"{name}.{how}({g.dim(x)}, {g.dim(x)})")


def permute(g: Generator, name: str) -> None:
    dims = list(range(g[name].ndim))
    g.choices.shuffle(dims)
    g.let(f"{name}.permute({tuple(dims)})")


def flipped(g: Generator, name: str) -> None:
    g.let(f"{name}.{'T' if g[name].ndim == 2 and g.chance(0.5) else 'mT'}")


def diagonal(g: Generator, name: str) -> None:
    first, second = g.choices.sample(range(g[name].ndim), 2)
    g.let(f"{name}.diagonal({g.integer(-1, 2)}, {first}, {second})")


def flatten_some(g: Generator, name: str) -> None:
    start = g.integer(0, g[name].ndim - 1)
    g.let(f"{name}.flatten({start}, {g.integer(start + 1, g[name].ndim)})")


ANY = (reshape, flat, view_as, unsqueeze, squeeze, expand, outside_the_graph, the_same, as_strided)
WITH_DIMS = (index, index, index, select, narrow, unflatten, unfold, pieces, pieces)
MATRICES = (transpose, transpose, permute, permute, flipped, diagonal, flatten_some)
