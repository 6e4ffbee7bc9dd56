"""The methods of Tensor that compute: one line for each.

`add = ops.add` makes `x.add(y)` and `add(x, y)` one function, but for `out=`. A name that ends in
an underscore writes into x. A method has a line of its own where PyTorch's differs from the
function of that name: `where` (the condition comes first in the function), `unfold` (windows along
one dimension), `T` and its relatives (properties), conversions such as `float`, and the random
ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import ops, special
from .autograd import inplace
from .create import fill_random, random
from .linalg import older
from .operators import Operators, in_place
from .ops.masked import masked_fill_
from .ops.scatter import index_fill_, index_put_
from .out import methods_without_out


def shape_in_place(function: Callable) -> Callable:
    """Make the method that turns x into function(x, …), a view of the same memory."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return inplace.change_shape(self, function, *args, **kwargs)

    method.__name__ = f"{function.__name__}_"
    method.__doc__ = f"In place: x becomes {function.__name__}(x, …), of the same memory."
    return method


def write_part(name: str) -> Callable:
    """Make the setter of x.real or x.imag, which writes into x."""

    def setter(self: Any, value: Any) -> None:
        part = getattr(self, name)
        inplace.assign(part, ..., value, name)

    return setter


@methods_without_out
class Methods(Operators):
    """A tensor with operators and methods, grouped by family as in `ops/__init__.py`."""

    __slots__ = ()

    # ---- arithmetic
    add, add_ = ops.add, in_place(ops.add)
    sub, sub_ = ops.sub, in_place(ops.sub)
    mul, mul_ = ops.mul, in_place(ops.mul)
    div, div_ = ops.div, in_place(ops.div)
    subtract, subtract_ = sub, sub_
    multiply, multiply_ = mul, mul_
    divide, divide_ = div, div_
    true_divide, true_divide_ = div, div_
    floor_divide, floor_divide_ = ops.floor_divide, in_place(ops.floor_divide)
    remainder, remainder_ = ops.remainder, in_place(ops.remainder)
    fmod, fmod_ = ops.fmod, in_place(ops.fmod)
    pow, pow_ = ops.pow, in_place(ops.pow)
    float_power, float_power_ = ops.float_power, in_place(ops.float_power)
    neg, neg_ = ops.neg, in_place(ops.neg)
    negative, negative_ = neg, neg_
    positive = ops.positive
    abs, abs_ = ops.abs, in_place(ops.abs)
    absolute, absolute_ = abs, abs_
    sign, sign_ = ops.sign, in_place(ops.sign)
    sgn, sgn_ = ops.sgn, in_place(ops.sgn)
    square, square_ = ops.square, in_place(ops.square)
    sqrt, sqrt_ = ops.sqrt, in_place(ops.sqrt)
    rsqrt, rsqrt_ = ops.rsqrt, in_place(ops.rsqrt)
    reciprocal, reciprocal_ = ops.reciprocal, in_place(ops.reciprocal)
    hypot, hypot_ = ops.hypot, in_place(ops.hypot)
    copysign, copysign_ = ops.copysign, in_place(ops.copysign)
    heaviside, heaviside_ = ops.heaviside, in_place(ops.heaviside)
    nextafter, nextafter_ = ops.nextafter, in_place(ops.nextafter)
    ldexp, ldexp_ = ops.ldexp, in_place(ops.ldexp)
    gcd, gcd_ = ops.gcd, in_place(ops.gcd)
    lcm, lcm_ = ops.lcm, in_place(ops.lcm)
    deg2rad, deg2rad_ = ops.deg2rad, in_place(ops.deg2rad)
    rad2deg, rad2deg_ = ops.rad2deg, in_place(ops.rad2deg)
    frexp = ops.frexp
    signbit = ops.signbit
    lerp, lerp_ = ops.lerp, in_place(ops.lerp)
    addcmul, addcmul_ = ops.addcmul, in_place(ops.addcmul)
    addcdiv, addcdiv_ = ops.addcdiv, in_place(ops.addcdiv)
    maximum = ops.maximum
    minimum = ops.minimum
    fmax = ops.fmax
    fmin = ops.fmin
    clamp, clamp_ = ops.clamp, in_place(ops.clamp)
    clip, clip_ = clamp, clamp_
    clamp_min, clamp_min_ = ops.clamp_min, in_place(ops.clamp_min)
    clamp_max, clamp_max_ = ops.clamp_max, in_place(ops.clamp_max)
    nan_to_num, nan_to_num_ = ops.nan_to_num, in_place(ops.nan_to_num)

    def where(self, condition: Any, other: Any) -> Any:
        """self where the condition holds, other elsewhere."""
        return ops.where(condition, self, other)

    # ---- complex numbers
    angle = ops.angle
    conj = ops.conj
    conj_physical, conj_physical_ = ops.conj_physical, in_place(ops.conj_physical)
    resolve_conj = ops.resolve_conj
    resolve_neg = ops.resolve_neg
    isreal = ops.isreal
    real = property(ops.real, write_part("real"))
    imag = property(ops.imag, write_part("imag"))

    # ---- pointwise
    exp, exp_ = ops.exp, in_place(ops.exp)
    exp2, exp2_ = ops.exp2, in_place(ops.exp2)
    expm1, expm1_ = ops.expm1, in_place(ops.expm1)
    log, log_ = ops.log, in_place(ops.log)
    log1p, log1p_ = ops.log1p, in_place(ops.log1p)
    log2, log2_ = ops.log2, in_place(ops.log2)
    log10, log10_ = ops.log10, in_place(ops.log10)
    sigmoid, sigmoid_ = ops.sigmoid, in_place(ops.sigmoid)
    logit, logit_ = ops.logit, in_place(ops.logit)
    logaddexp = ops.logaddexp
    logaddexp2 = ops.logaddexp2
    xlogy, xlogy_ = ops.xlogy, in_place(ops.xlogy)
    erf, erf_ = ops.erf, in_place(ops.erf)
    erfc, erfc_ = ops.erfc, in_place(ops.erfc)
    erfinv, erfinv_ = ops.erfinv, in_place(ops.erfinv)
    lgamma, lgamma_ = ops.lgamma, in_place(ops.lgamma)
    digamma, digamma_ = ops.digamma, in_place(ops.digamma)
    mvlgamma, mvlgamma_ = ops.mvlgamma, in_place(ops.mvlgamma)

    igamma, igamma_ = ops.igamma, in_place(ops.igamma)
    igammac, igammac_ = ops.igammac, in_place(ops.igammac)

    def polygamma(self: Any, n: int) -> Any:
        """The n-th derivative of digamma."""
        return ops.polygamma(n, self)

    def polygamma_(self, n: int) -> Any:
        """In place: x becomes polygamma(n, x)."""
        return inplace.write(self, lambda x: ops.polygamma(n, x))

    sinc, sinc_ = special.sinc, in_place(special.sinc)
    i0, i0_ = special.i0, in_place(special.i0)
    sin, sin_ = ops.sin, in_place(ops.sin)
    cos, cos_ = ops.cos, in_place(ops.cos)
    tan, tan_ = ops.tan, in_place(ops.tan)
    asin, asin_ = ops.asin, in_place(ops.asin)
    acos, acos_ = ops.acos, in_place(ops.acos)
    atan, atan_ = ops.atan, in_place(ops.atan)
    atan2, atan2_ = ops.atan2, in_place(ops.atan2)
    sinh, sinh_ = ops.sinh, in_place(ops.sinh)
    cosh, cosh_ = ops.cosh, in_place(ops.cosh)
    tanh, tanh_ = ops.tanh, in_place(ops.tanh)
    asinh, asinh_ = ops.asinh, in_place(ops.asinh)
    acosh, acosh_ = ops.acosh, in_place(ops.acosh)
    atanh, atanh_ = ops.atanh, in_place(ops.atanh)
    floor, floor_ = ops.floor, in_place(ops.floor)
    ceil, ceil_ = ops.ceil, in_place(ops.ceil)
    trunc, trunc_ = ops.trunc, in_place(ops.trunc)
    round, round_ = ops.round, in_place(ops.round)
    frac, frac_ = ops.frac, in_place(ops.frac)
    arcsin, arcsin_ = asin, asin_
    arccos, arccos_ = acos, acos_
    arctan, arctan_ = atan, atan_
    arctan2, arctan2_ = atan2, atan2_
    arcsinh, arcsinh_ = asinh, asinh_
    arccosh, arccosh_ = acosh, acosh_
    arctanh, arctanh_ = atanh, atanh_
    fix, fix_ = trunc, trunc_

    # ---- activation
    relu, relu_ = ops.relu, in_place(ops.relu)
    prelu = ops.prelu
    hardshrink = ops.hardshrink

    # ---- compare
    eq, eq_ = ops.eq, in_place(ops.eq)
    ne, ne_ = ops.ne, in_place(ops.ne)
    lt, lt_ = ops.lt, in_place(ops.lt)
    le, le_ = ops.le, in_place(ops.le)
    gt, gt_ = ops.gt, in_place(ops.gt)
    ge, ge_ = ops.ge, in_place(ops.ge)
    not_equal, less, less_equal, greater, greater_equal = ne, lt, le, gt, ge
    not_equal_, less_, less_equal_, greater_, greater_equal_ = ne_, lt_, le_, gt_, ge_
    equal = ops.equal
    allclose = ops.allclose
    isclose = ops.isclose
    isnan = ops.isnan
    isinf = ops.isinf
    isposinf = ops.isposinf
    isneginf = ops.isneginf
    isfinite = ops.isfinite
    logical_and, logical_and_ = ops.logical_and, in_place(ops.logical_and)
    logical_or, logical_or_ = ops.logical_or, in_place(ops.logical_or)
    logical_xor, logical_xor_ = ops.logical_xor, in_place(ops.logical_xor)
    logical_not, logical_not_ = ops.logical_not, in_place(ops.logical_not)
    bitwise_and, bitwise_and_ = ops.bitwise_and, in_place(ops.bitwise_and)
    bitwise_or, bitwise_or_ = ops.bitwise_or, in_place(ops.bitwise_or)
    bitwise_xor, bitwise_xor_ = ops.bitwise_xor, in_place(ops.bitwise_xor)
    bitwise_not, bitwise_not_ = ops.bitwise_not, in_place(ops.bitwise_not)
    bitwise_left_shift = ops.bitwise_left_shift
    bitwise_left_shift_ = in_place(ops.bitwise_left_shift)
    bitwise_right_shift = ops.bitwise_right_shift
    bitwise_right_shift_ = in_place(ops.bitwise_right_shift)

    # ---- reduce
    sum = ops.sum
    mean = ops.mean
    prod = ops.prod
    var = ops.var
    std = ops.std
    norm = ops.norm
    dist = ops.dist
    renorm, renorm_ = ops.renorm, in_place(ops.renorm)
    logsumexp = ops.logsumexp
    nansum = ops.nansum
    nanmean = ops.nanmean
    all = ops.all
    any = ops.any
    count_nonzero = ops.count_nonzero

    # ---- minmax
    max = ops.max
    min = ops.min
    amax = ops.amax
    amin = ops.amin
    aminmax = ops.aminmax
    argmax = ops.argmax
    argmin = ops.argmin
    median = ops.median
    nanmedian = ops.nanmedian

    # ---- scan
    cumsum, cumsum_ = ops.cumsum, in_place(ops.cumsum)
    cumprod, cumprod_ = ops.cumprod, in_place(ops.cumprod)
    logcumsumexp = ops.logcumsumexp
    cummax = ops.cummax
    cummin = ops.cummin
    diff = ops.diff

    # ---- sort
    sort = ops.sort
    argsort = ops.argsort
    msort = ops.msort
    topk = ops.topk
    kthvalue = ops.kthvalue
    unique = ops.unique
    unique_consecutive = ops.unique_consecutive

    # ---- statistics
    mode = ops.mode
    quantile = ops.quantile
    nanquantile = ops.nanquantile
    cov = ops.cov
    corrcoef = ops.corrcoef

    # ---- shape
    reshape = ops.reshape
    reshape_as = ops.reshape_as
    view = ops.view
    view_as = ops.view_as
    flatten = ops.flatten
    unflatten = ops.unflatten
    ravel = ops.ravel
    squeeze, squeeze_ = ops.squeeze, shape_in_place(ops.squeeze)
    unsqueeze, unsqueeze_ = ops.unsqueeze, shape_in_place(ops.unsqueeze)
    permute = ops.permute
    transpose, transpose_ = ops.transpose, shape_in_place(ops.transpose)
    swapaxes, swapaxes_ = ops.swapaxes, shape_in_place(ops.swapaxes)
    swapdims, swapdims_ = ops.swapdims, shape_in_place(ops.swapdims)
    movedim = ops.movedim
    moveaxis = ops.moveaxis
    t, t_ = ops.t, shape_in_place(ops.t)
    T = property(ops.shape.reverse_dims)
    mT = property(ops.shape.matrix_transpose)
    mH = property(ops.adjoint)
    H = property(ops.complex_numbers.conjugate_transpose)
    adjoint = ops.adjoint
    expand = ops.expand
    expand_as = ops.expand_as
    broadcast_to = ops.broadcast_to
    narrow = ops.narrow
    narrow_copy = ops.narrow_copy
    as_strided, as_strided_ = ops.as_strided, shape_in_place(ops.as_strided)
    select = ops.select
    diagonal = ops.diagonal
    unfold = ops.partial_views.unfold

    # ---- join
    def split(self: Any, split_size: Any, dim: int = 0) -> Any:
        return ops.split(self, split_size, dim)

    split_with_sizes = ops.split_with_sizes
    tensor_split = ops.tensor_split
    hsplit = ops.hsplit
    vsplit = ops.vsplit
    dsplit = ops.dsplit
    chunk = ops.chunk
    unsafe_chunk = ops.unsafe_chunk
    unsafe_split = ops.unsafe_split
    unsafe_split_with_sizes = ops.unsafe_split_with_sizes
    unbind = ops.unbind
    repeat = ops.repeat
    repeat_interleave = ops.repeat_interleave
    tile = ops.tile
    flip = ops.flip
    fliplr = ops.fliplr
    flipud = ops.flipud
    roll = ops.roll
    rot90 = ops.rot90

    # ---- convert
    clone = ops.clone
    contiguous = ops.contiguous
    to = ops.to
    type = ops.convert.type_of
    type_as = ops.type_as
    cpu = ops.convert.cpu
    cuda = ops.convert.cuda
    cfloat = ops.convert.to_cfloat
    cdouble = ops.convert.to_cdouble
    half = ops.convert.to_half
    bfloat16 = ops.convert.to_bfloat16
    float = ops.convert.to_float
    double = ops.convert.to_double
    bool = ops.convert.to_bool
    byte = ops.convert.to_byte
    char = ops.convert.to_char
    short = ops.convert.to_short
    int = ops.convert.to_int
    long = ops.convert.to_long
    new_full = ops.convert.new_full
    new_zeros = ops.convert.new_zeros
    new_ones = ops.convert.new_ones
    new_empty = ops.convert.new_empty
    new_empty_strided = ops.convert.new_empty_strided
    new_tensor = ops.convert.new_tensor

    # ---- index
    copy_ = ops.index.copy_
    fill_ = ops.index.fill_
    zero_ = ops.index.zero_
    select_scatter = ops.select_scatter
    slice_scatter = ops.slice_scatter
    as_strided_scatter = ops.as_strided_scatter

    # ---- gather
    argwhere = ops.argwhere
    gather = ops.gather
    index_add = ops.index_add
    index_copy = ops.index_copy
    index_fill = ops.index_fill
    index_put = ops.index_put
    index_reduce, index_reduce_ = ops.index_reduce, in_place(ops.index_reduce)
    index_select = ops.index_select
    masked_fill = ops.masked_fill
    masked_scatter = ops.masked_scatter
    masked_select = ops.masked_select
    nonzero = ops.nonzero
    nonzero_static = ops.nonzero_static
    put = ops.put
    scatter = ops.scatter
    scatter_add = ops.scatter_add
    scatter_reduce = ops.scatter_reduce
    take = ops.take
    take_along_dim = ops.take_along_dim
    index_add_ = in_place(ops.index_add)
    index_copy_ = in_place(ops.index_copy)
    index_fill_ = index_fill_
    index_put_ = index_put_
    masked_fill_ = masked_fill_
    masked_scatter_ = in_place(ops.masked_scatter)
    put_ = in_place(ops.put)
    scatter_ = in_place(ops.scatter)
    scatter_add_ = in_place(ops.scatter_add)
    scatter_reduce_ = in_place(ops.scatter_reduce)

    # ---- matrix
    bincount = ops.bincount
    diag = ops.diag
    diag_embed = ops.diag_embed
    diagflat = ops.diagflat
    diagonal_scatter = ops.diagonal_scatter
    fill_diagonal_ = ops.matrix.fill_diagonal_
    histc = ops.histc
    histogram = ops.histogram
    trace = ops.trace
    tril = ops.tril
    triu = ops.triu
    tril_ = in_place(ops.tril)
    triu_ = in_place(ops.triu)

    # ---- linalg
    matmul = ops.matmul
    mm = ops.mm
    bmm = ops.bmm
    mv = ops.mv
    dot = ops.dot
    vdot = ops.vdot
    inner = ops.inner
    outer = ops.outer
    ger = ops.ger
    kron = ops.kron
    cross = ops.cross
    inverse = older.inverse
    det = older.det
    logdet = older.logdet
    slogdet = older.slogdet
    pinverse = older.pinverse
    cholesky = older.cholesky
    cholesky_inverse = older.cholesky_inverse
    cholesky_solve = older.cholesky_solve
    triangular_solve = older.triangular_solve
    svd = older.svd
    qr = older.qr
    geqrf = older.geqrf
    orgqr = older.orgqr
    ormqr = older.ormqr
    lu = older.lu
    lu_solve = older.lu_solve
    matrix_exp = older.matrix_exp
    matrix_power = older.matrix_power
    addmm = ops.addmm
    addmv = ops.addmv
    addr = ops.addr
    addbmm = ops.addbmm
    baddbmm = ops.baddbmm
    addmm_ = in_place(ops.addmm)
    addmv_ = in_place(ops.addmv)
    addr_ = in_place(ops.addr)
    addbmm_ = in_place(ops.addbmm)
    baddbmm_ = in_place(ops.baddbmm)

    # ---- fourier
    stft = ops.stft
    istft = ops.istft

    # ---- softmax
    softmax = ops.softmax
    log_softmax = ops.log_softmax

    # ---- random
    normal_ = random.normal_
    uniform_ = random.uniform_
    bernoulli_ = random.bernoulli_
    exponential_ = random.exponential_
    random_ = random.random_
    cauchy_ = fill_random.cauchy_
    geometric_ = fill_random.geometric_
    log_normal_ = fill_random.log_normal_
    bernoulli = random.bernoulli
    multinomial = random.multinomial
