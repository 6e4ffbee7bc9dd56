"""Dropout: given random numbers decide which nodes go while training; none go afterwards."""

from __future__ import annotations

import nn
import tinytensor as tt

from .notation import layer, matrix, table, table_grad, vector
from .sheet import Sheet, main, worksheet


def dropout_matrix(numbers: tt.Tensor, p: float, scale: float) -> tt.Tensor:
    """A diagonal that keeps and scales a node if its number is above p, and drops it if not."""
    return tt.diag((numbers > p).double() * scale)


@worksheet("002-12-Dropout", "Dropout with p = 0.5 and p = 0.33, squared errors")
def dropout(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("3 5; 4 1"))
    target = sheet.given("targets", matrix("-4 7; 10 5"))
    numbers = sheet.given("random numbers", vector("0.61 0.39 0.75 0.40 0.65 0.42 0.23"))
    drop1 = dropout_matrix(numbers[:4], p=0.5, scale=2)
    drop2 = dropout_matrix(numbers[4:], p=0.33, scale=1.5)
    sheet.check("dropout 1", drop1, "2 0 0 0; 0 0 0 0; 0 0 2 0; 0 0 0 0")
    sheet.check("dropout 2", drop2, "1.5 0 0; 0 1.5 0; 0 0 0")
    first, second = layer("1 0 0; 1 1 0; 0 1 1; 1 -1 0"), layer("1 0 0 1 0; 0 1 1 0 0; 1 0 -1 -1 1")
    third = layer("1 -1 0 0; 0 1 -1 -2")
    for number, part in enumerate((first, second, third), start=1):
        sheet.given(f"[W{number} | b{number}]", table(part))

    z1 = sheet.check("z1", first(X), "3 5; 7 6; 5 2; -1 4")
    a1 = sheet.check("a1", z1.relu(), "3 5; 7 6; 5 2; 0 4")
    d1 = sheet.check("dropout 1·a1", drop1 @ a1, "6 10; 0 0; 10 4; 0 0")
    z2 = sheet.check("z2", second(d1), "6 10; 10 4; -3 7")
    a2 = sheet.check("a2", z2.relu(), "6 10; 10 4; 0 7")
    d2 = sheet.check("dropout 2·a2", drop2 @ a2, "9 15; 15 6; 0 0")
    Y = sheet.check("Y", third(d2), "-6 9; 13 4")
    Y.retain_grad()
    sheet.check("Y − target", Y - target, "-2 2; 3 -1")
    nn.MSELoss(reduction="sum")(Y, target).backward()
    sheet.check("dL/dY", Y.grad, "-4 4; 6 -2")
    sheet.check("dL/d[W3 | b3]", table_grad(third), "24 -36 0 0; 24 78 0 4")
    sheet.check("dL/d[W2 | b2]", table_grad(second), "24 0 -36 0 0; 0 0 114 0 6; 0 0 0 0 0")
    sheet.check("dL/d[W1 | b1]", table_grad(first), "24 -36 0; 0 0 0; 0 102 12; 0 0 0")
    inference(sheet)
    sheet.misread("a2, row 3", a2[2], "4 6", "7 and a crossed-out −3; it is dropped anyway")
    sheet.slip("1 / (1 − 0.33)", 1 / (1 - 0.33), "1.5", "rounded; nn.Dropout has 1.4925")


def inference(sheet: Sheet) -> None:
    """After training, with new weights: dropout passes everything on, and scales nothing."""
    X = sheet.given("X, unseen", matrix("3 3; 2 1"))
    model = nn.Sequential(
        layer("1 0 0; 1 1 1; -1 1 1; 1 -1 0"), nn.ReLU(), nn.Dropout(0.5),
        layer("1 0 1 1 0; 1 1 1 0 0; 1 0 -1 0 1"), nn.ReLU(), nn.Dropout(0.33),
        layer("1 1 0 0; 0 1 -1 -1"),
    ).eval()  # fmt: skip
    for number in (0, 3, 6):
        sheet.given("trained weights", table(model[number]))
    hidden = sheet.check("layer 1, ReLU", model[:3](X), "3 3; 6 5; 0 0; 1 2")
    hidden = sheet.check("layer 2, ReLU", model[3:6](hidden), "4 5; 9 8; 4 4")
    sheet.check("Y, unseen", model[6](hidden), "13 13; 4 3")


if __name__ == "__main__":
    main()
