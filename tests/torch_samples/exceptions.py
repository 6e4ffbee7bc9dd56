"""Where tinytensor differs from PyTorch on PyTorch's samples, and why.

docs/porting.md lists the reasons. A test fails if a sample of an op listed here agrees everywhere,
so that the list gets shorter when something is mended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

RANDOM = "Random draws are constants: `normal` and `bernoulli` of a tensor that requires grad"
EMPTY = "Some functions take inputs without elements that PyTorch refuses"
EMPTY_REFUSED = "Some functions refuse inputs without elements or dimensions that PyTorch takes"
BUG = "PyTorch returns a wrong shape, memory that nobody wrote to, or its backward fails"
NAN = "A gradient or a mean of no elements is 0, where PyTorch gives NaN"
MORE = "In-place `acosh_`, `asinh_` and `atanh_` have gradients"
STORAGE = "`as_strided` on a detached part of a tensor counts from the start of that part"
BOOLS = "Bools in `F.unfold` and uint8 images in `F.interpolate` are refused"
REFLECTED = "`Tensor.__radd__(2, x)` and its relatives, called by name on a number"
UINT8 = "`margin_ranking_loss` of uint8 negates in floating point, so nothing wraps around"
ATTENTION = "Attention without elements broadcasts the dimensions before the last two"
LAYOUT = "`memory_format=channels_last` is ignored, also for tensors that do not have 4 dimensions"
PRECISION = "Second derivatives of float32 weights, or below 1e-8, differ in the last digits"
OTHER_ERROR = "Wrong input raises another type of exception"
TENSOR_ENDS = "`linspace` and `logspace` between tensors that are not 0-d raise TypeError"
WIDER_OUT = "`out=` of a few functions accepts a wider dtype, or resizes, where PyTorch refuses"
PRODUCT = "The second derivative of `scatter_reduce` with prod, where a factor is zero"
RESIDUALS = "The residuals that `torch.linalg.lstsq` returns have no gradient; the solution has"
CONSTANT = "A matrix norm or an integral of no elements, a constant, still requires grad"
FLOAT32 = (
    "In float32 a few gradients of `ctc_loss`, `logcumsumexp`, `householder_product` differ by 1e-3"
)
BESSEL_DIGITS = "Bessel and Airy functions are SciPy's; PyTorch's have six correct digits near 5"
FLOAT16 = "`complex` and `polar` of float16, as there is no complex32"


@dataclass(frozen=True)
class Difference:
    """Samples of `ops` (titles, separated by ";") of `kinds` that differ with such a message."""

    ops: str
    kinds: str
    message: str
    reason: str

    def covers(self, op: str, kind: str, message: str) -> bool:
        ops = [name.strip() for name in self.ops.split(";")]
        here = op in ops and (not self.kinds or kind in self.kinds.split("; "))
        return here and re.search(self.message, message) is not None


POOLS = "; ".join(
    f"nn.functional.adaptive_{kind}_pool{dims}d" for kind in ("avg", "max") for dims in (1, 2, 3)
)
CONVOLUTIONS = "; ".join(
    f"nn.functional.conv{kind}{dims}d" for kind in ("", "_transpose") for dims in (1, 2, 3)
)
CASTS = "to; bfloat16; bool; byte; char; double; float; half; int; long; short; cdouble; cfloat"
PADS = (
    "nn.functional.pad reflect; nn.functional.pad replicate; nn.functional.pad replicate_negative"
)
FFT = "; ".join(
    f"fft.{inverse}{kind}{dims}"
    for kind in ("fft", "rfft", "hfft")
    for inverse in ("", "i")
    for dims in ("", "2", "n")
)
BESSEL = "; ".join(
    f"special.{name}" for name in ("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")
)
SMALL = "0-d and empty"

DIFFERENCES = [
    Difference("normal; normal number_mean; bernoulli", "", "requires_grad False", RANDOM),
    Difference("acosh; asinh; atanh", "in place", "derivative for 'inplace", MORE),
    Difference("as_strided partial_views", "", "values differ|stay within", STORAGE),
    # without elements, or 0-d
    Difference(CONVOLUTIONS, SMALL, "Only zero batch or zero channel", EMPTY),
    Difference(PADS, SMALL, "other non-zero dimensions", EMPTY),
    Difference(
        "nn.functional.instance_norm; nn.functional.batch_norm", SMALL, "select\\(\\)", EMPTY
    ),
    Difference("nn.functional.embedding_bag", SMALL, "step must be nonzero", EMPTY),
    Difference("stft", SMALL, "MKL|non-zero dimensions", EMPTY),
    Difference("repeat_interleave", SMALL, "tensor has no dimensions", EMPTY),
    Difference(POOLS, SMALL, "no empty one after it", EMPTY_REFUSED),
    Difference("nn.functional.nll_loss", SMALL, "0 classes", EMPTY_REFUSED),
    Difference("nn.functional.batch_norm", "", "x has shape \\(0,\\)", EMPTY_REFUSED),
    Difference("nn.functional.multi_margin_loss", "", "got input \\((5,)?\\) and", EMPTY_REFUSED),
    Difference(
        "nn.functional.dropout2d; nn.functional.dropout3d; "
        "nn.functional.feature_alpha_dropout with_train",
        SMALL,
        "at least 2 dimensions",
        EMPTY_REFUSED,
    ),
    Difference("lu_unpack", SMALL, "values differ|out of bounds", EMPTY_REFUSED),
    Difference("cholesky", SMALL, "square matrices", EMPTY_REFUSED),
    Difference("nn.functional.group_norm; nn.functional.cross_entropy", SMALL, "nan", NAN),
    Difference(
        "nn.functional.multi_margin_loss; nn.functional.multilabel_margin_loss",
        SMALL,
        "got np.float64\\(nan\\)",
        BUG,
    ),
    Difference("nn.functional.pixel_shuffle", SMALL, "invalid gradient", BUG),
    Difference("nn.functional.pixel_unshuffle", SMALL, "shape", BUG),
    Difference("block_diag", SMALL, "derivative 1 of input 1", BUG),
    Difference("cov", SMALL, "view of a leaf", BUG),
    Difference(CASTS, SMALL, "channels_last", LAYOUT),
    Difference("nn.functional.scaled_dot_product_attention", SMALL, "expected", ATTENTION),
    Difference(
        "linalg.cond; linalg.norm; linalg.norm subgradients_at_zero; linalg.matrix_norm; "
        "trapezoid; trapz",
        SMALL,
        "requires_grad True",
        CONSTANT,
    ),
    Difference("linalg.vander; linalg.tensorinv", SMALL, "PyTorch refuses", EMPTY),
    Difference(
        "linalg.matrix_rank hermitian; linalg.pinv hermitian; linalg.tensorsolve",
        SMALL,
        "got shape",
        EMPTY_REFUSED,
    ),
    Difference(FFT, SMALL, "MKL", EMPTY),
    # numbers
    Difference(BESSEL, "float64", "values differ", BESSEL_DIGITS),
    Difference("masked.logaddexp", "second derivatives", "expected np.float64\\(nan", NAN),
    Difference("linalg.norm subgradients_at_zero", "second derivatives", "derivative 2", NAN),
    Difference(
        "nn.functional.ctc_loss; linalg.householder_product; logcumsumexp; "
        "nn.functional.layer_norm",
        "float32",
        "derivative 1",
        FLOAT32,
    ),
    Difference("cov", "second derivatives", "derivative 2", PRECISION),
    Difference("cov", "integers; float32", "inf", PRECISION),
    Difference("nn.functional.soft_margin_loss", "second derivatives", "e-09", PRECISION),
    Difference("as_strided_scatter", "", "derivative 1 of input 0", BUG),
    Difference(
        "scatter_reduce prod; index_reduce prod", "second derivatives", "nor in PyTorch", PRODUCT
    ),
    Difference("nn.functional.unfold", "integers", "dtype bool|for bool", BOOLS),
    Difference(
        "nn.functional.interpolate bilinear; nn.functional.interpolate bicubic; "
        "nn.functional.upsample_bilinear",
        "integers",
        "dtype uint8",
        BOOLS,
    ),
    Difference("nn.functional.margin_ranking_loss", "integers", "values differ", UINT8),
    Difference("complex; polar", "dtype pairs", "float16", FLOAT16),
    # out=, and what is refused
    Difference("max reduction_with_dim; min reduction_with_dim", "out=", "dtype", WIDER_OUT),
    Difference("linspace; linspace tensor_overload", "out=", "shape \\(0,\\)", WIDER_OUT),
    Difference("linalg.lstsq; linalg.lstsq grad_oriented", "", "requires_grad False", RESIDUALS),
    Difference("arange; matmul; nansum; nanmean; lerp", "out=", "", WIDER_OUT),
    Difference("gather; cat; complex", "refused", "out|unsupported operation", WIDER_OUT),
    Difference("__radd__; __rmul__; __rand__; __ror__; __rxor__", "refused", "", REFLECTED),
    Difference("arange; nn.functional.multi_margin_loss", "refused", "raised", OTHER_ERROR),
    Difference(
        "linspace; linspace tensor_overload; logspace; logspace tensor_overload",
        "refused",
        "got a Tensor",
        TENSOR_ENDS,
    ),
]


def reason_for(op: str, kind: str, message: str) -> str | None:
    """The reason of a listed difference, or None."""
    for difference in DIFFERENCES:
        if difference.covers(op, kind, message):
            return difference.reason
    return None
