"""Statements that write into a tensor: `t2.mul_(t3)`, `t2[1:] = t3`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .views import index_text

if TYPE_CHECKING:
    from .generator import Generator

POINTWISE = (
    "{x}.tanh_()", "{x}.sigmoid_()", "{x}.sin_()", "{x}.relu_()", "{x}.neg_()", "{x}.abs_()",
    "{x}.clamp_(-0.9, 0.8)", "{x}.clamp_(min=-0.5)", "{x}.add_({c})", "{x}.mul_({c})",
    "{x}.div_(2)", "{x} *= {c}", "{x} -= {c}", "{x}.zero_()", "{x}.fill_({c})", "{x}.cos_()",
    "{x}.pow_(2)", "{x}.square_()", "{x}.sub_({c})",
)  # fmt: skip
WITH_OPERAND = (
    "{x}.add_({y})", "{x}.add_({y}, alpha=0.5)", "{x}.sub_({y})", "{x}.mul_({y})",
    "{x}.copy_({y})", "{x}.copy_({y})", "{x} += {y}", "{x} *= {y}", "{x}.div_({y} * {y} + 1)",
    "{x}[...] = {y}", "{x}[:] = {y}", "{x}.addcmul_({y}, {y})", "{x}.lerp_({y}, 0.4)",
    "{x}.detach().mul_({y})",
)  # fmt: skip


def statement(g: Generator) -> None:
    name = target(g)
    x = g[name]
    kind = g.choices.random()
    if kind < 0.3:
        g.say(g.one(POINTWISE).format(x=name, c=g.number()))
    elif kind < 0.6:
        g.say(g.one(WITH_OPERAND).format(x=name, y=g.operand(x.shape, name)))
    elif kind < 0.75 and x.ndim:
        set_item(g, name)
    elif kind < 0.92 and x.numel():
        g.one((set_masked, masked_fill, masked_scatter, fill, *(INDEXED if x.ndim else ())))(
            g, name
        )
    elif name not in g.aside:
        g.one((flags, hooks, shape_in_place, step))(g, name)


def target(g: Generator) -> str:
    """A tensor to write to: no gradient, and seldom a leaf that requires grad, which is refused."""
    for _ in range(8):
        name = g.tensor()
        x = g[name]
        if name in g.hidden or name[0] == "g" or (x.numel() and g.storage(name) in g.gradients):
            continue  # whether two gradients share memory is left open
        if g.without_grad or not (x.requires_grad and x.is_leaf) or g.chance(0.1):
            return name
    g.let("num(5, (2, 3))")
    return g.names[-1]


def set_item(g: Generator, name: str) -> None:
    x = g[name]
    index = index_text(g, tuple(x.shape))
    part = eval(f"x[{index}]", {"x": x.detach()})
    if part.numel() == x.numel():  # with slices, the zeros of the gradient have a history here
        index, part = "...", x
    value = g.operand(part.shape, name) if g.chance(0.75) else g.number()
    # `x[i] += v` writes twice; see `Run.settle` for what would come between.
    twice = x.requires_grad or not isinstance(value, str)
    g.say(f"{name}[{index}] {g.one(('=', '=', '+=', '*=') if twice else '=')} {value}")


def set_masked(g: Generator, name: str) -> None:
    x = g[name]
    mask = f"mask({g.seed()}, {tuple(x.shape)})" if g.chance(0.6) else f"{name}.detach() > 0.2"
    value = str(g.number())
    if g.chance(0.4):
        value = g.one([n for n in g.names if not g[n].ndim] or [value])
    g.say(f"{name}[{mask}] = {value}")


def masked_fill(g: Generator, name: str) -> None:
    x = g[name]
    zero_d = [n for n in g.names if not g[n].ndim]
    value = g.one(zero_d) if zero_d and g.chance(0.5) else g.number()
    g.say(f"{name}.masked_fill_(mask({g.seed()}, {tuple(x.shape)}), {value})")


def masked_scatter(g: Generator, name: str) -> None:
    x = g[name]
    apart = [n for n in g.names if g.storage(n) != g.storage(name)]
    enough = [n for n in apart if g[n].numel() >= x.numel()]
    if enough:
        g.say(f"{name}.masked_scatter_(mask({g.seed()}, {tuple(x.shape)}), {g.one(enough)})")


def fill(g: Generator, name: str) -> None:
    zero_d = [n for n in g.names if not g[n].ndim]
    g.say(f"{name}.fill_({g.one(zero_d or ['0.5'])})")


def _along(g: Generator, name: str, repeated: bool) -> tuple[int, list[int], tuple]:
    """A dimension, positions along it, and the shape of the slices there."""
    shape = list(g[name].shape)
    dim = g.integer(0, len(shape))
    index = list(range(shape[dim]))
    g.choices.shuffle(index)
    index = index[: g.integer(1, len(index) + 1)]
    if repeated and g.chance(0.5):
        index.append(index[0])
    shape[dim] = len(index)
    return dim, index, tuple(shape)


def index_add(g: Generator, name: str) -> None:
    dim, index, shape = _along(g, name, repeated=True)
    g.say(f"{name}.index_add_({dim}, L.tensor({index}), {_exactly(g, shape, name)})")


def index_copy(g: Generator, name: str) -> None:
    dim, index, shape = _along(g, name, repeated=False)
    g.say(f"{name}.index_copy_({dim}, L.tensor({index}), {_exactly(g, shape, name)})")


def index_fill(g: Generator, name: str) -> None:
    dim, index, _ = _along(g, name, repeated=True)
    g.say(f"{name}.index_fill_({dim}, L.tensor({index}), {g.number()})")


def index_put(g: Generator, name: str) -> None:
    x = g[name]
    accumulate = g.chance(0.5) and 0 not in x.stride()
    index = list(range(x.shape[0]))
    g.choices.shuffle(index)
    index = index[: g.integer(1, len(index) + 1)]
    value = g.operand((len(index), *x.shape[1:]), name)
    if accumulate and g.chance(0.5):
        g.say(f"{name}.index_put_((L.tensor({index}),), {value}, accumulate=True)")
    else:
        g.say(f"{name}[{index}] = {value}")


def scatter(g: Generator, name: str) -> None:
    x = g[name]
    if x.ndim == 1:
        dim, index, shape = _along(g, name, repeated=False)
    else:
        dim, shape = 1, (x.shape[0], 1, *x.shape[2:])
        rows = [g.integer(0, x.shape[1]) for _ in range(x.shape[0])]
        index = f"{rows}).reshape(-1, 1, *{(1,) * (x.ndim - 2)}).expand({shape}"
    how = g.one(("scatter_", "scatter_add_"))
    g.say(f"{name}.{how}({dim}, L.tensor({index}), {_exactly(g, shape, name)})")


def _exactly(g: Generator, shape: tuple, name: str) -> str:
    """A tensor of that shape, apart from the one that is written to."""
    fitting = [n for n in g.names if g[n].shape == shape and g.storage(n) != g.storage(name)]
    return g.one(fitting) if fitting and g.chance(0.75) else f"num({g.seed()}, {shape})"


def flags(g: Generator, name: str) -> None:
    """What a tensor's place in the graph is, changed by hand."""
    how = g.one(("requires_grad_()", "detach_()", "retain_grad()", "retain_grad()"))
    shown = [n for n in g.names if g.storage(n) == g.storage(name)]
    if g[name].retains_grad:
        return
    if how == "retain_grad()" or shown == [name]:  # PyTorch takes earlier views for leaves
        g.say(f"{name}.{how}")


def hooks(g: Generator, name: str) -> None:
    g.say(f"{name}.register_hook(lambda gradient: gradient * {g.number()})")
    g.hooked.add(id(g[name]))


def shape_in_place(g: Generator, name: str) -> None:
    if (g.without_grad and g[name].requires_grad) or g[name].retains_grad:
        return  # PyTorch leaves it a history, or a gradient, of another shape
    how = ["unsqueeze_(0)", "squeeze_()"]
    if g[name].ndim >= 2:
        how += ["transpose_(0, 1)"]
    g.say(f"{name}.{g.one(how)}")


def step(g: Generator, name: str) -> None:
    """An optimiser's step."""
    leaves = [n for n in g.names if g[n].is_leaf and g[n].grad is not None]
    if leaves:
        leaf = g.one(leaves)
        g.say(f"with L.no_grad(): {leaf} -= 0.1 * {leaf}.grad")


INDEXED = (index_add, index_copy, index_fill, index_put, scatter)
