"""Statements that run backward: from one or several roots, once or twice, with or without graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .generator import Generator


def statement(g: Generator) -> None:
    """A pass in the middle of a program, which mostly keeps the graph."""
    kind = g.choices.random()
    if kind < 0.45:
        backward(g, keep=g.chance(0.85))
    elif kind < 0.9:
        grad(g)
    else:
        clear(g)


def last(g: Generator) -> None:
    """The end of a program: a pass from one or several roots, perhaps a second one."""
    if g.chance(0.25):
        grad(g)
        if g.over():
            return
    backward(g, keep=True)
    if not g.over() and g.chance(0.3):
        backward(g, keep=False)


def roots(g: Generator) -> list[str]:
    """One to three roots, perhaps a leaf among them, the same twice, or one that needs another."""
    tracked = g.tracked()
    if not tracked or g.chance(0.01):
        tracked = g.names
    recent = tracked[-3:] if g.chance(0.7) else tracked
    return [g.one(recent), *(g.one(tracked) for _ in range(g.one((0, 0, 1, 2))))]


def at_least_two(g: Generator, names: list[str]) -> list[str]:
    """Roots of a pass to certain inputs.

    PyTorch runs the hooks of a single root even if it leads to none of the inputs.
    """
    x = g[names[0]]
    has_hooks = x.retains_grad or id(x) in g.hooked
    return names * 2 if len(names) == 1 and has_hooks else names


def inputs_of(g: Generator) -> list[str]:
    """Tensors whose gradient may be asked for.

    Not those with hooks: PyTorch gives their gradient sometimes before, sometimes after the hooks.
    """
    return [name for name in g.tracked() if id(g[name]) not in g.hooked]


def weights(g: Generator, names: list[str]) -> str:
    return ", ".join(f"num({g.seed()}, {tuple(g[n].shape)})" for n in names)


def backward(g: Generator, keep: bool) -> None:
    names = roots(g)
    options = f"retain_graph={keep}"
    if g.chance(0.1):
        options = "create_graph=True"
    inputs = inputs_of(g)
    if inputs and g.chance(0.1):
        names = at_least_two(g, names)
        chosen = ", ".join(sorted({g.one(inputs) for _ in range(2)}))
        options += f", inputs=[{chosen}]"
    if len(names) == 1 and g.chance(0.5):
        g.say(f"{names[0]}.sum().backward({options})")
    else:
        g.say(f"L.autograd.backward([{', '.join(names)}], [{weights(g, names)}], {options})")


def grad(g: Generator) -> None:
    """Gradients as new tensors, which the program goes on with if they have a graph."""
    names = at_least_two(g, [name for name in roots(g) if g[name].numel()] or roots(g)[:1])
    inputs = sorted({g.one(inputs_of(g) or g.names) for _ in range(g.integer(1, 4))})
    create = g.chance(0.6)
    options = "create_graph=True" if create else "retain_graph=True"
    if g.chance(0.95):
        options += f", allow_unused={g.chance(0.95)}"
    made = [f"g{g.made + i}" for i in range(len(inputs))]
    g.made += len(inputs)
    call = f"L.autograd.grad([{', '.join(names)}], [{', '.join(inputs)}], [{weights(g, names)}]"
    if g.say(f"{', '.join(made)}, = row_major({call}, {options}))"):
        made = [name for name in made if g[name] is not None]
        g.names += made
        g.gradients |= {g[name].untyped_storage().data_ptr() for name in made}


def clear(g: Generator) -> None:
    leaves = [n for n in g.names if g[n].is_leaf and g[n].grad is not None]
    if leaves:
        leaf = g.one(leaves)
        g.say(g.one((f"{leaf}.grad = None", f"{leaf}.grad.zero_()")))
