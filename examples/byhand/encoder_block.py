"""An encoder block as two residual blocks: attention with given weights, then a feed-forward net.

No softmax, no layer norm, no values: X·A mixes the columns of X.
"""

from __future__ import annotations

import nn
import tinytensor as tt

from .notation import layer, matrix, table
from .sheet import Sheet, main, worksheet


@worksheet("000-encoder-block", "Encoder block: attention and feed-forward, each with a skip")
def encoder_block(sheet: Sheet) -> None:
    X = sheet.given("X", matrix("2 0 1; 1 3 -2"))
    A = sheet.given("A", matrix("1 0 1; 1 1 0; 0 1 1"))
    first, second = layer("1 1 1; 1 -1 2"), layer("0 -1 3; -1 0 0")
    sheet.given("[FF1 | b]", table(first))
    sheet.given("[FF2 | b]", table(second))

    mixed = sheet.check("X·A", nn.attention_pooling(X, A), "2 1 3; 4 1 -1")
    total = sheet.check("X + X·A", X + mixed, "4 1 4; 5 4 -3")
    attention = nn.AddBeforeActivation(lambda tokens: nn.attention_pooling(tokens, A))
    R = sheet.check("R = ReLU(X + X·A)", attention(X), "4 1 4; 5 4 0")
    identities = sheet.given("[I | I]", matrix("1 0 1 0; 0 1 0 1"))
    sheet.check("[I | I]·[X; X·A]", identities @ tt.cat([X, mixed]), "4 1 4; 5 4 -3")
    sheet.holds("[I | I]·[X; X·A] = X + X·A", tt.equal(identities @ tt.cat([X, mixed]), total))

    z = sheet.check("FF1·[R; 1]", first(R), "10 6 5; 1 -1 6")
    H = sheet.check("H = ReLU", z.relu(), "10 6 5; 1 0 6")
    z = sheet.check("FF2·[H; 1]", second(H), "2 3 -3; -10 -6 -5")
    total = sheet.check("R + FF2·[H; 1]", R + z, "6 4 1; -5 -2 -5")
    feed_forward = nn.AddBeforeActivation(nn.Sequential(first, nn.ReLU(), second))
    sheet.check("out = ReLU", feed_forward(R), "6 4 1; 0 0 0")
    weight = nn.stacked_weight(second.module.weight, second.module.bias)
    product = weight @ nn.stacked_features(R, H, columns=True)
    sheet.check("[I | FF2 | b]·[R; H; 1]", product, "6 4 1; -5 -2 -5")
    sheet.holds("[I | FF2 | b]·[R; H; 1] = R + FF2", tt.equal(product, total))

    sheet.misread("R, row 2 column 3", R[1, 2], "3", "a −3 that ReLU strikes out; elsewhere a 4")
    sheet.misread("H, row 2 column 2", H[1, 1], "4", "a −1 that ReLU strikes out")


if __name__ == "__main__":
    main()
