"""A transformer block: attention pooling, then the same small network at every position."""

from __future__ import annotations

import nn

from .notation import layer, matrix, table
from .sheet import Sheet, main, worksheet


@worksheet("002-8-Transformer", "Transformer block: five positions of three features")
def transformer_block(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("5 6 0 7 0; 0 2 4 0 3; 1 0 1 1 0"))
    A = sheet.given("A", matrix("1 0 0 0 1; 1 1 0 0 0; 0 1 1 0 0; 0 0 1 1 0; 0 0 0 1 1"))
    first = layer("1 -1 0 1; 1 1 0 0; 0 1 1 1; -1 1 1 0")
    second = layer("1 0 0 -1 0; 0 1 1 0 0; 0 0 1 -1 1")
    sheet.given("[FFN1 | b]", table(first))
    sheet.given("[FFN2 | b]", table(second))
    Z = sheet.check("Z = X·A", nn.attention_pooling(X, A), "11 6 7 7 5; 2 6 4 3 3; 1 1 2 1 1")
    figure = "10 1 4 5 3; 13 12 11 10 8; 4 8 7 5 5; -8 1 -1 -3 -1"
    z = sheet.check("FFN1·[Z; 1]", first(Z), figure)
    a = sheet.check("ReLU", z.relu(), "10 1 4 5 3; 13 12 11 10 8; 4 8 7 5 5; 0 1 0 0 0")
    out = sheet.check("FFN2·[a; 1]", second(a), "10 0 4 5 3; 17 20 18 15 13; 5 8 8 6 6")
    sheet.check("ReLU changes nothing", out.relu(), "10 0 4 5 3; 17 20 18 15 13; 5 8 8 6 6")


@worksheet("X-Transformer-small", "Transformer block: five positions of four features")
def small_block(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("0 1 0 1 1; 1 0 1 2 -1; 1 1 1 3 2; -1 1 0 0 1"))
    A = sheet.given("A", matrix("1 1 0 1 0; 1 0 1 1 0; 0 0 1 1 0; 0 1 0 0 1; 0 1 1 0 1"))
    first = layer("1 1 1 1 3; 0 0 2 1 4; 1 -1 1 1 -1")
    second = layer("1 2 1 -1; -1 0 0 7; 1 1 1 2; 0 0 -1 -1")
    sheet.given("[FFN1 | b]", table(first))
    sheet.given("[FFN2 | b]", table(second))
    figure = "1 2 2 1 2; 1 2 0 2 1; 2 6 4 3 5; 0 0 2 0 1"
    Z = sheet.check("Z = X·A", nn.attention_pooling(X, A), figure)
    a = sheet.check("FFN1, ReLU", first(Z).relu(), "7 13 11 9 12; 8 16 14 10 15; 1 5 7 1 6")
    figure = "23 49 45 29 47; 0 0 0 0 0; 18 36 34 22 35; 0 0 0 0 0"
    sheet.check("FFN2, ReLU", second(a).relu(), figure)


if __name__ == "__main__":
    main()
