"""Transformations of functions: `grad(f)` is the function that computes f's gradient.

They compose: grad(grad(f)) is the second derivative. Arguments and results may be nested tuples,
lists and dicts of tensors, such as a dict of parameters. `jacobian`, `hessian`, `hvp` and `vhp`
may also be called with the inputs, as in `autograd.functional`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd.mode import state
from ..autograd.settings import enable_grad
from ..autograd.variable import Variable, edge_of
from ..autograd.walk import collect
from ..utils.tree import flatten, tree_map
from . import functional
from .functional import (
    columns,
    gradients,
    hvp,
    ones_like,
    pushed_forward,
    rows,
    tracked_alias,
    vhp,
)

Argnums = int | tuple[int, ...]


class Evaluation:
    """One call of a function: the inputs to differentiate with respect to, and the outputs.

    xs        the tensors in the chosen arguments, each tracked for this call
    outputs   the tensors in the function's result
    outer     whether the results must stay in the graph of an outer derivative
    """

    def __init__(
        self, name: str, func: Callable, args: tuple, kwargs: dict, argnums: Argnums, has_aux: bool
    ):
        self.name = name
        chosen = self._choose(args, argnums)
        values, self.rebuild_inputs = flatten(chosen)
        self._check_tensors("argument", values)
        recording = state.mode.grad
        with enable_grad():
            self.xs = [tracked_alias(x, recording) for x in values]
            result = func(*self._replaced(args, argnums), **kwargs)
        self.aux = None
        if has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(f"{name}: has_aux expects func to return (output, aux)")
            result, self.aux = result
        self.outputs, self.rebuild_outputs = flatten(result)
        self._check_tensors("output", self.outputs)
        self.outer = recording and self._depends_on_others()
        for x in self.xs:
            x._internal = True  # from here on, only this call differentiates with respect to it

    def _choose(self, args: tuple, argnums: Argnums) -> Any:
        for i in (argnums,) if isinstance(argnums, int) else argnums:
            if not -len(args) <= i < len(args):
                raise RuntimeError(
                    f"{self.name}: argnums has {i}, but func was called with {len(args)} arguments"
                )
        return args[argnums] if isinstance(argnums, int) else tuple(args[i] for i in argnums)

    def _replaced(self, args: tuple, argnums: Argnums) -> list:
        tracked = self.rebuild_inputs(self.xs)
        new = list(args)
        if isinstance(argnums, int):
            new[argnums] = tracked
        else:
            for i, value in zip(argnums, tracked):
                new[i] = value
        return new

    def _check_tensors(self, what: str, values: list) -> None:
        for value in values:
            if not isinstance(value, Variable):
                raise TypeError(
                    f"{self.name}: got an {what} of type {type(value).__name__}, expected tensors"
                )

    def _depends_on_others(self) -> bool:
        """Whether an outer derivative, or the caller's own backward, may need the graph."""
        edges = {edge_of(y): None for y in self.outputs if y.requires_grad}
        mine = {id(x) for x in self.xs}
        leaves = [node for node in collect(edges) if node._order == 0]
        return any(id(leaf) not in mine and not hasattr(leaf, "_internal") for leaf in leaves)

    def single_number(self) -> Any:
        """The function's one output, which must be 0-d."""
        (y,) = self.outputs if len(self.outputs) == 1 else (None,)
        if y is None or y.array.ndim:
            shapes = [tuple(y.shape) for y in self.outputs]
            raise RuntimeError(f"{self.name}: func returned shapes {shapes}, expected a 0-d tensor")
        return y

    def finish(self, tree: Any) -> Any:
        """Results for the caller: detached, unless an outer derivative needs their graph."""
        if self.outer:
            return tree
        return tree_map(lambda v: v.detach() if isinstance(v, Variable) else v, tree)

    @property
    def value(self) -> Any:
        return self.finish(self.rebuild_outputs(self.outputs))


