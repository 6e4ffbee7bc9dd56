"""Self-attention, with tokens in rows (softmax(Q·Kᵀ/√d)·V) and in columns (V·softmax(Kᵀ·Q/√d))."""

from __future__ import annotations

import math

import nn
import nn.functional as F
import tinytensor as tt

from .notation import layer, matrix, one_head, table
from .sheet import Sheet, main, worksheet


@worksheet("004-self-attention", "Self-attention of three words, all projections the identity")
def three_words(sheet: Sheet) -> None:
    X = sheet.given("The, CAT, SAT", matrix("1 0 1 0; 0 1 0 1; 1 1 1 1"))
    identity = sheet.given("WQ = WK = WV", tt.eye(4, dtype=tt.float64))
    scores = sheet.check("Q·Kᵀ", X @ X.mT, "2 0 2; 0 2 2; 2 2 4")
    scaled = sheet.check("Q·Kᵀ / √4", scores / math.sqrt(4), "1 0 1; 0 1 1; 1 1 2")
    out, weights = one_head(identity)(X, X, X)
    sheet.check(
        "weights",
        weights,
        "0.422319 0.155362 0.422319; 0.155362 0.422319 0.422319; 0.211942 0.211942 0.576117",
    )
    rounded = "0.4223 0.1554 0.4223; 0.1554 0.4223 0.4223; 0.2119 0.2119 0.5762"
    sheet.printed("weights in four digits", weights, rounded, within=0.0001)
    sheet.check(
        "out",
        out,
        "0.844638 0.577681 0.844638 0.577681; 0.577681 0.844638 0.577681 0.844638; "
        "0.788058 0.788058 0.788058 0.788058",
    )
    sheet.gradcheck("out", F.scaled_dot_product_attention, X, X, X)

    sheet.slip("weights, The on CAT", weights[0, 1], "0.1574", "a digit; later it is 0.1554")
    sheet.slip("weights, SAT on SAT", weights[2, 2], "0.5762", "rounds to 0.5761")
    sheet.slip("scaled, CAT", scaled[1], "0 1 2", "the last is 2/2")
    sheet.slip("scaled, SAT", scaled[2], "2 2 1", "2/2, 2/2, 4/2")
    figure = "1.2669 0.9999 1.2669 0.9999"
    sheet.slip("out, The", out[0], figure, "0.4223 added three times, and twice")


@worksheet("002-11-SelfAttention", "Self-attention of four tokens in columns, d = 3")
def four_tokens(sheet: Sheet) -> None:
    X = matrix("2 0 0 2; 0 1 0 0; 0 2 1 0; 0 0 1 1; 2 0 0 0; 1 0 1 1")
    X = sheet.given("X", X)
    wq = layer("1 1 0 0 0 0; 0 1 0 1 0 0; 0 0 1 0 1 1", bias=False)
    wk = layer("0 0 1 0 0 0; 0 1 0 0 0 0; 1 0 0 0 0 -1", bias=False)
    wv = layer("10 0 0 0 0 0; 0 0 0 10 0 0; 0 10 0 0 0 0", bias=False)
    for name, part in {"WQ": wq, "WK": wk, "WV": wv}.items():
        sheet.given(name, table(part))
    Q = sheet.check("Q", wq(X), "2 1 0 2; 0 1 1 1; 3 2 2 1")
    K = sheet.check("K", wk(X), "0 2 1 0; 0 1 0 0; 1 0 -1 1")
    V = sheet.check("V", wv(X), "20 0 0 20; 0 0 10 10; 0 10 0 0")
    scores = sheet.check("Kᵀ·Q", K.mT @ Q, "3 2 2 1; 4 3 1 5; -1 -1 -2 1; 3 2 2 1")
    scaled = sheet.check(
        "Kᵀ·Q / √3",
        scores / math.sqrt(3),
        "1.73205 1.15470 1.15470 0.577350; 2.30940 1.73205 0.577350 2.88675; "
        "-0.577350 -0.577350 -1.15470 0.577350; 1.73205 1.15470 1.15470 0.577350",
    )
    A = sheet.check(
        "A, softmax down the columns",
        scaled.softmax(dim=0),
        "0.257690 0.252638 0.375840 0.0765205; 0.459026 0.450027 0.210991 0.770438; "
        "0.0255939 0.0446970 0.0373287 0.0765205; 0.257690 0.252638 0.375840 0.0765205",
    )
    Z = sheet.check(
        "Z = V·A",
        nn.attention_pooling(V, A),
        "10.3076 10.1055 15.0336 3.06082; 2.83284 2.97335 4.13169 1.53041; "
        "4.59026 4.50027 2.10991 7.70438",
    )
    rows = F.scaled_dot_product_attention(Q.mT, K.mT, V.mT).mT
    sheet.holds("the row form gives the same", tt.allclose(rows, Z, rtol=1e-12, atol=1e-12))
    sheet.gradcheck("Z", F.scaled_dot_product_attention, Q.mT, K.mT, V.mT)

    # By hand: whole numbers for x/√3, and 3 for e.
    whole = sheet.check("by hand: x/√3", scaled.trunc(), "1 1 1 0; 2 1 0 2; 0 0 -1 0; 1 1 1 0")
    powers = (3.0**whole).floor()
    sheet.check("by hand: 3 to that power", powers, "3 3 3 1; 9 3 1 9; 1 1 0 1; 3 3 3 1")
    sums = sheet.check("by hand: sums of columns", powers.sum(dim=0), "16 10 7 12")
    figure = "3/16 0.3 3/7 1/12; 9/16 0.3 1/7 0.75; 1/16 0.1 0 1/12; 3/16 0.3 3/7 1/12"
    weights = sheet.check("by hand: A", powers / sums, figure)
    tenths = ((10 * weights).round() / 10).detach()
    figure = "0.2 0.3 0.4 0.1; 0.6 0.3 0.1 0.8; 0.1 0.1 0 0.1; 0.2 0.3 0.4 0.1"
    sheet.check("by hand: A in one digit", tenths, figure)
    hand = nn.attention_pooling(V, tenths)
    sheet.check("by hand: Z", hand, "8 12 16 4; 3 4 4 2; 6 3 1 8")


if __name__ == "__main__":
    main()
