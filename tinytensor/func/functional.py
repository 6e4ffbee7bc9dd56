"""Derivatives of functions: PyTorch's `autograd.functional`.

    y = f(x),  J[i, j] = ∂y_i/∂x_j,  H = the Jacobian of the gradient of a scalar y

    vjp  vᵀ·J      jvp  J·v      vhp  vᵀ·H      hvp  H·v

Each takes a function and its inputs (a tensor or a tuple) and returns tensors. `tinytensor.func`
has the same derivatives as transformations that return functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.engine import grad
from ..autograd.jacobians import basis
from ..autograd.settings import enable_grad
from ..autograd.variable import Variable, wrap
from ..backend import xp
from ..ops import stack
from ..ops.promote import refuse_complex


def tracked_alias(x: Any, keep_graph: bool) -> Any:
    """A new tensor with the values of `x` that requires grad.

    With keep_graph it stays connected to x, so that gradients flow through it to x.
    """
    if keep_graph and x.requires_grad:
        return x.view_as(x)
    return x.detach().requires_grad_()


def gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], weights: Sequence[Any], create_graph: bool
) -> list:
    """Σ weights·∂outputs/∂input for each input; zeros where there is no dependence.

    The graph is kept, so that this can be called again.
    """
    pairs = [(y, w) for y, w in zip(outputs, weights) if y.requires_grad]
    if not pairs:
        return [zeros_like(x) for x in inputs]
    return list(
        grad(
            [y for y, _ in pairs],
            inputs,
            [w for _, w in pairs],
            retain_graph=True,
            create_graph=create_graph,
            materialize_grads=True,
        )
    )


def zeros_like(x: Any) -> Any:
    """Zeros in the shape and dtype of a tensor, untracked."""
    return wrap(xp(x.array).zeros_like(x.array))


def ones_like(x: Any) -> Any:
    """Ones in the shape and dtype of a tensor, untracked."""
    return wrap(xp(x.array).ones_like(x.array))


def _variable_like(x: Any) -> Any:
    """Zeros like `x`, tracked; only this module differentiates with respect to them."""
    variable = zeros_like(x).requires_grad_()
    variable._internal = True  # see func.Evaluation
    return variable


def rows(output: Any, inputs: Sequence[Any], create_graph: bool) -> list:
    """Jacobians of `output` for each input, (*output, *input), one backward for each row."""
    refuse_complex("jacobian", output)
    found = [gradients([output], inputs, [v], create_graph) for v in basis(output)]
    return [
        _stacked([row[i] for row in found], 0, x).reshape((*output.shape, *x.shape))
        for i, x in enumerate(inputs)
    ]


def columns(output: Any, inputs: Sequence[Any], create_graph: bool) -> list:
    """Like `rows`, with one backward for each column: the gradient vᵀ·J is linear in v."""
    v = _variable_like(output)
    products = gradients([output], inputs, [v], create_graph=True)
    jacobians = []
    for x, product in zip(inputs, products):
        refuse_complex("jacobian", x)
        found = [gradients([product], [v], [e], create_graph)[0] for e in basis(x)]
        # (*output, elements of x) → (*output, *x)
        jacobians.append(_stacked(found, -1, output).reshape((*output.shape, *x.shape)))
    return jacobians


def _stacked(tensors: list, dim: int, like: Any) -> Any:
    """Stack tensors along a new dimension; an empty list gives shape (*like, 0)."""
    if tensors:
        return stack(tensors, dim)
    return wrap(xp(like.array).zeros((*like.array.shape, 0), dtype=like.array.dtype))


# ------------------------------------------------------------------------------------------
# Calling the function
# ------------------------------------------------------------------------------------------


def _as_tensors(value: Any, what: str, name: str) -> tuple:
    """A tensor or a tuple of them as a tuple, checked."""
    values = value if isinstance(value, tuple) else (value,)
    for i, v in enumerate(values):
        if not isinstance(v, Variable):
            raise TypeError(
                f"{name}: {what} {i} is {type(v).__name__}, expected a Tensor or a tuple of Tensors"
            )
    return values


def _call(name: str, func: Callable, inputs: Any, create_graph: bool) -> tuple[tuple, tuple, bool]:
    """(tracked inputs, outputs, whether the function returned a tuple)"""
    aliases = tuple(tracked_alias(x, create_graph) for x in _as_tensors(inputs, "input", name))
    result = func(*aliases)
    return aliases, _as_tensors(result, "output", name), isinstance(result, tuple)


def _check_vector(name: str, v: Any, like: tuple, what: str) -> tuple:
    """Check v against the tensors in `like`; if left out, it is 1 for a single number."""
    if v is None:
        if len(like) != 1 or like[0].array.size != 1:
            raise RuntimeError(
                f"{name}: v may be left out only if there is a single {what} with one element"
            )
        return (ones_like(like[0]),)
    vectors = _as_tensors(v, "v", name)
    if len(vectors) != len(like):
        raise RuntimeError(f"{name}: v has {len(vectors)} tensors, expected {len(like)}")
    for i, (vector, tensor) in enumerate(zip(vectors, like)):
        if vector.array.shape != tensor.array.shape:
            raise RuntimeError(
                f"{name}: v {i} has shape {tuple(vector.shape)}, expected {tuple(tensor.shape)}, "
                f"the shape of the {what}"
            )
    return vectors


def _check_strict(name: str, strict: bool, outputs: tuple, inputs: tuple) -> None:
    """With strict, an output that does not depend on an input is an error instead of zeros."""
    if not strict:
        return
    for o, output in enumerate(outputs):
        for i, x in enumerate(inputs):
            found = None
            if output.requires_grad:
                weight = zeros_like(output)
                (found,) = grad(output, x, weight, retain_graph=True, allow_unused=True)
            if found is None:
                raise RuntimeError(
                    f"{name}: output {o} is independent of input {i}, which strict=True forbids"
                )


def _check_graph(name: str, strict: bool, create_graph: bool, products: Sequence[Any]) -> None:
    """With strict and create_graph, a derivative that is constant in the inputs is an error."""
    if strict and create_graph:
        for i, product in enumerate(products):
            if not product.requires_grad:
                raise RuntimeError(
                    f"{name}: derivative {i} does not depend on the inputs, which strict=True "
                    "forbids with create_graph=True"
                )


def _single_number(name: str, outputs: tuple, several: bool) -> None:
    if several or outputs[0].array.size != 1:
        shapes = [tuple(y.shape) for y in outputs]
        raise RuntimeError(f"{name}: func returned shapes {shapes}, expected one number")


def _given_back(values: Sequence[Any], several: bool, create_graph: bool) -> Any:
    """Results for the caller: detached unless create_graph, a tuple only if `several`."""
    results = tuple(v if create_graph else v.detach() for v in values)
    return results if several else results[0]


# ------------------------------------------------------------------------------------------
# Products with a vector
# ------------------------------------------------------------------------------------------


def vjp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """(func(*inputs), vᵀ·J); v has the shape of the output."""
    with enable_grad():
        xs, outputs, several = _call("vjp", func, inputs, create_graph)
        vectors = _check_vector("vjp", v, outputs, "output")
        _check_strict("vjp", strict, outputs, xs)
        products = gradients(outputs, xs, vectors, create_graph)
        _check_graph("vjp", strict, create_graph, products)
    return (
        _given_back(outputs, several, create_graph),
        _given_back(products, isinstance(inputs, tuple), create_graph),
    )


def jvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """(func(*inputs), J·v); v has the shape of the inputs."""
    with enable_grad():
        xs, outputs, several = _call("jvp", func, inputs, create_graph)
        vectors = _check_vector("jvp", v, xs, "input")
        _check_strict("jvp", strict, outputs, xs)
        products = pushed_forward(outputs, xs, vectors, create_graph)
        _check_graph("jvp", strict, create_graph, products)
    return (
        _given_back(outputs, several, create_graph),
        _given_back(products, several, create_graph),
    )


def pushed_forward(
    outputs: Sequence[Any], inputs: Sequence[Any], vectors: Sequence[Any], create_graph: bool
) -> list:
    """J·v by reverse mode alone: uᵀ·J is linear in u, and its derivative in u, times v, is J·v."""
    us = [_variable_like(y) for y in outputs]
    pulled_back = gradients(outputs, inputs, us, create_graph=True)
    return gradients(pulled_back, us, vectors, create_graph)


def vhp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """(func(*inputs), vᵀ·H) for a func that returns one number; v has the shape of the inputs."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """(func(*inputs), H·v) for a func that returns one number; v has the shape of the inputs."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str, func: Callable, inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple:
    """H is symmetric, so H·v and vᵀ·H are the same: the gradient of vᵀ·gradient."""
    with enable_grad():
        xs, outputs, several = _call(name, func, inputs, create_graph)
        _single_number(name, outputs, several)
        vectors = _check_vector(name, v, xs, "input")
        _check_strict(name, strict, outputs, xs)
        first = gradients(outputs, xs, [ones_like(outputs[0])], create_graph=True)
        _check_strict(f"{name} (gradient)", strict, tuple(first), xs)
        products = gradients(first, xs, vectors, create_graph)
    return (
        _given_back(outputs, several, create_graph),
        _given_back(products, isinstance(inputs, tuple), create_graph),
    )


