"""Masks: what attention may not see, because it comes later or because it is padding.

On these sheets 1 means "may be seen"; boolean masks of nn have True for "may not".
"""

from __future__ import annotations

import nn
import tinytensor as tt

from .notation import matrix, one_head, vector
from .sheet import Sheet, main, worksheet


@worksheet("003-lookahead-mask", "Look-ahead mask, added to scores")
def look_ahead(sheet: Sheet) -> None:
    figure = "0.7 0.1 0.1 0.1; 0.1 0.6 0.2 0.1; 0.1 0.3 0.6 0.1; 0.1 0.3 0.3 0.3"
    scores = sheet.given("scaled scores", matrix(figure))
    mask = tt.zeros_like(scores).masked_fill(nn.look_ahead_mask(4), float("-inf"))
    sheet.check("mask", mask, "0 -inf -inf -inf; 0 0 -inf -inf; 0 0 0 -inf; 0 0 0 0")
    figure = "0.7 -inf -inf -inf; 0.1 0.6 -inf -inf; 0.1 0.3 0.6 -inf; 0.1 0.3 0.3 0.3"
    masked = sheet.check("scores + mask", scores + mask, figure)
    sheet.check(
        "softmax",
        masked.softmax(dim=-1),
        "1 0 0 0; 0.377541 0.622459 0 0; 0.258390 0.315598 0.426013 0; "
        "0.214399 0.261867 0.261867 0.261867",
    )


@worksheet("004-mask-3x3", "Padding of three tokens, times look-ahead")
def three_by_three(sheet: Sheet) -> None:
    present = sheet.given("padding", vector("1 1 0"))
    padding = sheet.check("in two dimensions", present.outer(present), "1 1 0; 1 1 0; 0 0 0")
    ahead = (~nn.look_ahead_mask(3)).double()
    sheet.check("times look-ahead", padding * ahead, "1 0 0; 1 1 0; 0 0 0")
    keys_only = ~nn.combined_mask((present == 0)[None], nn.look_ahead_mask(3))[0]
    sheet.check("with only keys masked, as in nn", keys_only, "1 0 0; 1 1 0; 1 1 0")


@worksheet("004-masked-attention", "Masked self-attention; the last of four tokens is padding")
def masked_attention(sheet: Sheet) -> None:
    tokens = matrix("0.1 0.2 0.3 0.4; 0.5 0.6 0.7 0.8; 0.9 1.0 1.1 1.2; 0 0 0 0")
    X = sheet.given("Q = K = V", tokens)
    identity = sheet.given("WQ = WK = WV", tt.eye(4, dtype=tt.float64))
    figure = "0.3 0.7 1.1 0; 0.7 1.74 2.78 0; 1.1 2.78 4.46 0; 0 0 0 0"
    scores = sheet.check("Q·Kᵀ", X @ X.mT, figure)
    figure = "0.15 0.35 0.55 0; 0.35 0.87 1.39 0; 0.55 1.39 2.23 0; 0 0 0 0"
    scaled = sheet.check("Q·Kᵀ / √4", scores / 2, figure)

    ahead = nn.look_ahead_mask(4)
    sheet.check("look-ahead", ~ahead, "1 0 0 0; 1 1 0 0; 1 1 1 0; 1 1 1 1")
    padded = nn.padding_mask(tt.tensor([3]), max_length=4)  # three of the four are tokens
    keys = (~padded).double().expand(4, 4)
    sheet.check("padding, of keys", keys, "1 1 1 0; 1 1 1 0; 1 1 1 0; 1 1 1 0")
    both = nn.combined_mask(padded, ahead)[0]
    sheet.check("both", ~both, "1 0 0 0; 1 1 0 0; 1 1 1 0; 1 1 1 0")
    whole_rows = sheet.given("padding, as printed", matrix("1 1 1 0; 1 1 1 0; 1 1 1 0; 0 0 0 0"))
    product = whole_rows * (~ahead).double()
    sheet.check("times look-ahead", product, "1 0 0 0; 1 1 0 0; 1 1 1 0; 0 0 0 0")

    masked = scaled.masked_fill(both, float("-inf"))
    figure = "0.15 -inf -inf -inf; 0.35 0.87 -inf -inf; 0.55 1.39 2.23 -inf; 0 0 0 -inf"
    sheet.check("masked scores", masked, figure)

    attention = one_head(identity)
    out, weights = attention(X, X, X, key_padding_mask=padded[0], attn_mask=ahead)
    figure = "1 0 0 0; 0.372852 0.627148 0 0; 0.115182 0.266803 0.618015 0; 1/3 1/3 1/3 0"
    sheet.check("weights", weights, figure)
    sheet.check(
        "out",
        out,
        "0.1 0.2 0.3 0.4; 0.350859 0.450859 0.550859 0.650859; "
        "0.701133 0.801133 0.901133 1.00113; 0.5 0.6 0.7 0.8",
    )
    nothing, _ = attention(X, X, X, attn_mask=product == 0)
    sheet.check("out of a row that sees nothing", nothing[3], "0 0 0 0")

    sheet.slip("Q·Kᵀ, row 2", scores[1], "0.7 1.9 3.1 0", "arithmetic")
    sheet.slip("Q·Kᵀ, row 3", scores[2], "1.1 3.1 5.1 0", "arithmetic")
    sheet.slip("scaled, row 1", scaled[0], "0.3 0.7 1.1 0", "not divided by √4")
    sheet.printed("weights, row 3", weights[2], "0.1 0.3 0.6 0", within=0.05)
    sheet.slip("weights, row 2", weights[1], "0.3 0.7 0 0", "loose rounding")
    sheet.slip("weights, row 4", weights[3], "1 0 0 0", "three scores of 0 share equally")
    sheet.slip("both masks, row 4", product[3], "1 1 1 0", "not the product with the padding above")
    sheet.slip("added to an allowed score", masked[0, 0] - scaled[0, 0], "1", "it is 0, not 1")
    sheet.note("the masks are multiplied, not added")


if __name__ == "__main__":
    main()
