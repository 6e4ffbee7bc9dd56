"""Check gradients by finite differences: first order (`gradcheck`), second (`gradgradcheck`).

Numerical:   J[i, j] ≈ (f_j(x + ε·e_i) − f_j(x − ε·e_i)) / 2ε
Analytical:  J[:, j] = the gradient that backward computes from e_j
             J[i, :] = the tangent that forward mode computes from e_i (check_forward_ad)

A complex number counts as two real ones, its real and its imaginary part. Use float64 or complex128
inputs; float32 is not precise enough for the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..backend import xp
from ..devices import to_device
from ..dtype import real_dtype
from ..errors import GradcheckError
from . import engine
from .forward_ad import dual_level, make_dual, unpack_dual
from .settings import enable_grad
from .site import warn
from .variable import Variable, own_copy, wrap

Function = Callable[..., Any]


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
    The other arguments after nondet_tol are PyTorch's and have no effect here. Returns True, or
    raises GradcheckError naming function, input, output, index and both values
    (raise_exception=False: returns False).
    """
    if not check_backward_ad and not check_forward_ad:
        raise AssertionError("gradcheck: check_backward_ad and check_forward_ad are both False")
    ways = [_backward] * check_backward_ad + [_forward] * check_forward_ad
    try:
        for way in ways:
            _check(func, _as_tuple(inputs), way, eps, atol, rtol, nondet_tol)
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
    inputs = _as_tuple(inputs)
    tracked = [x for x in inputs if isinstance(x, Variable) and x._tracked]
    weights = _grad_outputs(func, inputs, grad_outputs, gen_non_contig_grad_outputs)

    def gradients(*arguments: Any) -> tuple:
        values, vectors = arguments[: len(inputs)], arguments[len(inputs) :]
        outputs = [y for y in _outputs(func, values) if y._tracked]
        needs = [x for x in values if isinstance(x, Variable) and x._tracked]
        found = engine.grad(outputs, needs, vectors, create_graph=True, allow_unused=True)
        # An unused gradient is zero, and so are its derivatives.
        return tuple(x.detach() * 0 if g is None else g for g, x in zip(found, needs))

    gradients.__name__ = f"gradient of {_name(func)}"
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
    outputs, places = _outputs(func, inputs), [i for i, _ in tracked]
    first = analytical(func, inputs, places, outputs)
    again = first if analytical is _forward else analytical(func, inputs, places)
    by = analytical.__name__[1:]
    for o, output in enumerate(outputs):
        name = _name(func, output)
        for (i, x), jacobian, repeat in zip(tracked, first[o], again[o]):
            if not np.allclose(jacobian, repeat, rtol=0, atol=nondet_tol, equal_nan=True):
                raise GradcheckError(
                    f"{name}: backward is not reproducible for input {i}, output {o}"
                )
            numerical = _numerical(func, inputs, x, o, eps)
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
    at = tuple(int(n) for n in np.unravel_index(row // _parts(x.array), x.array.shape))
    of = tuple(int(n) for n in np.unravel_index(column // _parts(y.array), y.array.shape))
    raise GradcheckError(
        f"{name}: d output {o}{list(of)} / d input {i}{list(at)} is {jacobian[row, column]:.8g} "
        f"by {by}, {numerical[row, column]:.8g} by finite differences "
        f"({int(wrong.sum())} of {wrong.size} entries differ)"
    )


def _backward(func: Function, inputs: tuple, places: list[int], outputs: Any = None) -> list[list]:
    """For each output and input, the Jacobian computed by backward."""
    outputs = _outputs(func, inputs) if outputs is None else outputs
    return [_analytical(output, [inputs[i] for i in places]) for output in outputs]


def _forward(func: Function, inputs: tuple, places: list[int], outputs: tuple) -> list[list]:
    """For each output and input, the Jacobian computed by forward mode. No input requires grad."""
    plain = [x.detach() if isinstance(x, Variable) else x for x in inputs]
    jacobians: list[list] = [[] for _ in outputs]
    for i in places:
        rows: list[list] = [[] for _ in outputs]
        for tangent in basis(inputs[i]):
            with dual_level():
                duals = list(plain)
                for k in places:
                    zeros = wrap(xp(plain[k].array).zeros_like(plain[k].array))
                    duals[k] = make_dual(plain[k], tangent if k == i else zeros)
                results = _outputs(func, tuple(duals))
                for o, y in enumerate(results):
                    derivative = unpack_dual(y).tangent
                    array = y.array * 0 if derivative is None else derivative.array
                    rows[o].append(_real_numbers(to_device(array, "cpu")))
        for o, y in enumerate(outputs):
            size = y.array.size * _parts(y.array)
            jacobians[o].append(np.array(rows[o], dtype=np.float64).reshape(len(rows[o]), size))
    return jacobians


def _analytical(output: Any, inputs: Sequence[Any]) -> list[np.ndarray]:
    """For each input, the Jacobian [input element, output element] computed by backward."""
    size = output.array.size * _parts(output.array)
    jacobians = [np.zeros((x.array.size * _parts(x.array), size)) for x in inputs]
    if not output._tracked:
        return jacobians
    for j, weight in enumerate(basis(output)):
        found = engine.grad(output, list(inputs), weight, retain_graph=True, allow_unused=True)
        for jacobian, g in zip(jacobians, found):
            if g is not None:
                jacobian[:, j] = _real_numbers(to_device(g.array, "cpu"))
    return jacobians


def _numerical(func: Function, inputs: tuple, x: Any, o: int, eps: float) -> np.ndarray:
    """The Jacobian [input element, output element] by central differences."""
    rows = []
    home, usual = x.array, _outputs(func, inputs)[o].array
    flat = _real_numbers(home)
    try:
        for i in range(flat.size):
            shifted = []
            for step in (eps, -eps):
                moved = flat.copy()
                moved[i] += step
                x.array = moved.view(home.dtype).reshape(home.shape)
                with enable_grad():  # func may take derivatives itself
                    out = _outputs(func, inputs)[o].array
                for what in ("shape", "dtype"):
                    if getattr(out, what) != getattr(usual, what):
                        raise AssertionError(
                            f"gradcheck: output {o} of {_name(func)} has another {what} when an "
                            f"input is changed by {eps}, expected the same"
                        )
                shifted.append(_real_numbers(to_device(out, "cpu")).astype(np.float64))
            rows.append((shifted[0] - shifted[1]) / (2 * eps))
    finally:
        x.array = home
    return np.array(rows).reshape(flat.size, usual.size * _parts(usual))


def _parts(array: Any) -> int:
    """The number of real numbers in an element."""
    return 2 if array.dtype.kind == "c" else 1


def _real_numbers(array: Any) -> Any:
    """The elements of an array in one dimension; of complex ones, the two parts in turn."""
    return own_copy(array).reshape(-1).view(real_dtype(array.dtype))


def _outputs(func: Function, inputs: tuple) -> tuple:
    """The floating point and complex tensors that func returns."""
    outputs = _as_tuple(func(*inputs))
    return tuple(y for y in outputs if isinstance(y, Variable) and y.array.dtype.kind in "fc")


def _grad_outputs(func: Function, inputs: tuple, given: Any, non_contiguous: bool) -> list:
    """The vectors that weight the outputs: those passed in, or random ones that require grad."""
    if given is not None:
        return list(_as_tuple(given))
    rng = np.random.default_rng(0)
    vectors = []
    for y in _outputs(func, inputs):
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


def _as_tuple(value: Any) -> tuple:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _name(func: Function, output: Any = None) -> str:
    """The function's name; for a lambda, also the name of the op that produced its output."""
    name = getattr(func, "__name__", type(func).__name__)
    if name.endswith("<lambda>") and output is not None and output._node is not None:
        name += f" ({output.grad_fn.op_name})"
    return name


def basis(x: Any) -> Iterator[Any]:
    """One tensor of x's shape for each of its elements: 1 there, 0 elsewhere.

    Two for each complex element: 1 and i.
    """
    for i in range(x.array.size):
        for number in (1, 1j)[: _parts(x.array)]:
            vector = xp(x.array).zeros(x.array.size, dtype=x.array.dtype)
            vector[i] = number
            yield wrap(vector.reshape(x.array.shape))
