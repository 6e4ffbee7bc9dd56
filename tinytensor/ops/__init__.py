"""Every op, by family; see CONTRIBUTING.md for how to add one.

One element at a time
    arithmetic, power, pointwise (exp, log, sigmoid), trigonometry, erf, rounding,
    clamp (also where, maximum), compare, bitwise, activation, rectifier (relu and its kin)
Over a dimension
    reduce (sum, mean, prod), variance (also norm), minmax, statistics, scan (cumsum), sort, softmax
Products
    linalg (matmul), linear, einsum, distance
Shape
    shape (reshape, permute), broadcast, part (narrow, diagonal), join (cat, split), rearrange
    (flip, repeat), matrix (tril, diag), pad, convert (clone, to)
Picked elements
    index (x[…]), gather, scatter, masked, embedding, count (one_hot)
Layers
    attention, layer_norm, batch_norm, dropout, recurrent, selective_scan (of Mamba);
    convolution, pooling, adaptive_pooling, columns (unfold), resample
Losses
    loss, cross_entropy, distribution_loss, margin_loss

What they share, without an op to call
    promote (dtypes), dims (arguments that name dimensions), parse_index, accumulate (y[i] += x),
    windows, reduction (of losses), return_types, boundary (the check of a public function's input)
"""

from .activation import *
from .adaptive_pooling import *
from .arithmetic import *
from .attention import *
from .batch_norm import *
from .bitwise import *
from .broadcast import *
from .clamp import *
from .compare import *
from .conv_transpose import *
from .convert import *
from .convolution import *
from .cross_entropy import *
from .distance import *
from .distribution_loss import *
from .dropout import *
from .einsum import *
from .embedding import *
from .erf import *
from .gather import *
from .histogram import *
from .index import *
from .join import *
from .layer_norm import *
from .linear import *
from .loss import *
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
from .resample import *
from .rounding import *
from .scan import *
from .scatter import *
from .selective_scan import *
from .shape import *
from .softmax import *
from .solve import *
from .sort import *
from .statistics import *
from .trigonometry import *
from .unfold import *
from .variance import *

# fmt: off
__all__ = [
    # arithmetic
    "abs", "absolute", "add", "addcdiv", "addcmul", "div", "divide", "floor_divide", "fmod",
    "lerp", "mul", "multiply", "neg", "negative", "positive", "remainder", "rsub", "sgn",
    "sign", "sub", "subtract", "true_divide",
    # power
    "float_power", "hypot", "pow", "reciprocal", "rsqrt", "sqrt", "square",
    # clamp
    "clamp", "clamp_max", "clamp_min", "clip", "fmax", "fmin", "maximum", "minimum",
    "nan_to_num", "where",
    # compare
    "allclose", "eq", "equal", "ge", "greater", "greater_equal", "gt", "isclose", "isfinite",
    "isinf", "isnan", "le", "less", "less_equal", "logical_and", "logical_not", "logical_or",
    "logical_xor", "lt", "ne", "not_equal",
    # bitwise
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor",
    # pointwise
    "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "logaddexp", "logit", "sigmoid",
    "xlogy",
    # trigonometry
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh",
    # rounding
    "ceil", "fix", "floor", "frac", "round", "trunc",
    # erf
    "erf", "erfc",
    # activation
    "celu", "elu", "gelu", "glu", "logsigmoid", "mish", "selu", "silu", "softplus", "softsign",
    "tanhshrink",
    # rectifier
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "prelu", "relu",
    "relu6", "softshrink", "threshold",
    # recurrent
    "gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell",
    # recurrent sequence
    "gru_sequence", "lstm_sequence", "rnn_sequence",
    # selective scan
    "linear_scan", "selective_scan", "selective_scan_ref",
    # reduce
    "all", "any", "count_nonzero", "logsumexp", "mean", "nanmean", "nansum", "prod", "sum",
    # variance
    "dist", "norm", "std", "std_mean", "var", "var_mean",
    # minmax
    "amax", "amin", "aminmax", "argmax", "argmin", "max", "median", "min", "nanmedian",
    # scan
    "cummax", "cummin", "cumprod", "cumsum", "diff", "logcumsumexp",
    # sort
    "argsort", "bucketize", "isin", "kthvalue", "msort", "searchsorted", "sort", "topk",
    "unique", "unique_consecutive",
    # statistics
    "corrcoef", "cov", "mode", "quantile",
    # linalg
    "bmm", "cross", "dot", "ger", "inner", "kron", "matmul", "mm", "mv", "outer", "vdot",
    # solve
    "det", "inverse",
    # linear
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bilinear", "linear",
    # einsum
    "einsum", "tensordot",
    # shape
    "flatten", "moveaxis", "movedim", "permute", "ravel", "reshape", "reshape_as", "squeeze",
    "swapaxes", "swapdims", "t", "transpose", "unflatten", "unsqueeze", "view", "view_as",
    # broadcast
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors",
    "broadcast_to", "expand", "expand_as",
    # part
    "as_strided", "diagonal", "narrow", "select",
    # join
    "cat", "chunk", "column_stack", "concat", "concatenate", "dstack", "hstack", "split",
    "split_with_sizes", "stack", "tensor_split", "unbind", "vstack",
    # rearrange
    "cartesian_prod", "flip", "fliplr", "flipud", "meshgrid", "repeat", "repeat_interleave",
    "roll", "rot90", "tile",
    # convert
    "clone", "contiguous", "to", "type_as",
    # index
    "select_scatter", "slice_scatter",
    # gather
    "gather", "index_select", "take", "take_along_dim",
    # scatter
    "index_add", "index_copy", "index_fill", "index_put", "put", "scatter", "scatter_add",
    "scatter_reduce",
    # masked
    "argwhere", "masked_fill", "masked_scatter", "masked_select", "nonzero",
    # matrix
    "block_diag", "diag", "diag_embed", "diagflat", "diagonal_scatter", "trace", "tril",
    "tril_indices", "triu", "triu_indices",
    # pad
    "pad",
    # count
    "bincount", "histc", "one_hot",
    # convolution
    "conv1d", "conv2d", "conv3d",
    # transposed convolution
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    # columns
    "fold", "unfold",
    # pooling
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
    # adaptive pooling
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d",
    # resample
    "channel_shuffle", "interpolate", "pixel_shuffle", "pixel_unshuffle",
    # softmax
    "gumbel_softmax", "log_softmax", "softmax", "softmin",
    # layer norm
    "group_norm", "layer_norm", "rms_norm",
    # batch norm
    "batch_norm", "instance_norm",
    # distance
    "cdist", "cosine_similarity", "normalize", "pairwise_distance",
    # embedding
    "embedding",
    # dropout
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
    "feature_dropout", "masked_scale",
    # attention
    "attention_weights", "scaled_dot_product_attention",
    # cross entropy
    "cross_entropy", "nll_loss",
    # loss
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "huber_loss", "l1_loss",
    "mse_loss", "smooth_l1_loss",
    # distribution loss
    "gaussian_nll_loss", "kl_div", "poisson_nll_loss",
    # margin loss
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
# fmt: on
