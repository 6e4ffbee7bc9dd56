"""einsum and tensordot: sums of products, with the dimensions named.

Each operand's dimensions carry labels: letters in an equation, negative numbers for what an
ellipsis stands for. Other ops first remove repeated, summed and broadcast labels; `Einsum`
then contracts two operands at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ..autograd.op import Op
from ..autograd.variable import Variable, unwrap
from ..backend import Array, is_array
from ..errors import ShapeError
from ..out import takes_out
from .autocast import switched_off
from .autocast_setting import setting
from .dims import distinct_dims
from .matmul import check_operands
from .partial_views import diagonal
from .promote import cast, promote
from .shape import permute

if TYPE_CHECKING:
    from ..tensor import Tensor

Labels = tuple  # one label (a letter or a number) for each dimension


class Einsum(Op):
    """y = Σ a·b over the labels that y lacks;  da = Σ g·b, db = Σ a·g, by their labels

    No operand has a label twice, each label of y is in a or b, and each label that y lacks is in
    both.
    """

    saves = {"a": "b", "b": "a"}

    def forward(self, a: Array, b: Array, in_a: Labels, in_b: Labels, in_y: Labels) -> Array:
        self.labels = in_a, in_b, in_y
        return contract(a, b, in_a, in_b, in_y)

    def backward(self, g: Any) -> Any:
        a, b = self.saved
        in_a, in_b, in_y = self.labels
        da = None if b is None else Einsum.apply(g, b, in_y, in_b, in_a)
        db = None if a is None else Einsum.apply(a, g, in_a, in_y, in_b)
        return da, db


def contract(a: Array, b: Array, in_a: Labels, in_b: Labels, in_y: Labels) -> Array:
    """The contraction of two raw arrays, as one (batched) matrix product."""
    summed = tuple(i for i in in_a if i not in in_y)
    if not summed:
        return _aligned(a, in_a, in_y) * _aligned(b, in_b, in_y)
    size = dict(zip(in_a, a.shape, strict=True)) | dict(zip(in_b, b.shape, strict=True))
    batch = tuple(i for i in in_y if i in in_a and i in in_b)
    rows = tuple(i for i in in_y if i not in in_b)
    columns = tuple(i for i in in_y if i not in in_a)

    def length(labels: Labels) -> int:
        return math.prod(size[i] for i in labels)

    # a → (batch…, M, K), b → (batch…, K, N)
    sizes = tuple(size[i] for i in batch)
    left = _ordered(a, in_a, batch + rows + summed)
    left = left.reshape((*sizes, length(rows), length(summed)))
    right = _ordered(b, in_b, batch + summed + columns)
    right = right.reshape((*sizes, length(summed), length(columns)))
    y = left @ right
    # (batch…, M, N) → (batch…, rows…, columns…)
    y = y.reshape((*sizes, *(size[i] for i in rows + columns)))
    return _ordered(y, batch + rows + columns, in_y)


def _ordered(x: Array, labels: Labels, wanted: Labels) -> Array:
    """x with its dimensions in the order of `wanted`."""
    return x if labels == wanted else x.transpose([labels.index(i) for i in wanted])


def _aligned(x: Array, labels: Labels, wanted: Labels) -> Array:
    """x with a dimension for each label in `wanted`: of length 1 for those it does not have."""
    x = _ordered(x, labels, tuple(i for i in wanted if i in labels))
    lengths = iter(x.shape)
    return x.reshape(tuple(next(lengths) if i in labels else 1 for i in wanted))


# ------------------------------------------------------------------------------------------
# Bringing operands into order
# ------------------------------------------------------------------------------------------


def _without_repeats(x: Any, labels: Labels) -> tuple[Any, Labels]:
    """Take the diagonal of dimensions that share a label: (i, j, i) → (j, i)."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = diagonal(x, 0, first, second)  # the diagonal becomes the last dimension
            rest = [i for k, i in enumerate(labels) if k not in (first, second)]
            labels = (*rest, label)
    return x, labels


def _without(x: Any, labels: Labels, summed: set) -> tuple[Any, Labels]:
    """Sum x over the labels in `summed`."""
    axes = tuple(k for k, i in enumerate(labels) if i in summed)
    if axes:
        x = x.sum(axis=axes)
    return x, tuple(i for i in labels if i not in summed)


def _without_ones(x: Any, labels: Labels, other: dict) -> tuple[Any, Labels]:
    """Drop dimensions of length 1 that are to be broadcast: `other` has the label, and longer."""
    lengths = dict(zip(labels, x.shape, strict=True))
    kept = tuple(i for i in labels if lengths[i] != 1 or other.get(i, 1) == 1)
    if kept == labels:
        return x, labels
    return x.reshape(tuple(lengths[i] for i in kept)), kept


