"""The residual network of the course: its two sheets are those of the residual lecture."""

from __future__ import annotations

from .encoder_block import encoder_block
from .residual_block import residual_block
from .sheet import Sheet, main, worksheet


@worksheet("002-16-ResNet", "Residual network: a residual block, and an encoder block of two")
def residual_network(sheet: Sheet) -> None:
    residual_block(sheet)
    encoder_block(sheet)


if __name__ == "__main__":
    main()
