"""Batch norm: statistics of each feature (row) over the batch (columns)."""

from __future__ import annotations

import nn
import tinytensor as tt

from .notation import Columns, layer, matrix, table, vector
from .sheet import Sheet, main, worksheet


@worksheet("002-9-BatchNorm", "Batch normalisation of four samples")
def batch_norm(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("1 0 3 0; 0 3 1 1; 2 1 0 2"))
    first = layer("1 0 1 0; 1 1 0 -1; 0 2 -1 0")
    norm = nn.BatchNorm1d(3, eps=1e-12, dtype=tt.float64)
    norm.load_state_dict({"weight": vector("2 3 -1"), "bias": vector("0 0 1")}, strict=False)
    sheet.given("[W | b]", table(first))
    sheet.given("ε", norm.eps)
    sheet.given("γ", norm.weight)
    sheet.given("β", norm.bias)
    scale_shift = layer("2 0 0 0; 0 3 0 0; 0 0 -1 1")  # γ on a diagonal, β as the last column
    sheet.given("[γ | β]", table(scale_shift))

    z = sheet.check("z", first(X), "3 1 3 2; 0 2 3 0; -2 5 2 0")
    a = sheet.check("a = ReLU(z)", z.relu(), "3 1 3 2; 0 2 3 0; 0 5 2 0")
    sheet.check("sum", a.sum(dim=1), "9 5 7")
    mean = sheet.check("mean", a.mean(dim=1), "2.25 1.25 1.75")
    variance = a.var(dim=1, correction=0)
    sheet.check("variance, divided by n", variance, "0.6875 1.6875 4.1875")
    deviation = sheet.check("standard deviation", variance.sqrt(), "0.829156 1.29904 2.04634")
    normalized = (a - mean.unsqueeze(1)) / deviation.unsqueeze(1)
    sheet.check(
        "normalised",
        normalized,
        "0.904534 -1.50756 0.904534 -0.301511; -0.962250 0.577350 1.34715 -0.962250; "
        "-0.855186 1.58820 0.122169 -0.855186",
    )
    out = sheet.check(
        "nn.BatchNorm1d",
        Columns(norm)(a),
        "1.80907 -3.01511 1.80907 -0.603023; -2.88675 1.73205 4.04145 -2.88675; "
        "1.85519 -0.588203 0.877831 1.85519",
    )
    sheet.gradcheck("out", norm, a.mT)

    # The same with the sheet's whole numbers.
    centered = a - mean.round().unsqueeze(1)
    sheet.check("by hand: a − mean", centered, "1 -1 1 0; -1 1 2 -1; -2 3 0 -2")
    hand = (centered / deviation.round().unsqueeze(1)).trunc()
    sheet.check("by hand: normalised", hand, "1 -1 1 0; -1 1 2 -1; -1 1 0 -1")
    hand_out = scale_shift(hand)
    sheet.check("by hand: out", hand_out, "2 -2 2 0; -3 3 6 -3; 2 0 1 2")
    sheet.slip("mean", mean, "2 1 2", "rounded to whole numbers")
    sheet.slip("variance", variance, "1 1 4", "squares of the rounded deviations")
    sheet.slip("standard deviation", deviation, "1 1 2", "rounded to whole numbers")
    sheet.slip("normalised, row 3 column 2", normalized[2, 1], "1", "3/2 cut off; exactly 1.588")
    sheet.slip("out, row 3 column 2", out[2, 1], "0", "follows from that 1")


if __name__ == "__main__":
    main()