def _pair(
    name: str, a: Any, b: Any, in_a: Labels, in_b: Labels, needed: Labels
) -> tuple[Any, Labels]:
    """Contract two operands, keeping the labels in `needed`; the result and its labels."""
    sizes_a, sizes_b = dict(zip(in_a, a.shape, strict=True)), dict(zip(in_b, b.shape, strict=True))
    a, in_a = _without_ones(a, in_a, sizes_b)
    b, in_b = _without_ones(b, in_b, sizes_a)
    if set(in_a) & set(in_b) - set(needed):
        check_operands(name, unwrap(a), unwrap(b))
    a, in_a = _without(a, in_a, set(in_a) - {*in_b, *needed})
    b, in_b = _without(b, in_b, set(in_b) - {*in_a, *needed})
    in_y = tuple(i for i in needed if i in in_a or i in in_b)
    a, b = promote(a, b)
    return Einsum.apply(a, b, in_a, in_b, in_y), in_y


def _in_order(x: Any, labels: Labels, wanted: Labels) -> Any:
    return x if labels == wanted else permute(x, tuple(labels.index(i) for i in wanted))


# ------------------------------------------------------------------------------------------
# einsum
# ------------------------------------------------------------------------------------------


def einsum(equation: str, *operands: Any) -> Tensor:
    """Sum of products: `einsum("bij,bjk->bik", a, b)` is a batch of matrix products.

    Each letter names a dimension, "..." the dimensions not named, which broadcast. A letter that is
    not in the output is summed over; one twice in an operand takes the diagonal. Without "->" the
    output has, in alphabetical order, the letters that occur once. Operands may also be given as
    one list, or with their labels: `einsum(a, [0, 1], b, [1, 2], [0, 2])`.
    """
    if not isinstance(equation, str):
        equation, operands = _from_sublists((equation, *operands))
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    inputs, wanted = _parse(equation, operands)
    terms = [_without_repeats(x, labels) for x, labels in zip(operands, inputs, strict=True)]
    while len(terms) > 1:
        i, j = _cheapest_pair(terms, wanted)
        (b, in_b), (a, in_a) = terms.pop(j), terms.pop(i)
        needed = tuple(dict.fromkeys(wanted + sum((labels for _, labels in terms), ())))
        terms.insert(i, _pair("einsum", a, b, in_a, in_b, needed))
    x, labels = terms[0]
    x, labels = _without(x, labels, set(labels) - set(wanted))
    return _in_order(x, labels, wanted)


def _cheapest_pair(terms: list, wanted: Labels) -> tuple[int, int]:
    """The two operands whose product is smallest."""
    if len(terms) == 2:
        return 0, 1

    def size_of_product(pair: tuple[int, int]) -> int:
        others = (labels for k, (_, labels) in enumerate(terms) if k not in pair)
        needed = set(wanted).union(*others)
        sizes: dict[Any, int] = {}
        for k in pair:
            x, labels = terms[k]
            for label, n in zip(labels, x.shape, strict=True):
                sizes[label] = max(n, sizes.get(label, 1))
        return math.prod(n for label, n in sizes.items() if label in needed)

    return min(combinations(range(len(terms)), 2), key=size_of_product)


def _parse(equation: str, operands: Sequence) -> tuple[list[Labels], Labels]:
    """The labels of each operand and of the output, with sizes checked."""
    inputs_text, arrow, output_text = equation.replace(" ", "").partition("->")
    texts = inputs_text.split(",")
    if len(texts) != len(operands):
        raise ValueError(
            f"einsum: equation {equation!r} is for {len(texts)} operands, got {len(operands)}"
        )
    inputs = []
    sizes: dict[Any, int] = {}
    for number, (text, operand) in enumerate(zip(texts, operands, strict=True)):
        if not is_array(unwrap(operand)):
            raise TypeError(f"einsum: got {type(operand).__name__}, expected a tensor")
        labels = _labels(equation, text, operand.ndim, number)
        own: dict[Any, int] = {}
        for label, n in zip(labels, operand.shape, strict=True):
            if own.setdefault(label, n) != n:
                raise ShapeError(
                    f"einsum: {_name(label)} is repeated in operand {number} of shape "
                    f"{tuple(operand.shape)}, but the lengths {own[label]} and {n} differ"
                )
            if sizes.get(label, 1) != 1 and n not in (1, sizes[label]):
                raise ShapeError(
                    f"einsum: {_name(label)} has length {n} in operand {number} of shape "
                    f"{tuple(operand.shape)}, but {sizes[label]} in one before it"
                )
            sizes[label] = n if n != 1 else sizes.get(label, 1)
        inputs.append(labels)
    ellipsis = tuple(sorted(i for i in sizes if isinstance(i, int)))
    if arrow:
        return inputs, _output_labels(equation, output_text, ellipsis, sizes)
    letters = [i for labels in inputs for i in labels if isinstance(i, str)]
    once = sorted(i for i in set(letters) if letters.count(i) == 1)
    return inputs, ellipsis + tuple(once)


def _name(label: Any) -> str:
    return f"subscript {label}" if isinstance(label, str) else f"dimension {label} under '...'"


