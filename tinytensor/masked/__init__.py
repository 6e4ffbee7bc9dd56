"""Functions that leave out elements, with the names of torch.masked.

    masked.mean(x, dim=1, mask=keep)     the mean of the elements of each row where keep is True

reductions.py   sum, mean, amax, var …
along.py        softmax, cumsum …: results of the shape of the input
masking.py      masks, and the value that stands for what is left out

A mask is a boolean tensor, broadcast to the shape of the input: True where an element counts.
"""

from .along import cumprod, cumsum, log_softmax, normalize, softmax, softmin
from .reductions import (
    amax,
    amin,
    argmax,
    argmin,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    prod,
    std,
    sum,
    var,
)

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
    "var",
]  # fmt: skip
