"""Attention with tokens in columns: A = softmax of Kᵀ·Q/√d down the columns, Z = V·A."""

from __future__ import annotations

import math
from typing import NamedTuple

from .kinds import FORWARD_ONLY, Backward, kind
from .named import ADD, AFFINE, COLUMN_SUM, DIVIDE, PRODUCT, RELU, SUBTRACT, TIMES, power, scale
from .rules import Rule
from .sheet import Grid, Sheet

WIDTH = 4  # of queries and keys: √4 is a whole number


class Head(NamedTuple):
    """The matrices of one head that its backward pass needs."""

    Q: Grid
    K: Grid
    V: Grid
    scores: Grid
    scaled: Grid
    A: Grid
    Z: Grid


def softmax(sheet: Sheet, scores: Grid, mark: str = "", name: str = "A") -> Grid:
    """Softmax down the columns, as powers, their sums, and a division."""
    powers = sheet.step(f"E{mark}", power(sheet.base), scores, role="value")
    sums = sheet.step(f"Σ{mark}", COLUMN_SUM, powers)
    return sheet.step(f"{name}{mark}", DIVIDE, powers, left=sums)


def root_scale(width: int) -> Rule:
    return scale(1 / math.sqrt(width), f"÷ √{width}", f"{{top}} ÷ √{width}")


def project(sheet: Sheet, X: Grid, width: int, values: int, mark: str = "") -> list[Grid]:
    """Weights of queries and keys (width rows each) and of values; and Q, K, V."""
    queries, keys = _even(sheet, width, X.shape[0])
    rows = {"Q": queries, "K": keys, "V": sheet.signs(values, X.shape[0])}
    weights = [sheet.given(f"W{name}{mark}", table, "weight") for name, table in rows.items()]
    projected = [
        sheet.step(f"{name}{mark}", PRODUCT, X, left=W, role="value")
        for name, W in zip("QKV", weights)
    ]
    return [*weights, *projected]


def _even(sheet: Sheet, width: int, columns: int) -> tuple[list[list[float]], list[list[float]]]:
    """Two matrices of −1, 0 and 1 for queries and keys, whose products ÷ √width are whole.

    With width 4 each row occurs twice, perhaps negated in both matrices. So every product of a
    query and a key is even, and stays whole when it is divided by √4.
    """
    count = 1 if width == 1 else width // 2
    drawn = [sheet.signs(count, columns, of=(-1, 0, 0, 1)) for _ in range(2)]
    if width == 1:
        return drawn[0], drawn[1]
    signs = [sheet.draw.choice((-1.0, 1.0)) for _ in range(count)]
    order = sheet.draw.sample(range(width), width)
    doubled = [
        [*rows, *([sign * x for x in row] for sign, row in zip(signs, rows))] for rows in drawn
    ]
    queries, keys = ([rows[i] for i in order] for rows in doubled)
    return queries, keys


def attend(sheet: Sheet, Q: Grid, K: Grid, V: Grid, mark: str = "") -> Head:
    """Z = V·softmax(Kᵀ·Q/√d)"""
    scores = scaled = sheet.step(f"S{mark}", PRODUCT, Q, left=K.T, role="value")
    if Q.shape[0] > 1:
        scaled = sheet.step(f"S{mark}′", root_scale(Q.shape[0]), scores)
    A = softmax(sheet, scaled, mark)
    Z = sheet.step(f"Z{mark}", PRODUCT, A, left=V)
    return Head(Q, K, V, scores, scaled, A, Z)


def rounding(sheet: Sheet) -> str:
    """The sentence on a sheet about the value of e."""
    if sheet.base == math.e:
        return "Two places are enough."
    return f"Use e = {sheet.base:g}, and let (eˣ)′ = eˣ, as for the true e."


# ------------------------------------------------------------------------------------------
# One head
# ------------------------------------------------------------------------------------------


@kind("attention", "Self-attention", softmax=True)
def attention(sheet: Sheet, size: str) -> Backward:
    tokens, width = {"small": (2, 2), "medium": (3, 3), "large": (3, 4)}[size]
    X = sheet.given("X", sheet.whole(width, tokens, -1, 2))
    sheet.section("Queries, keys and values", "Each column of X is a token.")
    *_, Q, K, V = project(sheet, X, WIDTH, width)
    sheet.section("Attention", f"Softmax goes down the columns. {rounding(sheet)}")
    attend(sheet, Q, K, V)
    return FORWARD_ONLY


