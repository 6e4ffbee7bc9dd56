"""CLIP: texts and images in one space; each has to find its partner, in both directions."""

from __future__ import annotations

import nn.functional as F
import tinytensor as tt

from .notation import layer, matrix, table
from .sheet import Sheet, main, worksheet


@worksheet("002-15-CLIP", "CLIP: three texts of two words, three images")
def clip(sheet: Sheet) -> None:
    words = sheet.given("words", matrix("1 0 0 1 0 1; 0 1 1 1 0 0; 1 1 0 0 1 0"))
    images = sheet.given("images, as rows", matrix("2 0; 1 0; 2 1"))
    encoder = layer("1 0 1 0; 0 3 0 -2; 1 1 0 1")
    projection = layer("1 1 0 -2; 0 1 1 -2")
    sheet.given("[text encoder | b]", table(encoder))
    sheet.given("[projection | b]", table(projection))

    z = sheet.check("encoder", encoder(words), "2 1 0 1 1 1; -2 1 1 1 -2 -2; 2 2 2 3 1 2")
    h = sheet.check("ReLU", z.relu(), "2 1 0 1 1 1; 0 1 1 1 0 0; 2 2 2 3 1 2")
    mean = h.reshape(3, 3, 2).mean(dim=2)  # (3, 6) → (3, texts, words)
    sheet.check("mean of two words", mean, "1.5 0.5 1; 0.5 1 0; 2 2.5 1.5")
    pooled = sheet.check("rounded, halves up", (mean + 0.5).floor(), "2 1 1; 1 1 0; 2 3 2")
    T = sheet.check("T", projection(pooled), "1 0 -1; 1 2 0")
    logits = sheet.check("Iᵀ·T", images @ T, "2 0 -2; 1 0 -1; 3 2 -2").detach().requires_grad_()
    losses(sheet, logits)
    by_hand(sheet, logits.detach())
    sheet.misread("encoder, row 2", z[1, :5], "2 1 1 1 -2", "a minus and the last column were lost")
    sheet.misread("rounded means", pooled, "2 1 1; 1 1 3; 2 2 2", "two digits")


def losses(sheet: Sheet, logits: tt.Tensor) -> None:
    """Softmax over texts and over images, and dL/dlogits of both losses, by the engine."""
    pairs = tt.arange(3)
    to_text = F.cross_entropy(logits, pairs, reduction="none")
    to_image = F.cross_entropy(logits.mT, pairs, reduction="none")
    sheet.check(
        "image → text: softmax",
        logits.softmax(dim=1),
        "0.866813 0.117310 0.0158762; 0.665241 0.244728 0.0900306; 0.727475 0.267623 0.00490169",
    )
    sheet.check(
        "text → image: softmax",
        logits.softmax(dim=0),
        "0.244728 0.106507 0.211942; 0.0900306 0.106507 0.576117; 0.665241 0.786986 0.211942",
    )
    (g,) = tt.autograd.grad(to_text.sum(), logits, retain_graph=True)
    sheet.check(
        "image → text: dL/dlogits",
        g,
        "-0.133187 0.117310 0.0158762; 0.665241 -0.755272 0.0900306; 0.727475 0.267623 -0.995098",
    )
    sheet.misread("  row 1 column 1", g[0, 0], "-1", "the sheet's −.1 without its point")
    sheet.misread("  row 2 column 2", g[1, 1], "0.25", "the target 1 is not taken off")
    sheet.misread("  row 3 column 3", g[2, 2], "1", "a minus was lost")
    (g,) = tt.autograd.grad(to_image.sum(), logits, retain_graph=True)
    sheet.check(
        "text → image: dL/dlogits",
        g,
        "-0.755272 0.106507 0.211942; 0.0900306 -0.893493 0.576117; 0.665241 0.786986 -0.788058",
    )
    sheet.misread("  row 1 column 1", g[0, 0], "-8", "the sheet's −.8 without its point")
    sheet.check("loss, mean of both", (to_text.mean() + to_image.mean()) / 2, "2.01122")


def by_hand(sheet: Sheet, logits: tt.Tensor) -> None:
    """3 for e, and 0 for 1/3 and 1/9."""
    powers = sheet.check("by hand: 3 to the logits", (3.0**logits).floor(), "9 1 0; 3 1 0; 27 9 0")
    rows = powers / powers.sum(dim=1, keepdim=True)
    sheet.check("by hand: image → text", rows, "0.9 0.1 0; 0.75 0.25 0; 0.75 0.25 0")
    sheet.slip("  row 3", rows[2], "0.7 0.3 0", "loose rounding")
    columns = powers[:, :2] / powers[:, :2].sum(dim=0)
    sheet.check("by hand: text → image", columns, "3/13 1/11; 1/13 1/11; 9/13 9/11")
    sheet.printed("  in one digit", columns, "0.2 0.1; 0.1 0.1; 0.7 0.8", within=0.05)
    gradient = rows - tt.eye(3, dtype=tt.float64)
    figure = "-0.1 0.1 0; 0.75 -0.75 0; 0.75 0.25 -1"
    sheet.check("by hand: softmax − target", gradient, figure)
    sheet.note("the third text's column is 0/0 by hand: none of its powers is 1 or more")


if __name__ == "__main__":
    main()