# ------------------------------------------------------------------------------------------
# Whole matrices
# ------------------------------------------------------------------------------------------


def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """J of func at inputs: (*output, *input); tuples for several outputs, then for several inputs.

    strategy: "reverse-mode" (one backward for each output element) or "forward-mode" (for each
    input element). vectorize has no effect.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(
            f"jacobian: got strategy {strategy!r}, expected 'reverse-mode' or 'forward-mode'"
        )
    if strict and vectorize:
        raise RuntimeError("jacobian: strict=True and vectorize=True are not supported together")
    matrix = rows if strategy == "reverse-mode" else columns
    with enable_grad():
        xs, outputs, several = _call("jacobian", func, inputs, create_graph)
        _check_strict("jacobian", strict, outputs, xs)
        jacobians = []
        for output in outputs:
            blocks = matrix(output, xs, create_graph)
            _check_graph("jacobian", strict, create_graph, blocks)
            jacobians.append(_given_back(blocks, isinstance(inputs, tuple), create_graph))
    return tuple(jacobians) if several else jacobians[0]


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """H of a func that returns one number: (*input i, *input j), a tuple of tuples for a tuple."""

    def gradient(*xs: Any) -> Any:
        outputs = _as_tensors(func(*xs), "output", "hessian")
        _single_number("hessian", outputs, len(outputs) > 1)
        _check_strict("hessian", strict, outputs, xs)
        found = tuple(gradients(outputs, xs, [ones_like(outputs[0])], create_graph=True))
        return found if isinstance(inputs, tuple) else found[0]

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
