"""Learning rate schedules, under the names of torch.optim.lr_scheduler.

base.py      LRScheduler, the base class, also for your own schedules
factors.py   the learning rate times a factor
curves.py    cosines, also with a warm-up; the Transformer's curve
cycles.py    OneCycleLR, CyclicLR
plateau.py   ReduceLROnPlateau
combined.py  several on one optimiser
"""

from .base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from .base import LRScheduler
from .combined import ChainedScheduler, SequentialLR
from .curves import CosineAnnealingLR, CosineAnnealingWarmRestarts, TransformerLR, WarmupCosineLR
from .cycles import CyclicLR, OneCycleLR
from .factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from .plateau import ReduceLROnPlateau


class _LRScheduler(LRScheduler):
    """LRScheduler under its name in older PyTorch, for subclasses."""


# fmt: off
__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
    "StepLR", "TransformerLR", "WarmupCosineLR",
]
# fmt: on
