"""nn.attention.flex_attention: attention whose scores a function changes, and whose mask is one.

attention.py    flex_attention
block_mask.py   BlockMask, create_block_mask, create_mask, and_masks, or_masks
"""

from .attention import AuxOutput, AuxRequest, FlexKernelOptions, flex_attention
from .block_mask import (
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
)

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask",
    "create_mask", "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip
