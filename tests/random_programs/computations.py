"""Statements that compute a new tensor: `t5 = t2 * t3`. The values stay of moderate size."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .generator import Generator

UNARY = (
    "L.tanh({x})", "L.sigmoid({x})", "L.sin({x})", "L.cos({x})", "L.relu({x})", "L.abs({x})",
    "L.exp(-{x} * {x})", "L.sqrt({x} * {x} + 0.5)", "L.log({x} * {x} + 1)", "-{x}", "{x} * 0.5",
    "{x} + 0.5", "1 - {x}", "{x} / 2", "1 / ({x} * {x} + 1)", "L.clamp({x}, -0.7, 1.1)",
    "{x}.clone()", "{x}.clone()", "L.square(L.tanh({x}))", "{x} ** 2 * 0.3", "{x}.sum()",
    "{x}.mean()", "L.where({x} > 0.1, {x}, 0.5)", "{x} * {x}", "L.tanh({x}) ** 3",
)  # fmt: skip
BINARY = (
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / ({y} * {y} + 1)", "L.maximum({x}, {y})",
    "L.where({x} > {y}, {x}, {y})", "L.addcmul({x}, {y}, {y}, value=0.5)", "L.lerp({x}, {y}, 0.3)",
)  # fmt: skip
ALONG = (
    "{x}.sum({d})", "{x}.sum({d}, keepdim=True)", "{x}.mean({d})", "L.softmax({x}, {d})",
    "L.cumsum({x}, {d})", "{x}.flip({d})", "L.cat([{x}, {x}], {d})", "L.logsumexp({x}, {d})",
    "L.roll({x}, 1, {d})", "L.amax(L.sin({x}), {d})", "L.prod(L.cos({x}), {d})",
    "L.stack([{x}, {x}.tanh()], {d})",
)  # fmt: skip


def statement(g: Generator) -> None:
    name = g.tensor()
    x = g[name]
    kind = g.choices.random()
    if kind < 0.35 or not x.ndim:
        expression = g.one(UNARY if x.numel() else UNARY[:8]).format(x=name)
        g.let(f"({expression}).contiguous()" if 0 in x.stride() else expression)
    elif kind < 0.65:
        other = g.operand(x.shape)
        expression = g.one(BINARY).format(x=name, y=other)
        if not (x.is_contiguous() and (other not in g.names or g[other].is_contiguous())):
            expression = f"({expression}).contiguous()"  # of operands that differ, either may lead
        g.let(expression)
    elif kind < 0.8 and x.numel():
        expression = g.one(ALONG).format(x=name, d=g.dim(x))
        g.let(expression if x.is_contiguous() else f"({expression}).contiguous()")
    elif kind < 0.92:  # of others, the layout of the result is left open
        if x.is_contiguous():
            g.one((rows, gather, masked, select))(g, name)
    elif x.is_contiguous():
        g.one((product, join, filled))(g, name)


def places(g: Generator, count: int, size: int) -> list[int]:
    """`count` positions in a dimension, some perhaps twice."""
    return [g.integer(0, size) for _ in range(count)]


def rows(g: Generator, name: str) -> None:
    n = g[name].shape[0]
    if n:
        index = places(g, g.integer(1, 4), n)
        g.let(f"{name}[{index}]" if g.chance(0.5) else f"{name}[..., L.tensor({[0] * len(index)})]")


def select(g: Generator, name: str) -> None:
    x = g[name]
    dim = g.dim(x)
    if x.shape[dim]:
        g.let(f"{name}.index_select({dim}, L.tensor({places(g, g.integer(1, 4), x.shape[dim])}))")


def gather(g: Generator, name: str) -> None:
    x = g[name]
    if x.ndim == 1 and x.numel():
        g.let(f"L.gather({name}, 0, L.tensor({places(g, 3, x.shape[0])}))")
    elif x.ndim == 2 and x.numel():
        index = [places(g, 2, x.shape[1]) for _ in range(x.shape[0])]
        g.let(f"L.gather({name}, 1, L.tensor({index}))")


def masked(g: Generator, name: str) -> None:
    how = g.one(("{x}[{m}]", "{x}.masked_fill({m}, 0.5)", "{x}.masked_select({m})"))
    g.let(how.format(x=name, m=f"mask({g.seed()}, {tuple(g[name].shape)})"))


def product(g: Generator, name: str) -> None:
    x = g[name]
    if x.ndim >= 2:
        g.let(f"{name} @ {name}.transpose(-2, -1) / 3")
    elif x.ndim == 1:
        g.let(g.one((f"{name} @ {name} / 3", f"L.outer({name}, {name})")))


def join(g: Generator, name: str) -> None:
    x = g[name]
    others = [n for n in g.names if g[n].shape == x.shape]
    g.let(f"L.{g.one(('cat', 'stack'))}([{name}, {g.one([*others, name])}])")


def filled(g: Generator, name: str) -> None:
    """A new tensor that is not tracked yet, for writes to fill."""
    g.let(g.one((f"L.zeros_like({name})", f"num({g.seed()}, {tuple(g[name].shape)})")))
