"""The ops that autocast casts, by PyTorch's lists for a CPU.

`lower`: products, in the 16-bit dtype. `full`: losses and others that lose accuracy, in float32.
All other ops compute in the dtype of their tensors.
"""

from __future__ import annotations

from .attention import Attention
from .autocast import RULES, as_first, full, lower, widest
from .convolution import Convolution, ConvTranspose
from .cross_entropy import CrossEntropy, NllLoss
from .ctc_loss import CTC
from .einsum import Einsum
from .linear import Addmm, Baddbmm, Linear
from .loss import BinaryCrossEntropy, BinaryCrossEntropyWithLogits, HuberError, SquaredError
from .matmul import Matmul
from .rectifier import Prelu
from .recurrent_cell import GruStep, LstmStep
from .recurrent_sequence import GruSequence, LstmSequence, RnnSequence
from .reduce import Prod

PRODUCTS = (
    Addmm, Attention, Baddbmm, Convolution, ConvTranspose, Einsum, Linear, LstmSequence, Matmul,
    Prelu, RnnSequence,
)  # fmt: skip
LOSSES = (
    BinaryCrossEntropy, BinaryCrossEntropyWithLogits, CTC, CrossEntropy, HuberError, NllLoss,
    SquaredError,
)  # fmt: skip

RULES.update(dict.fromkeys(PRODUCTS, lower))
RULES.update(dict.fromkeys((*LOSSES, Prod), full))
RULES.update({GruSequence: as_first, GruStep: widest, LstmStep: widest})

__all__: list[str] = []
