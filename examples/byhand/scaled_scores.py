"""Why scores are divided by √d: softmax of large numbers is all or nothing."""

from __future__ import annotations

import math

import tinytensor as tt

from .notation import matrix, vector
from .sheet import Sheet, main, worksheet


@worksheet("003-scaled-score", "Two scores, divided by √64")
def scaled_score(sheet: Sheet) -> None:
    scores = sheet.given("q1·k1, q1·k2", vector("112 96"))
    d = sheet.given("d", 64)
    scaled = sheet.check("scores / √d", scores / math.sqrt(d), "14 12")
    weights = sheet.check("softmax", scaled.softmax(dim=-1), "0.880797 0.119203")
    sheet.printed("softmax in two digits", weights, "0.88 0.12", within=0.005)
    saturated = scores.softmax(dim=-1)
    sheet.check("softmax without / √d", saturated, "0.9999998875 1.12535e-07")
    sheet.note("the second score is q1·k2; one place has q2·k2 for it")


@worksheet("004-scaling-demo", "A query and two keys, with and without √4")
def scaling_demo(sheet: Sheet) -> None:
    q = sheet.given("Q", vector("2 3 4 1"))
    keys = sheet.given("K", matrix("1 0 1 0; 0 1 0 1"))
    d = sheet.given("d", 4)
    scores = sheet.check("Q·Kᵀ", keys @ q, "6 4")
    unscaled = sheet.check("softmax without / √d", scores.softmax(dim=-1), "0.880797 0.119203")
    sheet.printed("in two digits", unscaled, "0.88 0.12", within=0.005)
    # one head, one query: the attention weights of the engine
    scaled = tt.attention_weights(q[None, None, None], keys[None, None], None, False).flatten()
    sheet.check("softmax with / √d", scaled, "0.731059 0.268941")
    sheet.printed("in two digits", scaled, "0.73 0.27", within=0.005)
    sheet.holds("√d = 2", math.sqrt(d) == 2)


if __name__ == "__main__":
    main()