@kind("attention-backward", "Self-attention, forward and backward", softmax=True)
def attention_backward(sheet: Sheet, size: str) -> Backward:
    tokens, width = {"small": (2, 2), "medium": (2, 2), "large": (3, 3)}[size]
    X, weights = None, []
    if size == "small":
        Q, K = map(sheet.given, "QK", _even(sheet, WIDTH, tokens))
        V = sheet.given("V", sheet.whole(width, tokens, -2, 3))
    else:
        X = sheet.given("X", sheet.whole(width, tokens, -1, 2))
        sheet.section("Queries, keys and values", "Each column of X is a token.")
        *weights, Q, K, V = project(sheet, X, WIDTH, width)
    sheet.section("Forward", f"Softmax goes down the columns. {rounding(sheet)}")
    head = attend(sheet, Q, K, V)
    G = sheet.given("dL/dZ", sheet.whole(width, tokens, -4, 4), "gradient")
    yield (head.Z.tensor * G.tensor).sum()

    dQ, dK, dV = head_gradients(sheet, head, G)
    if X is not None:
        sheet.section("Back to the weights and to X")
        for W, gradient in zip(weights, (dQ, dK, dV)):
            sheet.step(f"dL/d{W.name}", PRODUCT, X.T, left=gradient, gradient_of=W)
        parts = [
            sheet.step(f"dX from {name}", PRODUCT, gradient, left=W.T)
            for name, W, gradient in zip("QKV", weights, (dQ, dK, dV))
        ]
        some = sheet.step("dX from Q and K", ADD, parts[1], left=parts[0])
        sheet.step("dL/dX", ADD, some, left=parts[2], gradient_of=X)


def head_gradients(sheet: Sheet, head: Head, G: Grid) -> tuple[Grid, Grid, Grid]:
    """dL/dQ, dL/dK and dL/dV from dL/dZ."""
    sheet.section("Back through the values", "dL/dZ is given: it comes from what lies above.")
    dV = sheet.step("dL/dV", PRODUCT, head.A.T, left=G, gradient_of=head.V)
    dA = sheet.step("dL/dA", PRODUCT, G, left=head.V.T, gradient_of=head.A)
    sheet.section("Back through softmax", "In each column, dS′ = A ∘ (dA − the sum of A ∘ dA).")
    shares = sheet.step("A ∘ dA", TIMES, dA, left=head.A)
    sums = sheet.step("Σ(A ∘ dA)", COLUMN_SUM, shares)
    differences = sheet.step("D", SUBTRACT, dA, left=sums)
    dS = sheet.step("dL/dS′", TIMES, differences, left=head.A, gradient_of=head.scaled)
    sheet.section("Back to queries and keys")
    dS = sheet.step("dL/dS", root_scale(head.Q.shape[0]), dS, gradient_of=head.scores)
    dQ = sheet.step("dL/dQ", PRODUCT, dS, left=head.K, gradient_of=head.Q)
    dK = sheet.step("dL/dK", PRODUCT, dS.T, left=head.Q, gradient_of=head.K)
    return dQ, dK, dV


# ------------------------------------------------------------------------------------------
# Heads and blocks
# ------------------------------------------------------------------------------------------


@kind("multihead", "Multi-head attention", softmax=True)
def multihead(sheet: Sheet, size: str) -> Backward:
    tokens, width, heads = {"small": (2, 2, 2), "medium": (3, 3, 2), "large": (3, 3, 3)}[size]
    X = sheet.given("X", sheet.whole(width, tokens, -1, 2))
    joined = None
    for mark in "₁₂₃"[:heads]:
        sheet.section(f"Head {'₁₂₃'.index(mark) + 1}", f"Of width 1: √1 = 1. {rounding(sheet)}")
        *_, Q, K, V = project(sheet, X, 1, 1, mark)
        Z = attend(sheet, Q, K, V, mark).Z
        joined = Z if joined is None else joined.over(Z)
    assert joined is not None
    sheet.section("All heads", "Their results, one below the other, go through WO.")
    WO = sheet.given("WO", sheet.signs(width, heads), "weight")
    sheet.step("out", PRODUCT, joined, left=WO, role="value")
    return FORWARD_ONLY


@kind("encoder", "Encoder block: attention and feed-forward, each with a skip")
def encoder(sheet: Sheet, size: str) -> Backward:
    tokens, width, hidden = {"small": (3, 2, 2), "medium": (3, 3, 4), "large": (4, 4, 5)}[size]
    X = sheet.given("X", sheet.whole(width, tokens, -2, 3))
    places = range(tokens)
    A = sheet.given("A", [[_self_or_next(i, j, tokens) for j in places] for i in places])
    sheet.section("Attention", "Its weights A are given: X·A mixes the tokens, which are columns.")
    mixed = sheet.step("X·A", PRODUCT, A, left=X, role="value")
    total = sheet.step("X + X·A", ADD, mixed, left=X)
    R = sheet.step("R", RELU, total)
    sheet.section("Feed-forward, token by token")
    first, second = sheet.layer("W₁", hidden, width), sheet.layer("W₂", width, hidden)
    H = sheet.step("H", RELU, sheet.step("Z₁", AFFINE, R.with_ones(), left=first))
    Z = sheet.step("Z₂", AFFINE, H.with_ones(), left=second)
    sheet.step("out", RELU, sheet.step("R + Z₂", ADD, Z, left=R))
    return FORWARD_ONLY


def _self_or_next(i: int, j: int, tokens: int) -> float:
    """Attention weights that are easy to add: each token attends to itself and one other."""
    return float(i in (j, (j + 1) % tokens))


__all__ = ["attention", "attention_backward", "encoder", "multihead", "rounding", "softmax"]