def _labels(equation: str, text: str, ndim: int, number: int) -> Labels:
    """The labels of one operand: letters, and for an ellipsis -1 for the last, -2 before it, …"""
    before, dots, after = text.partition("...")
    for letter in before + after:
        _check_letter(equation, letter)
    named = len(before) + len(after)
    if named > ndim or (named < ndim and not dots):
        raise ShapeError(
            f"einsum: {text!r} in {equation!r} names {named} dimensions, but operand {number} has "
            f"{ndim}"
        )
    return (*before, *range(named - ndim, 0), *after)


def _output_labels(equation: str, text: str, ellipsis: Labels, known: dict) -> Labels:
    before, dots, after = text.partition("...")
    for letter in before + after:
        _check_letter(equation, letter)
        if letter not in known:
            raise RuntimeError(
                f"einsum: output subscript {letter} of {equation!r} is in no operand"
            )
        if text.count(letter) > 1:
            raise RuntimeError(f"einsum: output subscript {letter} of {equation!r} is there twice")
    return (*before, *(ellipsis if dots else ()), *after)


def _check_letter(equation: str, letter: str) -> None:
    if not (letter.isascii() and letter.isalpha()):
        raise RuntimeError(
            f"einsum: {letter!r} in {equation!r} is no subscript, expected a-z, A-Z and '...'"
        )


def _from_sublists(arguments: tuple) -> tuple[str, tuple]:
    """einsum(a, [0, 1], b, [1, …], [0, …]) as an equation, with letters for the numbers."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    operands = arguments[: len(arguments) // 2 * 2 : 2]  # the last argument may be the output's

    def text(labels: Sequence) -> str:
        for i in labels:
            if i is not Ellipsis and not (isinstance(i, int) and 0 <= i < 52):
                raise ValueError(f"einsum: got label {i!r}, expected 0 to 51 or Ellipsis")
        return "".join("..." if i is Ellipsis else letters[i] for i in labels)

    if not operands or not all(isinstance(i, (list, tuple)) for i in arguments[1::2]):
        raise TypeError(
            f"einsum: got {type(arguments[0]).__name__} first, expected an equation such as "
            "'ij,jk->ik', or operands each followed by a list of labels"
        )
    equation = ",".join(text(labels) for labels in arguments[1::2])
    if len(arguments) % 2:
        equation += "->" + text(arguments[-1])
    return equation, operands


# ------------------------------------------------------------------------------------------
# tensordot
# ------------------------------------------------------------------------------------------


@takes_out("same dtype")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum of products over `dims`: the last `dims` of a with the first of b, or two lists of them.

    The result has a's other dimensions, then b's.
    """
    check_operands("tensordot", unwrap(a), unwrap(b))
    dims_a, dims_b = _contracted(dims, a.ndim, b.ndim)
    # Labels: a's dimensions 0, 1, …; b's further on, but for those that meet one of a's.
    in_a = list(range(a.ndim))
    in_b = list(range(a.ndim, a.ndim + b.ndim))
    for i, j in zip(dims_a, dims_b, strict=True):
        if a.shape[i] != b.shape[j] and 1 not in (a.shape[i], b.shape[j]):
            raise ShapeError(
                f"tensordot: shapes {tuple(a.shape)} and {tuple(b.shape)} have lengths "
                f"{a.shape[i]} and {b.shape[j]} in the contracted dimensions {i} and {j}, expected "
                "equal ones"
            )
        in_b[j] = i
    needed = tuple(i for i in (*in_a, *in_b) if (i in in_a) != (i in in_b))
    if not needed and setting.active is not None:  # autocast leaves a sum of all products as it is
        with switched_off():
            y, _ = _pair("tensordot", a, b, tuple(in_a), tuple(in_b), needed)
    else:
        y, _ = _pair("tensordot", a, b, tuple(in_a), tuple(in_b), needed)
    dtype = unwrap(a).dtype
    return y if dtype.kind in "fcV" else cast(y, dtype)  # summed integers are int64


def _contracted(dims: Any, rank_a: int, rank_b: int) -> tuple[Sequence[int], Sequence[int]]:
    """The dimensions of each operand that are summed over."""
    if isinstance(dims, Variable):
        dims = dims.array.tolist()
    if isinstance(dims, int):
        if not 0 <= dims <= min(rank_a, rank_b):
            raise RuntimeError(
                f"tensordot: got dims={dims}, expected 0 to {min(rank_a, rank_b)} for operands of "
                f"{rank_a} and {rank_b} dimensions"
            )
        return range(rank_a - dims, rank_a), range(dims)
    first, second = dims
    if not isinstance(first, (list, tuple)) or not isinstance(second, (list, tuple)):
        raise TypeError(f"tensordot: got dims={dims!r}, expected an int or two lists of ints")
    if len(first) != len(second):
        raise RuntimeError(
            f"tensordot: both lists of dims should have the same length, got {first} and {second}"
        )
    dims_a = distinct_dims("tensordot", tuple(first), rank_a)
    dims_b = distinct_dims("tensordot", tuple(second), rank_b)
    return dims_a, dims_b


__all__ = ["einsum", "tensordot"]
