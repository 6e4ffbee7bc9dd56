"""vmap: a function of one sample, mapped over a batch.

    vmap(f)(x)[i] = f(x[i])

The function runs once for each sample, and the results are stacked. So everything that can be
called can be mapped: ops, gradients, other vmaps, Python's `if`. It is not faster than a loop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..autograd import gradcheck_batched
from ..autograd.variable import Variable, wrap
from ..autograd.views import writable
from ..backend import xp
from ..create.generator import default_generator_of
from ..ops import stack
from ..utils.tree import flatten

Dims = Any  # int, None, or a tuple, list or dict of them


def vmap(
    func: Callable,
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable:
    """The function that applies func to each sample of its arguments and stacks the results.

    in_dims: the batch dimension of each argument; None for one that is the same for all samples.
    It may be nested like the arguments. Keyword arguments are the same for all samples.
    out_dims: where the batch dimension of each result goes; None for a result without one.
    randomness: "different" or "same" random numbers for the samples; "error" forbids them.
    chunk_size has no effect: samples are computed one by one.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"vmap: got randomness {randomness!r}, expected 'error', 'different' or 'same'"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: got chunk_size {chunk_size}, expected a positive number")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        values, rebuild = flatten(args)
        dims = _input_dims(in_dims, args)
        size, dims = _batch_size(values, dims)
        if size == 0:
            return _empty(functools.partial(func, **kwargs), values, dims, rebuild, out_dims)
        columns = [
            [v] * size if dim is None else writable(v.unbind(dim)) for v, dim in zip(values, dims)
        ]
        results = []
        with _random_numbers(randomness) as next_sample:
            for i in range(size):
                results.append(func(*rebuild([column[i] for column in columns]), **kwargs))
                next_sample()
        return _stacked(results, out_dims)

    return mapped


gradcheck_batched.vmap = vmap


def _vmap(
    func: Callable, in_dims: Dims = 0, out_dims: Dims = 0, allow_none_pass_through: bool = False
) -> Callable:
    """torch._vmap_internals._vmap: PyTorch's old name of `vmap`."""
    return vmap(func, in_dims, out_dims)


# ------------------------------------------------------------------------------------------
# Arguments
# ------------------------------------------------------------------------------------------


def _input_dims(in_dims: Dims, args: tuple) -> list:
    """The batch dimension of each leaf of the arguments."""
    if not isinstance(in_dims, (int, tuple, list)) or isinstance(in_dims, bool):
        raise ValueError(
            f"vmap: got in_dims of type {type(in_dims).__name__}, expected an int or a tuple"
        )
    if isinstance(in_dims, int):
        return [in_dims] * len(flatten(args)[0])
    return _spread("in_dims", tuple(in_dims), args)


def _spread(what: str, dims: Dims, tree: Any) -> list:
    """`dims`, which may be given for whole branches of `tree`, for each of its leaves."""
    if dims is None or (isinstance(dims, int) and not isinstance(dims, bool)):
        return [dims] * len(flatten(tree)[0])
    pairs: list[tuple]
    if isinstance(dims, (tuple, list)) and isinstance(tree, (tuple, list)):
        fits = len(dims) == len(tree)
        pairs = list(zip(dims, tree))
    elif isinstance(dims, dict) and isinstance(tree, dict):
        fits = dims.keys() == tree.keys()
        pairs = [(dims[key], tree[key]) for key in tree] if fits else []
    else:
        fits, pairs = False, []
    if not fits:
        raise ValueError(
            f"vmap: {what}={dims} does not have the structure of what it is for, {_structure(tree)}"
        )
    return [leaf for d, part in pairs for leaf in _spread(what, d, part)]


def _structure(tree: Any) -> str:
    values, rebuild = flatten(tree)
    return str(rebuild([type(v).__name__ for v in values])).replace("'", "")


