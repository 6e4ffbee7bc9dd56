"""Mamba's selective scan: B and C are made from the input, A keeps or flips each state."""

from __future__ import annotations

import tinytensor as tt

from .notation import linear, matrix, table, vector
from .sheet import Sheet, main, worksheet

SELECTIVE = """
    1 -1  0  0;   0 -1  0  1;   1  0 -1  0;   1  0  0 -1;
    1  0 -1  0;   0  1  0 -1;   1 -1  0  0;   0  0 -1  1;
   -1  0  0  0;   1  0  0  0;   0  0 -1  0;   0  1  0  0;
    1 -1  0  0;   0  0 -1  1;   1  0  0  0;   0 -1  1  0
"""


@worksheet("002-3-Mamba", "Mamba's S6: h ← A·h + B·x, y = C·h")
def mamba(sheet: Sheet) -> None:
    x = sheet.given("x", vector("3 4 5 6"))
    sheet.given("h0", vector("0 0"))
    selective = linear(SELECTIVE, bias=False)
    sheet.given("W, selective", table(selective))
    A = sheet.given("A, a row for each step", matrix("1 -1; 1 -1; -1 1; -1 1"))

    made = selective(x)
    sheet.check("W·x", made, "-1 2 -2 -3 -2 -2 -1 1 -3 3 -5 4 -1 1 3 1")
    parts = made.reshape(4, 2, 2)  # (16) → (steps, B or C, states)
    B = sheet.check("B, a row for each step", parts[:, 0], "-1 2; -2 -2; -3 3; -1 1")
    C = sheet.check("C, a row for each step", parts[:, 1], "-2 -3; -1 1; -5 4; 3 1")
    H = tt.linear_scan(A, B * x.unsqueeze(1), dim=0)  # (steps, states)
    sheet.check("H, a column for each step", H.mT, "-3 -11 -4 -2; 6 -14 1 7")
    sheet.check("y = C·h", (C * H).sum(dim=1), "-12 -3 24 1")
    sheet.gradcheck("y", lambda a, b, c: (c * tt.linear_scan(a, b, dim=0)).sum(dim=1), A, B, C)
    sheet.note("y begins with one number, −12; it can be misread as −1 and 2")
    sheet.note("A is a sign, so there is no step size Δ: nn.Mamba has exp(Δ·A), which is above 0")


if __name__ == "__main__":
    main()
