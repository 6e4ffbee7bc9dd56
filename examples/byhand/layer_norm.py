"""Layer norm of one token."""

from __future__ import annotations

import nn
import tinytensor as tt

from .notation import vector
from .sheet import Sheet, main, worksheet


@worksheet("004-layer-norm", "Layer norm of four numbers")
def layer_norm(sheet: Sheet) -> None:
    x = sheet.given("x", vector("2 4 6 8"))
    eps = sheet.given("ε", 1e-5)
    norm = nn.LayerNorm(4, eps=eps, dtype=tt.float64)
    sheet.check("γ", norm.weight, "1 1 1 1")
    sheet.check("β", norm.bias, "0 0 0 0")
    sheet.check("mean", x.mean(), "5")
    variance = sheet.check("variance, divided by n", x.var(correction=0), "5")
    deviation = sheet.check("√(variance + ε)", (variance + eps).sqrt(), "2.236070")
    sheet.printed("in four digits", deviation, "2.236", within=0.0005)
    y = sheet.check("y", norm(x), "-1.34164 -0.447213 0.447213 1.34164")
    sheet.printed("in two digits", y, "-1.34 -0.45 0.45 1.34", within=0.005)
    sheet.gradcheck("y", norm, x)


if __name__ == "__main__":
    main()
