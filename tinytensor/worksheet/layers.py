"""Layers: products, one node to seven layers, backpropagation, autoencoder, skip, dropout.

Samples are columns. The last column of [W | b] is the bias, multiplied by a row of ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from .kinds import FORWARD_ONLY, Backward, kind
from .named import ADD, AFFINE, MASK, PRODUCT, RELU, SUBTRACT, TIMES, keep, scale
from .sheet import Grid, Sheet, Unusable

DIGITS = "₀₁₂₃₄₅₆₇"


@kind("matmul", "Matrix product, and its gradients")
def matmul(sheet: Sheet, size: str) -> Backward:
    rows, inner, columns = {"small": (2, 2, 2), "medium": (3, 2, 3), "large": (4, 3, 4)}[size]
    A = sheet.given("A", sheet.whole(rows, inner, -2, 3), "weight")
    B = sheet.given("B", sheet.whole(inner, columns, -2, 3))
    sheet.section("The product", "Row times column; the result stands where they cross.")
    C = sheet.step("C", PRODUCT, B, left=A, role="value")
    G = sheet.given("dL/dC", sheet.whole(rows, columns, -1, 2), "gradient")
    yield (C.tensor * G.tensor).sum()
    sheet.section("Its gradients", "dL/dC is given.")
    sheet.step("dL/dA", PRODUCT, B.T, left=G, gradient_of=A)
    sheet.step("dL/dB", PRODUCT, G, left=A.T, gradient_of=B)


@kind("layers", "From one node to seven layers")
def layers(sheet: Sheet, size: str) -> Backward:
    widths = {"small": (3, 1), "medium": (3, 4, 2), "large": (3, 4, 3, 4, 2, 3, 3, 2)}[size]
    samples = {"small": 1, "medium": 3, "large": 2}[size]
    X = sheet.given("X", sheet.whole(widths[0], samples, 0, 3))
    sheet.section("Layer by layer", "Strike out what ReLU makes 0." + _one_sample(samples))
    forward(sheet, X, widths, last_relu=size != "large")
    return FORWARD_ONLY


def _one_sample(samples: int) -> str:
    return "" if samples == 1 else " Each column is a sample."


def forward(
    sheet: Sheet, X: Grid, widths: Sequence[int], last_relu: bool = False
) -> tuple[list[Grid], list[Grid], list[Grid]]:
    """Layers of these widths: their weights, inputs, and outputs before ReLU."""
    tables, inputs, outputs = [], [X], []
    for number, (before, width) in enumerate(zip(widths, widths[1:]), 1):
        last = number == len(widths) - 1
        mark = "" if len(widths) == 2 else DIGITS[number]
        table = sheet.layer(f"W{mark}", width, before)
        name = "Y" if last and not last_relu else f"Z{mark}"
        Z = sheet.step(name, AFFINE, inputs[-1].with_ones(), left=table, role="value")
        tables.append(table)
        outputs.append(Z)
        if not last or last_relu:
            inputs.append(sheet.step("Y" if last else f"H{mark}", RELU, Z))
    return tables, inputs, outputs


def back(
    sheet: Sheet, tables: list[Grid], inputs: list[Grid], outputs: list[Grid], gradient: Grid
) -> None:
    """From dL/dY to the weights of every layer, the last one first."""
    for number in range(len(tables) - 1, -1, -1):
        table, Z = tables[number], outputs[number]
        sheet.section(f"Back through layer {number + 1}")
        if number < len(tables) - 1:
            gradient = sheet.step(f"dL/d{Z.name}", MASK, gradient, left=Z, gradient_of=Z)
        name = f"dL/d{table.name}"
        top = inputs[number].with_ones().T
        sheet.step(name, PRODUCT, top, left=gradient, gradient_of=table)
        if number:
            below = inputs[number]
            name = f"dL/d{below.name}"
            left = table.weights.T
            gradient = sheet.step(name, PRODUCT, gradient, left=left, gradient_of=below)


@kind("backprop", "Backpropagation through a network of layers")
def backprop(sheet: Sheet, size: str) -> Backward:
    widths = {"small": (2, 2, 2), "medium": (3, 3, 2), "large": (3, 4, 3, 2)}[size]
    samples = 1 if size == "small" else 2
    X = sheet.given("X", sheet.whole(widths[0], samples, -1, 3))
    sheet.section("Forward", "Strike out what ReLU makes 0." + _one_sample(samples))
    tables, inputs, outputs = forward(sheet, X, widths)
    Y = outputs[-1]
    T = sheet.given("T", sheet.whole(widths[-1], samples, -3, 5))
    yield (Y.tensor - T.tensor).square().sum() / 2
    sheet.section("Loss", "T are the targets, L = ½ times the sum of (Y − T)².")
    gradient = sheet.step("dL/dY", SUBTRACT, Y, left=T, gradient_of=Y)
    back(sheet, tables, inputs, outputs, gradient)


@kind("autoencoder", "Autoencoder: squeeze and restore, and the gradients")
def autoencoder(sheet: Sheet, size: str) -> Backward:
    widths = {"small": (3, 2, 3), "medium": (4, 2, 4), "large": (4, 3, 2, 3, 4)}[size]
    samples = 1 if size == "small" else 2
    X = sheet.given("X", sheet.whole(widths[0], samples, 0, 3))
    sheet.section("Forward", "Fewer numbers in the middle than outside." + _one_sample(samples))
    tables, inputs, outputs = forward(sheet, X, widths)
    Y = outputs[-1]
    yield (Y.tensor - X.tensor).square().sum()
    sheet.section("Loss", "The target is X itself; L is the sum of (Y − X)².")
    error = sheet.step("Y − X", SUBTRACT, Y, left=X, role="gradient")
    gradient = sheet.step("dL/dY", scale(2, "× 2", "2·({top})"), error, gradient_of=Y)
    back(sheet, tables, inputs, outputs, gradient)


@kind("residual", "Residual block: with the skip and without it")
def residual(sheet: Sheet, size: str) -> Backward:
    width, hidden, samples = {"small": (2, 2, 2), "medium": (3, 3, 2), "large": (4, 3, 3)}[size]
    X = sheet.given("X", sheet.whole(width, samples, -2, 3))
    sheet.section("Two layers", "F is what the block adds to X.")
    first = sheet.layer("W₁", hidden, width)
    Z = sheet.step("Z₁", AFFINE, X.with_ones(), left=first, role="value")
    H = sheet.step("H", RELU, Z)
    second = sheet.layer("W₂", width, hidden)
    F = sheet.step("F", AFFINE, H.with_ones(), left=second)
    sheet.section("With and without the skip", "Y = ReLU(F + X) with it, ReLU(F) without.")
    R = sheet.step("F + X", ADD, F, left=X)
    Y = sheet.step("Y", RELU, R)
    sheet.step("Y without skip", RELU, F)
    G = sheet.given("dL/dY", sheet.whole(width, samples, -2, 3), "gradient")
    yield (Y.tensor * G.tensor).sum()
    sheet.section(
        "Back, with the skip", "dL/dY is given. The skip passes its gradient on to X unchanged."
    )
    dR = sheet.step("dL/d(F + X)", MASK, G, left=R, gradient_of=R)
    dH = sheet.step("dL/dH", PRODUCT, dR, left=second.weights.T, gradient_of=H)
    dZ = sheet.step("dL/dZ₁", MASK, dH, left=Z, gradient_of=Z)
    through = sheet.step("dX through F", PRODUCT, dZ, left=first.weights.T)
    sheet.step("dL/dX", ADD, through, left=dR, gradient_of=X)


@kind("dropout", "Dropout: while training, backward, and afterwards")
def dropout(sheet: Sheet, size: str) -> Backward:
    inner, hidden, out = {"small": (2, 4, 2), "medium": (2, 4, 2), "large": (3, 5, 2)}[size]
    samples = 1 if size == "small" else 2
    X = sheet.given("X", sheet.whole(inner, samples, 1, 4))
    numbers = [[sheet.draw.choice((*range(2, 50), *range(51, 99))) / 100] for _ in range(hidden)]
    sheet.section("Which nodes stay", "p = 0.5: a node stays if its random number u is above p.")
    u = sheet.given("u", numbers)
    m = sheet.step("m", keep(0.5), u, role="value")
    if len({row[0].value for row in m.cells}) == 1:
        raise Unusable("all nodes stay, or none does")
    sheet.section("Forward, while training", _one_sample(samples).strip())
    first = sheet.layer("W₁", hidden, inner)
    Z = sheet.step("Z₁", AFFINE, X.with_ones(), left=first, role="value")
    H = sheet.step("H", RELU, Z)
    D = sheet.step("D", TIMES, H, left=m)
    second = sheet.layer("W₂", out, hidden)
    Y = sheet.step("Y", AFFINE, D.with_ones(), left=second)
    T = sheet.given("T", sheet.whole(out, samples, -4, 9))
    yield (Y.tensor - T.tensor).square().sum() / 2
    sheet.section("Backward", "T are the targets, L = ½ times the sum of (Y − T)².")
    dY = sheet.step("dL/dY", SUBTRACT, Y, left=T, gradient_of=Y)
    name = f"dL/d{second.name}"
    sheet.step(name, PRODUCT, D.with_ones().T, left=dY, gradient_of=second)
    dD = sheet.step("dL/dD", PRODUCT, dY, left=second.weights.T, gradient_of=D)
    dH = sheet.step("dL/dH", TIMES, dD, left=m, gradient_of=H)
    dZ = sheet.step("dL/dZ₁", MASK, dH, left=Z, gradient_of=Z)
    sheet.step(f"dL/d{first.name}", PRODUCT, X.with_ones().T, left=dZ, gradient_of=first)
    sheet.section("Afterwards", "Nothing is dropped, and nothing is scaled.")
    sheet.step("Y afterwards", AFFINE, H.with_ones(), left=second)


__all__ = ["autoencoder", "backprop", "dropout", "layers", "matmul", "residual"]
