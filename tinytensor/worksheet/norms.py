"""Batch norm and layer norm: x̂ = (x − μ)/σ, y = γ·x̂ + β, with ε = 0.

Features are rows and samples are columns: batch norm goes along rows, layer norm down columns. The
numbers are drawn so that every μ and σ is whole.
"""

from __future__ import annotations

import math

from .kinds import Backward, kind
from .named import (
    ADD,
    COLUMN_MEAN,
    DIVIDE,
    ROOT,
    ROW_MEAN,
    ROW_SUM,
    SQUARE,
    SUBTRACT,
    TIMES,
)
from .rules import Rule
from .sheet import Grid, Sheet


@kind("batchnorm", "Batch norm")
def batchnorm(sheet: Sheet, size: str) -> Backward:
    features, samples = {"small": (2, 4), "medium": (2, 4), "large": (4, 4)}[size]
    X = sheet.given("X", [_even_spread(sheet, samples) for _ in range(features)])
    return _norm(sheet, size, X, ROW_MEAN, "Along each row: one feature in all samples. ε is 0.")


@kind("layernorm", "Layer norm")
def layernorm(sheet: Sheet, size: str) -> Backward:
    features, tokens = {"small": (4, 2), "medium": (4, 2), "large": (4, 4)}[size]
    columns = [_even_spread(sheet, features) for _ in range(tokens)]
    X = sheet.given("X", list(zip(*columns)))
    return _norm(sheet, size, X, COLUMN_MEAN, "Down each column: all features of one. ε is 0.")


def _even_spread(sheet: Sheet, count: int) -> list[float]:
    """Numbers whose mean and standard deviation are whole."""
    while True:
        drawn = [float(sheet.draw.randint(-4, 9)) for _ in range(count)]
        mean = sum(drawn) / count
        spread = math.sqrt(sum((x - mean) ** 2 for x in drawn) / count)
        if mean.is_integer() and spread.is_integer() and 0 < spread < 5:
            return drawn


def _norm(sheet: Sheet, size: str, X: Grid, mean: Rule, text: str) -> Backward:
    sheet.section("Mean and deviation", text)
    mu = sheet.step("μ", mean, X, role="value")
    D = sheet.step("D", SUBTRACT, X, left=mu, role="value")
    variance = sheet.step("σ²", mean, sheet.step("D²", SQUARE, D))
    sigma = sheet.step("σ", ROOT, variance)
    sheet.section("Normalise, scale and shift", "Each feature has a γ and a β of its own.")
    features, samples = X.shape
    scales = [[sheet.draw.choice((-1, 1, 2, 3))] for _ in range(features)]
    gamma = sheet.given("γ", scales, "weight")
    beta = sheet.given("β", sheet.whole(features, 1, -2, 2), "weight")
    N = sheet.step("X̂", DIVIDE, D, left=sigma)
    Y = sheet.step("Y", ADD, sheet.step("γ ∘ X̂", TIMES, N, left=gamma), left=beta)
    if size == "small":
        return
    G = sheet.given("dL/dY", sheet.whole(features, samples, -2, 3), "gradient")
    yield (Y.tensor * G.tensor).sum()

    sheet.section("Back to γ and β", "dL/dY is given.")
    sheet.step("dL/dβ", ROW_SUM, G, gradient_of=beta)
    sheet.step("dL/dγ", ROW_SUM, sheet.step("X̂ ∘ dY", TIMES, G, left=N), gradient_of=gamma)
    sheet.section("Back to X", "μ and σ depend on X too: two means are taken off.")
    dN = sheet.step("dL/dX̂", TIMES, G, left=gamma, gradient_of=N)
    first = sheet.step("m₁", mean, dN)
    second = sheet.step("m₂", mean, sheet.step("X̂ ∘ dX̂", TIMES, dN, left=N))
    along = sheet.step("m₂ ∘ X̂", TIMES, N, left=second, role="gradient")
    rest = sheet.step("dX̂ − m₁", SUBTRACT, dN, left=first)
    rest = sheet.step("dX̂ − m₁ − m₂ ∘ X̂", SUBTRACT, rest, left=along)
    sheet.step("dL/dX", DIVIDE, rest, left=sigma, gradient_of=X)


__all__ = ["batchnorm", "layernorm"]
