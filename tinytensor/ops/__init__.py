"""Every op, one file per family; CONTRIBUTING.md says how to add one.

One element at a time
    arithmetic, older_forms (add_(alpha, x)), sign, power, pointwise (exp, log, sigmoid),
    trigonometry, erf, gamma,
    incomplete_gamma, rounding, complex_numbers (real, conj, polar),
    float_parts (copysign, frexp, gcd),
    clamp (also where, maximum), compare, bitwise, activation (gelu, silu), rectifier (relu and
    its variants)
Over a dimension
    reduce (sum, mean, prod), variance (also norm), minmax, statistics, scan (cumsum), sort,
    softmax, histogram, histogram_dims, trapezoid, finite_difference (gradient), renorm
Products
    matmul, linear, einsum, distance, fourier (of tinytensor.fft), spectrogram (stft);
    inverse, det and others are in linalg
Shape
    shape (reshape, permute), broadcast, partial_views (narrow, select, diagonal), join (cat,
    split), rearrange (flip, repeat), matrix (tril, diag), pad, convert (clone, to), copies,
    view_copies (expand_copy),
    combinatorics (combinations, unravel_index)
Selected elements
    index (x[…]), gather, scatter, index_reduce, masked, embedding (also one_hot), embedding_bag
Layers
    attention, layer_norm, batch_norm, dropout, recurrent_cell (one step),
    recurrent_sequence (all steps), selective_scan (of Mamba), convolution, conv_transpose,
    conv_tbc, pooling, adaptive_pooling, fractional_pooling, lp_pooling (also local_response_norm),
    unpooling, unfold (also fold), resample (interpolate), resample_bytes (of uint8), antialias,
    grid_sample
Losses
    loss, cross_entropy, distribution_loss, margin_loss, ctc_loss

Shared by them, without an op to call
    promote (dtypes), dims (arguments that name dimensions), parse_index,
    accumulate (y[i] += x), order (of sorting), windows, blockwise (large arrays in blocks),
    loss_reduction (mean, sum or none), return_types, half_precision (float16 and
    bfloat16), autocast, autocast_rules and autocast_setting (16 bits for products)
"""

from typing import TYPE_CHECKING

from . import autocast_rules as autocast_rules  # lists which ops autocast casts
from . import half_precision as half_precision  # changes how ops run on 16-bit tensors
from .activation import *
from .adaptive_pooling import *
from .arithmetic import *
from .attention import *
from .batch_norm import *
from .bitwise import *
from .broadcast import *
from .clamp import *
from .combinatorics import *
from .compare import *
from .complex_numbers import *
from .conv_tbc import *
from .conv_transpose import *
from .convert import *
from .convolution import *
from .copies import *
from .cross_entropy import *
from .ctc_loss import *
from .distance import *
from .distribution_loss import *
from .dropout import *
from .einsum import *
from .embedding import *
from .embedding_bag import *
from .erf import *
from .finite_difference import *
from .float_parts import *
from .fractional_pooling import *
from .gamma import *
from .gather import *
from .grid_sample import *
from .histogram import *
from .histogram_dims import *
from .incomplete_gamma import *
from .index import *
from .index_reduce import *
from .join import *
from .layer_norm import *
from .linear import *
from .loss import *
from .lp_pooling import *
from .margin_loss import *
from .masked import *
from .matmul import *
from .matrix import *
from .minmax import *
from .pad import *
from .partial_views import *
from .pointwise import *
from .pooling import *
from .power import *
from .rearrange import *
from .rectifier import *
from .recurrent_cell import *
from .recurrent_sequence import *
from .reduce import *
from .renorm import *
from .resample import *
from .rounding import *
from .scan import *
from .scatter import *
from .selective_scan import *
from .shape import *
from .sign import *
from .softmax import *
from .sort import *
from .spectrogram import *
from .statistics import *
from .trapezoid import *
from .trigonometry import *
from .unfold import *
from .unpooling import *
from .variance import *
from .view_copies import *

# The public names are those that the files above list in their own __all__. (mypy finds them by
# following the imports; a computed __all__ would hide them from it.)
NAMES = [name for name, value in list(globals().items()) if callable(value)]
if not TYPE_CHECKING:
    __all__ = NAMES
