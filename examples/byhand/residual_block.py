"""Residual blocks: the input goes past two layers and is added to what they give."""

from __future__ import annotations

import nn
import tinytensor as tt

from .notation import layer, linear, matrix, table
from .sheet import Sheet, main, worksheet

FIRST = "1 1 0 0; 0 1 -1 0; 1 0 1 -1"
SECOND = "0 0 1 0; -1 0 0 0; 0 -1 0 0"
X = "2 1 0; 0 3 4; 1 0 2"


@worksheet("000-residual-block", "Residual block: y = ReLU(F(x) + x)")
def residual_block(sheet: Sheet) -> None:
    x = sheet.given("X", matrix(X)).requires_grad_()
    first, second = layer(FIRST), layer(SECOND)
    sheet.given("[W1 | b1]", table(first))
    sheet.given("[W2 | b2]", table(second))
    z1 = sheet.check("Z1", first(x), "2 4 4; -1 3 2; 2 0 1")
    a1 = sheet.check("A1 = ReLU(Z1)", z1.relu(), "2 4 4; 0 3 2; 2 0 1")
    f = sheet.check("F(X) = [W2 | b2]·[A1; 1]", second(a1), "2 0 1; -2 -4 -4; 0 -3 -2")
    sheet.check("F(X) + X", f + x, "4 1 1; -2 -1 0; 1 -3 0")

    block = nn.Sequential(first, nn.ReLU(), second)
    skip = nn.AddBeforeActivation(block)
    out = sheet.check("ReLU(F(X) + X)", skip(x), "4 1 1; 0 0 0; 1 0 0")
    after = nn.AddAfterActivation(block)(x)
    sheet.check("ReLU(F(X)) + X", after, "4 1 1; 0 3 4; 1 0 2")
    sheet.check("without skip: ReLU(F(X))", block(x).relu(), "2 0 1; 0 0 0; 0 0 0")

    last = second.module
    stacked = nn.stacked_weight(last.weight, last.bias)
    features = nn.stacked_features(x, a1, columns=True)
    sheet.check("I", stacked[:, :3], "1 0 0; 0 1 0; 0 0 1")
    sheet.check("[I | W2 | b2]·[X; A1; 1]", stacked @ features, "4 1 1; -2 -1 0; 1 -3 0")

    (g,) = tt.autograd.grad(out.sum(), x)
    product = nn.StackedSkip(nn.Sequential(linear(FIRST), nn.ReLU()), linear(SECOND))
    (stacked_g,) = tt.autograd.grad(product(x.mT).sum(), x)
    sheet.holds("both forms give the same dX", tt.equal(g, stacked_g))
    sheet.misread("A1, as it stands beside W2", a1, "2 4 4; 3 2 2; 0 1 1", "a crossed-out −1")
    sheet.misread("X, as it stands beside I", x, "1 0 0; 0 3 4; 1 0 2", "its first row is 2 1 0")


@worksheet("001-ResidualBlock-code", "A residual block with two skips")
def two_skips(sheet: Sheet) -> None:
    x = sheet.given("X, the first skip", matrix(X))
    first, second = layer(FIRST), layer(SECOND)
    sheet.given("fc1", table(first))
    sheet.given("fc2", table(second))
    hidden = first(x).relu()
    sheet.check("the second skip: ReLU(fc1(X))", hidden, "2 4 4; 0 3 2; 2 0 1")
    total = second(hidden) + x + hidden
    sheet.check("fc2 + both skips", total, "6 5 5; -2 2 2; 3 -3 1")
    out = nn.TwoSkips(first, second)(x)
    sheet.check("out", out, "6 5 5; 0 2 2; 3 0 1")
    sheet.note("both skips are added to one another: input and hidden layer need the same width")


@worksheet("X-ResNet-small", "A residual network, with and without its skip")
def small_network(sheet: Sheet) -> None:
    x = sheet.given("X", matrix("2 -1; 1 1; 2 1; 1 2"))
    first = layer("1 0 -1 1 1; 0 1 1 0 1; 1 -1 0 0 0")
    second = layer("0 1 2 1; -1 0 2 1; 0 1 1 1; -1 0 -3 0")
    last = layer("1 1 1 0 -2")
    for number, part in enumerate((first, second, last), start=1):
        sheet.given(f"[W{number} | b{number}]", table(part))
    sheet.check("A1", first(x).relu(), "2 1; 4 3; 1 0")
    block = nn.Sequential(first, nn.ReLU(), second)
    a2 = sheet.check("A2 with skip", nn.AddBeforeActivation(block)(x), "9 3; 2 1; 8 5; 0 1")
    sheet.check("Y with skip", last(a2).sigmoid(), "0.999999958 0.999089")
    a2 = sheet.check("A2 without skip", block(x).relu(), "7 4; 1 0; 6 4; 0 0")
    sheet.check("Y without skip", last(a2).sigmoid(), "0.999994 0.997527")


if __name__ == "__main__":
    main()