def _batch_size(values: list, dims: list) -> tuple[int, list]:
    """The size of the batch, and the dimensions counted from the front."""
    sizes: list[int] = []
    counted: list[int | None] = []
    for i, (value, dim) in enumerate(zip(values, dims)):
        if dim is None:
            counted.append(None)
            continue
        if not isinstance(value, Variable):
            raise ValueError(
                f"vmap: got in_dim {dim} for an input of type {type(value).__name__}, expected "
                "None: only tensors can be mapped over"
            )
        rank = value.array.ndim
        if not -rank <= dim < rank:
            raise ValueError(
                f"vmap: got in_dim {dim} for input {i}, of shape {tuple(value.shape)}, expected a "
                "dimension of it"
            )
        counted.append(dim % rank)
        sizes.append(value.array.shape[dim])
    if not sizes:
        raise ValueError("vmap: got no tensor to map over; in_dims is None for all inputs")
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: got batches of different sizes, {sizes}, expected one size")
    return sizes[0], counted


# ------------------------------------------------------------------------------------------
# Random numbers
# ------------------------------------------------------------------------------------------


@contextmanager
def _random_numbers(randomness: str) -> Iterator[Callable[[], None]]:
    """Yields the function to call after each sample."""
    generator = default_generator_of("cpu")
    if randomness == "different":
        yield lambda: None
        return
    before = generator.get_state()
    after: Any = None

    def next_sample() -> None:
        nonlocal after
        if randomness == "same":
            after = generator.get_state() if after is None else after
            generator.set_state(before)
        elif after is None:  # check the first sample; the others do the same
            after = generator.get_state()
            if after.tolist() != before.tolist():
                raise RuntimeError(
                    "vmap: func called a random op, which randomness='error' forbids; pass "
                    "randomness='different' or 'same'"
                )

    yield next_sample
    if randomness == "same" and after is not None:
        generator.set_state(after)


# ------------------------------------------------------------------------------------------
# Results
# ------------------------------------------------------------------------------------------


def _output_dims(out_dims: Dims, result: Any, values: list) -> list:
    for value in values:
        if not isinstance(value, Variable):
            raise ValueError(
                f"vmap: func returned a {type(value).__name__}, expected tensors (in tuples, "
                "lists or dicts)"
            )
    if out_dims is None or isinstance(out_dims, int):
        return [out_dims] * len(values)
    if isinstance(out_dims, (tuple, list)) and not isinstance(result, (tuple, list, dict)):
        result = (result,)
    return _spread("out_dims", tuple(out_dims) if isinstance(out_dims, list) else out_dims, result)


def _stacked(results: list, out_dims: Dims) -> Any:
    """One result with a batch dimension for each of the function's."""
    values, rebuild = flatten(results[0])
    dims = _output_dims(out_dims, results[0], values)
    columns = list(zip(*(flatten(result)[0] for result in results)))
    return rebuild([c[0] if dim is None else stack(c, dim) for c, dim in zip(columns, dims)])


def _empty(func: Callable, values: list, dims: list, rebuild: Any, out_dims: Dims) -> Any:
    """The results for no samples: func runs once on zeros, for the shapes."""
    sample = []
    for value, dim in zip(values, dims):
        if dim is not None:
            shape = [n for i, n in enumerate(value.array.shape) if i != dim]
            value = wrap(xp(value.array).zeros(shape, dtype=value.array.dtype))
        sample.append(value)
    result = func(*rebuild(sample))
    outputs, rebuild_outputs = flatten(result)
    made = []
    for output, dim in zip(outputs, _output_dims(out_dims, result, outputs)):
        if dim is None:
            made.append(output)
            continue
        shape = list(output.array.shape)
        shape.insert(dim if dim >= 0 else dim + len(shape) + 1, 0)
        made.append(wrap(xp(output.array).zeros(shape, dtype=output.array.dtype)))
    return rebuild_outputs(made)


__all__ = ["vmap"]
