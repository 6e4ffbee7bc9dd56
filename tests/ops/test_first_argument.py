"""A first argument that is not a tensor: one line that names the op, for every public function."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import ops

from .test_table import ROWS, tensors_of

FIRST_ROW = {row.name: row for row in reversed(ROWS)}
RANDOM = ("bernoulli", "multinomial", "rand_like", "randint_like", "randn_like")

# Arguments after the first, for functions whose own rows are methods, or that have none.
OTHERS: dict[str, tuple] = {"as_strided": ((2, 2), (1, 1)), "expand": (2, 2), "repeat": (2, 2),
                            "view": (4,)}  # fmt: skip

NO_TENSOR = {"broadcast_shapes", "einsum", "tril_indices", "triu_indices"}  # comes first in these
ANYTHING_GOES = {"bucketize", "isin"}  # a number too, and what NumPy makes an array of


def call_with(wrong: Any, name: str) -> None:
    """The function with other arguments that it takes, and this one first."""
    function = getattr(tt, name)
    if name in FIRST_ROW:
        row = FIRST_ROW[name]
        args, kwargs = row.fill(tensors_of(row, row.arrays(), np.float32))
        others = args[1:]
    else:
        needed = [p for p in inspect.signature(function).parameters.values()
                  if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]  # fmt: skip
        others, kwargs = OTHERS.get(name, (tt.ones(2, 2),) * (len(needed) - 1)), {}
    function(wrong, *others, **kwargs)


@pytest.mark.parametrize("name", [*ops.__all__, *RANDOM])
def test_the_error_names_the_op(name: str) -> None:
    if name in NO_TENSOR | ANYTHING_GOES:
        pytest.skip("takes something else first")
    for wrong in ([1.0, 2.0], "abc", None):
        with pytest.raises(TypeError) as caught:
            call_with(wrong, name)
        op, _, text = str(caught.value).partition(": ")
        assert op in {*ops.__all__, *RANDOM}, caught.value
        assert "expected" in text and "\n" not in text
    try:
        call_with(1.5, name)
    except (TypeError, NotImplementedError) as error:  # arithmetic takes numbers too
        assert str(error).split(": ")[0] in {*ops.__all__, *RANDOM}, error


def test_numbers_and_arrays_where_they_are_taken() -> None:
    assert tt.add(1.5, tt.ones(2)).tolist() == [2.5, 2.5]
    with pytest.raises(TypeError, match="maximum: got float and Tensor, expected two tensors"):
        tt.maximum(1.5, tt.ones(2))
    assert isinstance(ops.exp(np.zeros(2)), np.ndarray)  # as rules call it
    with pytest.raises(TypeError, match=r"tril_indices: got \(\[1.0\], 2\), expected ints"):
        tt.tril_indices([1.0], 2)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="broadcast_shapes: got .*, expected ints"):
        tt.broadcast_shapes((1, 2), "ab")


def test_a_function_is_one_object_everywhere() -> None:
    """In tinytensor, in tinytensor.ops, and in the file that it is written in."""
    for name in ops.__all__:
        function = getattr(ops, name)
        public = getattr(tt, name)
        assert function in (public, getattr(public, "__wrapped__", None))  # wrapped for out=
        file = sys.modules[function.__module__]
        assert file.__name__.startswith("tinytensor.ops.")
        assert getattr(file, function.__name__) is function
