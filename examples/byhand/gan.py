"""A GAN: the generator makes data of noise, the discriminator tells them from real data.

For sigmoid and binary cross-entropy, dL/dZ = Y − target.
"""

from __future__ import annotations

import nn
import tinytensor as tt

from .notation import layer, matrix, table
from .sheet import Sheet, main, worksheet


@worksheet("002-10-GAN", "GAN: four fakes, four real samples")
def gan(sheet: Sheet) -> None:
    noise = sheet.given("noise", matrix("1 1 0 1; 1 0 1 -1"))
    real = sheet.given("real data", matrix("2 3 3 4; 1 1 1 1; 2 3 4 3; 1 1 1 1"))
    g1, g2 = layer("1 1 0; 0 1 2; -1 1 0"), layer("-1 1 0 0; 1 0 1 0; 0 1 1 0; 0 0 1 1")
    d1, d2 = layer("1 0 0 -1 0; 0 1 1 0 0; 0 0 1 -1 1"), layer("1 1 -1 -1")
    for name, part in {"G1": g1, "G2": g2, "D1": d1, "D2": d2}.items():
        sheet.given(f"[{name} | b]", table(part))

    z = sheet.check("G1·[noise; 1]", g1(noise), "2 1 1 0; 3 2 3 1; 0 -1 1 -2")
    hidden = sheet.check("ReLU", z.relu(), "2 1 1 0; 3 2 3 1; 0 0 1 0")
    fake = g2(hidden).relu()
    sheet.check("fakes = ReLU(G2)", fake, "1 1 2 1; 2 1 2 0; 3 2 4 1; 1 1 2 1")
    features = sheet.check("D1 of fakes, ReLU", d1(fake).relu(), "0 0 0 0; 5 3 6 1; 3 2 3 1")
    z_fake = sheet.check("Z of fakes", d2(features), "1 0 2 -1")
    y_fake = sheet.check("Y of fakes", z_fake.sigmoid(), "0.731059 0.5 0.880797 0.268941")
    features = sheet.check("D1 of real data, ReLU", d1(real).relu(), "1 2 2 3; 3 4 5 4; 2 3 4 3")
    z_real = sheet.check("Z of real data", d2(features), "1 2 2 3")
    y_real = z_real.sigmoid()
    sheet.check("Y of real data", y_real, "0.731059 0.880797 0.880797 0.952574")
    sheet.printed("Y of fakes", y_fake, "0.7 0.5 0.9 0.3", within=0.05)
    sheet.printed("Y of real data", y_real, "0.7 0.9 0.9 1", within=0.05)

    loss = nn.BCEWithLogitsLoss(reduction="sum")
    ones, zeros = tt.ones_like(z_fake), tt.zeros_like(z_fake)
    discriminator = loss(z_fake, zeros) + loss(z_real, ones)
    d_fake, d_real = tt.autograd.grad(discriminator, [z_fake, z_real], retain_graph=True)
    sheet.check("discriminator: dL/dZ, fakes", d_fake, "0.731059 0.5 0.880797 0.268941")
    figure = "-0.268941 -0.119203 -0.119203 -0.0474259"
    sheet.check("discriminator: dL/dZ, real", d_real, figure)
    (generator,) = tt.autograd.grad(loss(z_fake, ones), z_fake)
    sheet.check("generator: dL/dZ", generator, "-0.268941 -0.5 -0.119203 -0.731059")
    sheet.printed("discriminator: dL/dZ, fakes", d_fake, "0.7 0.5 0.9 0.3", within=0.05)
    sheet.printed("discriminator: dL/dZ, real", d_real, "-0.3 -0.1 -0.1 0", within=0.05)
    sheet.printed("generator: dL/dZ", generator, "-0.3 -0.5 -0.1 -0.7", within=0.05)

    sheet.misread("ReLU(G1), row 3", hidden[2], "0 1 1 0", "a crossed-out −1 was lost")
    sheet.misread("Y of real data, the last", y_real[0, 3], "0.1", "“1.” without its point seen")
    sheet.note("Z has no ReLU: the −1 stays")


if __name__ == "__main__":
    main()
