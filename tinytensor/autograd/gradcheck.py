"""Check gradients by finite differences: first order (`gradcheck`), second (`gradgradcheck`).

Numerical:   J[i, j] ≈ (f_j(x + ε·e_i) − f_j(x − ε·e_i)) / 2ε
Analytical:  J[:, j] = the gradient that backward computes from e_j
             J[i, :] = the tangent that forward mode computes from e_i (check_forward_ad)

A complex number counts as two real ones, its real and its imaginary part. Use float64 or complex128
inputs; float32 is not precise enough for the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import xp
from ..errors import GradcheckError
from . import engine
from .gradcheck_batched import check_batched_backward, check_batched_forward
from .jacobians import (
    Function,
    as_tuple,
    by_backward,
    by_differences,
    by_forward,
    get_analytical_jacobian,
    get_numerical_jacobian,
    name_of,
    outputs_of,
    parts,
)
from .site import warn
from .variable import Variable, wrap


def gradcheck(
    func: Function,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare backward's gradients of func(*inputs) with finite differences.

    Every floating point or complex input that requires grad is checked against every output.
    check_forward_ad: compare the tangents of forward mode too; check_backward_ad=False: only them.
    check_batched_grad, check_batched_forward_grad: compare a batch of vectors (vmap) with single
    ones. The other arguments after nondet_tol are PyTorch's and have no effect here: dtypes and
    missing gradients are the engine's matter, and every entry is compared. Returns True, or
    raises GradcheckError naming function, input, output, index and both values
    (raise_exception=False: returns False).
    """
    if not check_backward_ad and not check_forward_ad:
        raise AssertionError("gradcheck: check_backward_ad and check_forward_ad are both False")
    arguments = as_tuple(inputs)
    places = [i for i, x in enumerate(arguments) if isinstance(x, Variable) and x._tracked]
    ways = [by_backward] * check_backward_ad + [by_forward] * check_forward_ad
    try:
        for way in ways:
            _check(func, arguments, way, eps, atol, rtol, nondet_tol)
        if check_batched_forward_grad and check_forward_ad:
            check_batched_forward(func, arguments, places, atol, rtol)
        if check_batched_grad and check_backward_ad:
            check_batched_backward(func, arguments, places, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    **ignored: Any,
) -> bool:
    """Compare the gradients of the gradients with finite differences.

    grad_outputs: the vectors that weight the outputs; random by default.
    """
    inputs = as_tuple(inputs)
    tracked = [x for x in inputs if isinstance(x, Variable) and x._tracked]
    weights = _grad_outputs(func, inputs, grad_outputs, gen_non_contig_grad_outputs)

    def gradients(*arguments: Any) -> tuple:
        values, vectors = arguments[: len(inputs)], arguments[len(inputs) :]
        outputs = [y for y in outputs_of(func, values) if y._tracked]
        needs = [x for x in values if isinstance(x, Variable) and x._tracked]
        found = engine.grad(outputs, needs, vectors, create_graph=True, allow_unused=True)
        # An unused gradient is zero, and so are its derivatives.
        return tuple(x.detach() * 0 if g is None else g for g, x in zip(found, needs))

    gradients.__name__ = f"gradient of {name_of(func)}"
    if not tracked:
        raise ValueError("gradgradcheck: none of the inputs requires grad")
    arguments = (*inputs, *weights)
    options = {"raise_exception": raise_exception, "nondet_tol": nondet_tol}
    return gradcheck(gradients, arguments, eps=eps, atol=atol, rtol=rtol, **options)  # type: ignore[arg-type]


def _check(
    func: Function,
    inputs: tuple,
    analytical: Callable,
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
) -> None:
    """Raise GradcheckError at the first input and output whose Jacobians differ."""
    tracked = [
        (i, x)
        for i, x in enumerate(inputs)
        if isinstance(x, Variable) and x._tracked and x.array.dtype.kind in "fc"
    ]
    if not tracked:
        raise ValueError("gradcheck: none of the inputs requires grad")
    for i, x in tracked:
        if x.array.dtype not in (np.float64, np.complex128):
            warn(
                f"gradcheck: input {i} is {x.array.dtype}, expected float64 or complex128; the "
                "check will fail for lack of precision",
            )
    outputs, places = outputs_of(func, inputs), [i for i, _ in tracked]
    first = analytical(func, inputs, places, outputs)
    again = first if analytical is by_forward else analytical(func, inputs, places)
    by = analytical.__name__.removeprefix("by_")
    for o, output in enumerate(outputs):
        name = name_of(func, output)
        for (i, x), jacobian, repeat in zip(tracked, first[o], again[o]):
            if not np.allclose(jacobian, repeat, rtol=0, atol=nondet_tol, equal_nan=True):
                raise GradcheckError(
                    f"{name}: backward is not reproducible for input {i}, output {o}"
                )
            numerical = by_differences(func, inputs, x, o, eps)
            _compare(name, i, o, x, output, jacobian, numerical, atol, rtol, by)


def _compare(
    name: str,
    i: int,
    o: int,
    x: Any,
    y: Any,
    jacobian: Any,
    numerical: Any,
    atol: float,
    rtol: float,
    by: str,
) -> None:
    wrong = ~np.isclose(jacobian, numerical, rtol=rtol, atol=atol, equal_nan=True)
    if not wrong.any():
        return
    row, column = np.argwhere(wrong)[0]
    at = tuple(int(n) for n in np.unravel_index(row // parts(x.array), x.array.shape))
    of = tuple(int(n) for n in np.unravel_index(column // parts(y.array), y.array.shape))
    raise GradcheckError(
        f"{name}: d output {o}{list(of)} / d input {i}{list(at)} is {jacobian[row, column]:.8g} "
        f"by {by}, {numerical[row, column]:.8g} by finite differences "
        f"({int(wrong.sum())} of {wrong.size} entries differ)"
    )


def _grad_outputs(func: Function, inputs: tuple, given: Any, non_contiguous: bool) -> list:
    """The vectors that weight the outputs: those passed in, or random ones that require grad."""
    if given is not None:
        return list(as_tuple(given))
    rng = np.random.default_rng(0)
    vectors = []
    for y in outputs_of(func, inputs):
        if not y._tracked:
            continue
        value: Any = rng.uniform(0.5, 1.5, y.array.shape)
        if y.array.dtype.kind == "c":
            value = value + 1j * rng.uniform(0.5, 1.5, y.array.shape)
        array = xp(y.array).asarray(value, dtype=y.array.dtype)
        if non_contiguous and array.ndim:
            array = xp(array).stack([array, array], axis=-1)[..., 0]
        vector = wrap(array)
        vector._tracked = True
        vectors.append(vector)
    return vectors


__all__ = ["get_analytical_jacobian", "get_numerical_jacobian", "gradcheck", "gradgradcheck"]
