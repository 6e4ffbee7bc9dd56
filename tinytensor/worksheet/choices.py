"""Probabilities and choices: cross-entropy, sampling, and a mixture of experts."""

from __future__ import annotations

import math

from .attention import rounding, softmax
from .kinds import FORWARD_ONLY, Backward, kind
from .named import (
    ADD,
    AFFINE,
    CHOOSE,
    COLUMN_SUM,
    CUMULATE,
    DIVIDE,
    MINUS_LOG,
    PICK,
    RELU,
    ROW_MEAN,
    SUBTRACT,
    TIMES,
    scale,
)
from .numbers import is_clean
from .rules import Choose
from .sheet import Grid, Sheet, Unusable


@kind("cross-entropy", "Softmax, cross-entropy, and their gradient", softmax=True)
def cross_entropy(sheet: Sheet, size: str) -> Backward:
    classes, samples = {"small": (3, 1), "medium": (3, 2), "large": (5, 2)}[size]
    Z = sheet.given("Z", list(zip(*(_scores(sheet, classes) for _ in range(samples)))))
    sheet.section("Softmax", f"Down each column. {rounding(sheet)}")
    P = softmax(sheet, Z, name="P")
    right = [sheet.draw.randrange(classes) for _ in range(samples)]
    targets = [[float(row == chosen) for chosen in right] for row in range(classes)]
    T = sheet.given("T", targets)
    about = "T has a 1 for the right class of each sample."
    if sheet.base == math.e:  # a logarithm to the base 3 would not be clean
        sheet.section("Loss", f"{about} The loss is the mean of −ln of its probability.")
        p = sheet.step("p", COLUMN_SUM, sheet.step("T ∘ P", TIMES, P, left=T))
        losses = sheet.step("ℓ" if samples > 1 else "L", MINUS_LOG, p)
        if samples > 1:
            sheet.step("L", ROW_MEAN, losses)
    yield -(T.tensor * P.tensor.log()).sum() / samples

    sheet.section("Gradient", f"{about} One formula leads through the logarithm and softmax.")
    if samples == 1:
        sheet.step("dL/dZ", SUBTRACT, P, left=T, gradient_of=Z)
        return
    error = sheet.step("P − T", SUBTRACT, P, left=T, role="gradient")
    share = scale(1 / samples, f"÷ {samples}", f"({{top}}) ÷ {samples}, as L is a mean")
    sheet.step("dL/dZ", share, error, gradient_of=Z)


def _scores(sheet: Sheet, classes: int) -> list[float]:
    """Scores of all classes, whose softmax is clean if e is 3."""
    while True:
        drawn = [float(sheet.draw.randint(-2, 2)) for _ in range(classes)]
        powers = [3**score for score in drawn]
        if sheet.base == math.e or all(is_clean(power / sum(powers)) for power in powers):
            return drawn


@kind("sampling", "Sampling: random numbers choose words")
def sampling(sheet: Sheet, size: str) -> Backward:
    words, drawn = {"small": (4, 2), "medium": (4, 3), "large": (5, 4)}[size]
    count = {"small": 1, "medium": 2, "large": 3}[size]  # for top-k
    columns = [_probabilities(sheet, words, count) for _ in range(drawn)]
    P = sheet.given("P", list(zip(*columns)))
    between = [n / 100 for n in range(1, 100) if n % 5]  # never on the border of two words
    u = sheet.given("u", [[sheet.draw.choice(between) for _ in range(drawn)]])
    text = "Each column has the probabilities of all words, one word in each row."
    sheet.section("The likeliest word", text)
    sheet.step("greedy", CHOOSE, P, role="value")
    sheet.section("A word by a random number", "Write down the number of the row, from 1 on.")
    sums = sheet.step("C", CUMULATE, P, role="value")
    sheet.step("word", PICK, sums, left=u)
    if size != "small":
        title = f"Only the {count} likeliest (top-k with k = {count})"
        sheet.section(title, "What is left is scaled, so that it sums to 1.")
        top = sheet.step("K", Choose(count), P, role="value")
        kept = sheet.step("K ∘ P", TIMES, P, left=top, role="value")
        total = sheet.step("Σ", COLUMN_SUM, kept)
        again = sheet.step("P₂", DIVIDE, kept, left=total)
        sheet.step("word₂", PICK, sheet.step("C₂", CUMULATE, again), left=u)
    return FORWARD_ONLY


def _probabilities(sheet: Sheet, words: int, count: int) -> list[float]:
    """Different twentieths that sum to 1; the `count` largest, scaled to sum to 1, are clean."""
    while True:
        cuts = sorted(sheet.draw.sample(range(1, 20), words - 1))
        parts = [high - low for low, high in zip([0, *cuts], [*cuts, 20])]
        kept = sorted(parts)[-count:]
        if len(set(parts)) == words and all(is_clean(part / sum(kept)) for part in kept):
            return [part / 20 for part in parts]


@kind("moe", "Mixture of experts: the gate chooses one for each token")
def moe(sheet: Sheet, size: str) -> Backward:
    width, tokens, out, experts = {
        "small": (2, 2, 2, 2), "medium": (3, 2, 3, 2), "large": (3, 4, 3, 3),
    }[size]  # fmt: skip
    X = sheet.given("X", sheet.whole(width, tokens, -1, 3))
    sheet.section("The gate", "Each token, a column, goes to the expert with the largest number.")
    gate = sheet.layer("Wg", experts, width)
    G = sheet.step("G", AFFINE, X.with_ones(), left=gate, role="value")
    C = sheet.step("C", CHOOSE, G)
    if (C.values.sum(axis=1) == 0).any():
        raise Unusable("an expert without tokens")
    total: Grid | None = None
    for number in range(experts):
        mark = "₁₂₃"[number]
        text = f"Row {number + 1} of C, c{mark}, says which tokens it is for."
        sheet.section(f"Expert {number + 1}", text)
        table = sheet.layer(f"W{mark}", out, width)
        E = sheet.step(f"E{mark}", AFFINE, X.with_ones(), left=table, role="value")
        chosen = sheet.step(f"Y{mark}", TIMES, E, left=C.row(f"c{mark}", number))
        if total is None:
            total = chosen
        else:
            total = sheet.step("Y" if number == experts - 1 else "Y₁ + Y₂", ADD, chosen, left=total)
    assert total is not None
    sheet.section("Out")
    sheet.step("ReLU(Y)", RELU, total)
    return FORWARD_ONLY


__all__ = ["cross_entropy", "moe", "sampling"]