def value_and_grad(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """The function that computes (value, gradient), or ((value, aux), gradient) with has_aux.

    func returns a 0-d tensor. argnums: the arguments to differentiate with respect to; for a tuple
    of them, the gradient is a tuple.
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> tuple:
        call = Evaluation("grad", func, args, kwargs, argnums, has_aux)
        y = call.single_number()
        found = gradients([y], call.xs, [ones_like(y)], call.outer)
        value = (call.value, call.finish(call.aux)) if has_aux else call.value
        return value, call.finish(call.rebuild_inputs(found))

    return wrapped


def grad_and_value(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """Like `value_and_grad`, in PyTorch's order: (gradient, value)."""
    both = value_and_grad(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> tuple:
        value, gradient = both(*args, **kwargs)
        return gradient, value

    return wrapped


def grad(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """The function that computes func's gradient; (gradient, aux) with has_aux."""
    both = value_and_grad(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """(func(*primals), the function v ↦ vᵀ·J[, aux]); vᵀ·J is a tuple with one item per primal."""
    call = Evaluation("vjp", func, primals, {}, tuple(range(len(primals))), has_aux)

    def pull_back(
        *cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> Any:
        vectors, _ = flatten(cotangents[0] if len(cotangents) == 1 else cotangents)
        _check_shapes("vjp", vectors, call.outputs, "output")
        create = create_graph if create_graph is not None else call.outer or _any_tracked(vectors)
        with enable_grad():
            return call.rebuild_inputs(gradients(call.outputs, call.xs, vectors, create))

    head = (call.value, pull_back)
    return (*head, call.finish(call.aux)) if has_aux else head


def jvp(
    func: Callable, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple:
    """(func(*primals), J·tangents[, aux]); primals and tangents are tuples of the same shapes."""
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp: primals and tangents must be tuples")
    call = Evaluation("jvp", func, primals, {}, tuple(range(len(primals))), has_aux)
    vectors, _ = flatten(tangents)
    _check_shapes("jvp", vectors, call.xs, "primal")
    with enable_grad():
        create = call.outer or _any_tracked(vectors)
        pushed = pushed_forward(call.outputs, call.xs, vectors, create)
    products = call.rebuild_outputs(pushed)
    products = products if create else call.finish(products)
    return (call.value, products, call.finish(call.aux)) if has_aux else (call.value, products)


def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """(func(*primals), the function v ↦ J·v at primals); func runs only once."""
    call = Evaluation("linearize", func, primals, {}, tuple(range(len(primals))), False)

    def push_forward(*tangents: Any) -> Any:
        vectors, _ = flatten(tangents)
        _check_shapes("linearize", vectors, call.xs, "primal")
        with enable_grad():
            create = call.outer or _any_tracked(vectors)
            products = call.rebuild_outputs(pushed_forward(call.outputs, call.xs, vectors, create))
        return products if create else call.finish(products)

    return call.value, push_forward


def _check_shapes(name: str, vectors: list, like: list, what: str) -> None:
    """Raise if the vectors do not have the shapes of the outputs or primals."""
    got = [tuple(getattr(v, "shape", ())) for v in vectors]
    shapes = [tuple(x.shape) for x in like]
    if got != shapes:
        raise RuntimeError(
            f"{name}: got vectors of shapes {got}, expected {shapes}, as the {what}s"
        )


def _any_tracked(tensors: list) -> bool:
    return state.mode.grad and any(t.requires_grad for t in tensors)


def jacrev(
    func: Callable, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable:
    """The function that computes the Jacobian (*output, *input), one backward for each row.

    chunk_size has no effect: the rows are computed one by one.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"jacrev: got chunk_size {chunk_size}, expected a positive number")
    return _jacobian_function("jacrev", rows, func, argnums, has_aux)


def jacfwd(
    func: Callable, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable:
    """Like `jacrev`, with one backward for each column: faster for many outputs and few inputs."""
    return _jacobian_function("jacfwd", columns, func, argnums, has_aux)


def _jacobian_function(
    name: str, matrix: Callable, func: Callable, argnums: Argnums, has_aux: bool
) -> Callable:
    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        call = Evaluation(name, func, args, kwargs, argnums, has_aux)
        with enable_grad():
            blocks = [call.rebuild_inputs(matrix(y, call.xs, call.outer)) for y in call.outputs]
        result = call.finish(call.rebuild_outputs(blocks))
        return (result, call.finish(call.aux)) if has_aux else result

    return wrapped


def _is_argnums(value: Any) -> bool:
    values = value if isinstance(value, tuple) else (value,)
    return all(isinstance(v, int) for v in values)


def jacobian(func: Callable, argnums: Any = 0, *args: Any, **options: Any) -> Any:
    """jacobian(func, argnums=0) is `jacrev`; jacobian(func, inputs, …) is the matrix at inputs."""
    inputs = options.pop("inputs", argnums)
    if _is_argnums(inputs):
        return jacrev(func, inputs, **options)
    return functional.jacobian(func, inputs, *args, **options)


def hessian(func: Callable, argnums: Any = 0, *args: Any, **options: Any) -> Any:
    """hessian(func, argnums=0) is a function; hessian(func, inputs, …) is the matrix at inputs."""
    inputs = options.pop("inputs", argnums)
    if _is_argnums(inputs):
        return jacrev(jacrev(func, inputs), inputs)
    return functional.hessian(func, inputs, *args, **options)


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """The same function: writes in place need not be removed, as nothing is traced."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize: got remove = {remove!r}, expected 'mutations' or 'mutations_and_views'"
        )
    return functools.wraps(func)(lambda *args, **kwargs: func(*args, **kwargs))


# fmt: off
__all__ = [
    "functionalize", "grad", "grad_and_value", "hessian", "hvp", "jacfwd", "jacobian", "jacrev",
    "jvp", "linearize", "value_and_grad", "vhp", "vjp",
]
# fmt: on
