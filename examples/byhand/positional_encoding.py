"""Sinusoidal positions: sin and cos of t / n^(2i/d), a row for each position t."""

from __future__ import annotations

import nn
import tinytensor as tt

from .notation import matrix
from .sheet import Sheet, main, worksheet


def positions(n: float, d: int) -> nn.SinusoidalPosition:
    return nn.SinusoidalPosition(d, max_len=8, base=n, dtype=tt.float64)


@worksheet("001-PE-n100-d4", "Positions of four words, n = 100, d = 4")
def four_words(sheet: Sheet) -> None:
    sheet.given("tokens", ["I", "am", "a", "Robot"])
    n, d = sheet.given("n", 100), sheet.given("d", 4)
    pe = positions(n, d)(tt.zeros(4, d, dtype=tt.float64))
    sheet.check(
        "PE",
        pe,
        "0 1 0 1; 0.841471 0.540302 0.0998334 0.995004; "
        "0.909297 -0.416147 0.198669 0.980067; 0.141120 -0.989992 0.295520 0.955336",
    )
    rounded = "0 1 0 1; 0.84 0.54 0.10 1.00; 0.91 -0.42 0.20 0.98; 0.14 -0.99 0.30 0.96"
    sheet.printed("PE in two digits", pe, rounded, within=0.0056)
    sheet.slip("the lowest PE", pe.min(), "0", "the range is −1 to 1, not 0 to 1")


@worksheet("004-PE-n10000-d4", "Positions added to embeddings, n = 10000, d = 4")
def added_to_embeddings(sheet: Sheet) -> None:
    n, d = sheet.given("n", 10000), sheet.given("d", 4)
    words = matrix("0.1 0.2 0.3 0.4; 0.5 0.6 0.7 0.8; 0.9 1.0 1.1 1.2")
    embeddings = sheet.given("embeddings", words)
    module = positions(n, d)
    pe = module(tt.zeros_like(embeddings))
    figure = "0 1 0 1; 0.841471 0.540302 0.00999983 0.999950"
    sheet.check("PE of positions 0 and 1", pe[:2], figure)
    sheet.check("PE", pe, f"{figure}; 0.909297 -0.416147 0.0199987 0.999800")
    figure = "0 1 0 1; 0.8415 0.5403 0.0100 0.99995"
    sheet.printed("PE in four digits", pe[:2], figure, within=5e-5)
    figure = "0.1 1.2 0.3 1.4; 1.34147 1.14030 0.710000 1.79995; 1.80930 0.583853 1.12000 2.19980"
    sheet.check("embedding + PE", module(embeddings), figure)
    sheet.note("sine and cosine of a pair have one exponent, 2i/d")


if __name__ == "__main__":
    main()
