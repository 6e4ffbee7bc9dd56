"""torch.nn.parallel._functions: copies between several GPUs, which raise when they are called.

Programs import these names for a batch norm over GPUs, and call them only with several GPUs.
"""

from __future__ import annotations

from typing import Any, NoReturn


class Broadcast:
    """Copies of tensors on every GPU."""

    @classmethod
    def apply(cls, *args: Any) -> NoReturn:
        raise RuntimeError(
            f"nn.parallel._functions.{cls.__name__}: got a call, expected none: a model runs on "
            "one device"
        )


class ReduceAddCoalesced(Broadcast):
    """Sums of tensors over GPUs."""


class Gather(Broadcast):
    """Tensors of every GPU, joined."""


class Scatter(Broadcast):
    """Parts of a tensor, one for each GPU."""
