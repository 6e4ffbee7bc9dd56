"""Where tinytensor differs from PyTorch on PyTorch's samples, and why.

docs/porting.md lists the reasons. A test fails if a sample of an op listed here agrees everywhere,
so that the list gets shorter when something is mended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

RANDOM = "Random draws are constants: `normal` and `bernoulli` of a tensor that requires grad"
EMPTY = "Some functions take inputs without elements that PyTorch refuses"
BUG = "PyTorch returns a wrong shape, memory that nobody wrote to, or its backward fails"
NAN = "A gradient or a mean of no elements is 0, where PyTorch gives NaN"
MORE = "In-place `acosh_`, `asinh_` and `atanh_` have gradients"
STORAGE = "`as_strided` on a detached part of a tensor counts from the start of that part"
PRECISION = "Second derivatives of float32 weights, or below 1e-8, differ in the last digits"
REFLECTED = (
    "`Tensor.__radd__(2, 3)` and `__rmul__`, called by name on numbers, raise AttributeError"
)
BUG_OUT = (
    "PyTorch's `matmul`, `narrow_copy`, `ihfft2`, `ihfftn` fail, or write nothing, with some `out=`"
)
TRACKED_OUT = "`out=` that requires grad is refused, also by functions that have no gradient"
GROWN_OUT = "An `out=` that must grow gets new memory, and so does not overlap its neighbours"
PRODUCT = "The second derivative of `scatter_reduce` with prod, where a factor is zero"
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


FFT = "; ".join(
    f"fft.{inverse}{kind}{dims}"
    for kind in ("fft", "rfft", "hfft")
    for inverse in ("", "i")
    for dims in ("", "2", "n")
)
BESSEL = "; ".join(
    f"special.{name}" for name in ("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")
)
POLYNOMIALS = "; ".join(
    f"special.{shifted}chebyshev_polynomial_{kind}"
    for shifted in ("", "shifted_")
    for kind in "tuvw"
)
UNDIFFERENTIABLE = "; ".join(
    [BESSEL, POLYNOMIALS, "special.spherical_bessel_j0"]
    + [f"special.{n}_polynomial_{k}" for n, k in (("hermite", "h"), ("hermite", "he"),
       ("laguerre", "l"), ("legendre", "p"))]
    + [f"special.modified_bessel_{kind}" for kind in ("i0", "i1", "k0", "k1")]
    + [f"special.scaled_modified_bessel_{kind}" for kind in ("k0", "k1")]
)  # fmt: skip
SMALL = "0-d and empty"

DIFFERENCES = [
    Difference("normal; normal number_mean; bernoulli", "", "requires_grad False", RANDOM),
    Difference("acosh; asinh; atanh", "in place", "derivative for 'inplace", MORE),
    Difference("as_strided partial_views", "", "values differ|stay within", STORAGE),
    # without elements, or 0-d
    Difference("nn.functional.embedding_bag", SMALL, "step must be nonzero", EMPTY),
    Difference("stft", SMALL, "MKL|non-zero dimensions", EMPTY),
    Difference("cholesky", SMALL, "linalg.solve_triangular: A must be", BUG),
    Difference("nn.functional.group_norm", SMALL, "nan", NAN),
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
    Difference("nn.functional.soft_margin_loss", "second derivatives", "e-09", PRECISION),
    Difference("as_strided_scatter", "", "derivative 1 of input 0", BUG),
    Difference(
        "scatter_reduce prod; index_reduce prod", "second derivatives", "nor in PyTorch", PRODUCT
    ),
    Difference("complex; polar", "dtype pairs", "float16", FLOAT16),
    # out=, and what is refused
    Difference("matmul", "out=", "PyTorch refuses: The size of tensor", BUG_OUT),
    Difference("narrow_copy", "out=", "out: values differ", BUG_OUT),
    Difference("fft.ihfft2; fft.ihfftn", "out=", "out: (shape|values differ)", BUG_OUT),
    Difference("linalg.matrix_power", "out=", "got out of dtype float64", BUG_OUT),
    Difference(UNDIFFERENTIABLE, "out=", "got out= with a tensor that requires", TRACKED_OUT),
    Difference("__radd__; __rmul__", "refused", "raised AttributeError", REFLECTED),
    Difference("gather", "refused", "unsupported operation", GROWN_OUT),
]


def reason_for(op: str, kind: str, message: str) -> str | None:
    """The reason of a listed difference, or None."""
    for difference in DIFFERENCES:
        if difference.covers(op, kind, message):
            return difference.reason
    return None
