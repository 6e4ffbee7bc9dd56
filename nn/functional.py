"""The functions of neural networks, under the names of torch.nn.functional.

They are tinytensor's own ops; their code is in `tinytensor/ops/`.
"""

# fmt: off
from tinytensor import (
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d,
    adaptive_max_pool2d, adaptive_max_pool3d, alpha_dropout, avg_pool1d, avg_pool2d,
    avg_pool3d, batch_norm, bilinear, binary_cross_entropy, binary_cross_entropy_with_logits, celu,
    channel_shuffle, conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d,
    cosine_embedding_loss, cosine_similarity, cross_entropy, dropout, dropout1d, dropout2d,
    dropout3d, elu, embedding, feature_alpha_dropout, fold, gaussian_nll_loss, gelu, glu,
    group_norm, gumbel_softmax, hardshrink, hardsigmoid, hardswish, hardtanh, hinge_embedding_loss,
    huber_loss, instance_norm, interpolate, kl_div, l1_loss, layer_norm, leaky_relu, linear,
    log_softmax, logsigmoid, margin_ranking_loss, max_pool1d, max_pool2d, max_pool3d, mish,
    mse_loss, multi_margin_loss, multilabel_soft_margin_loss, nll_loss, normalize, one_hot, pad,
    pairwise_distance, pixel_shuffle, pixel_unshuffle, poisson_nll_loss, prelu, relu, relu6,
    rms_norm, scaled_dot_product_attention, selu, sigmoid, silu, smooth_l1_loss, soft_margin_loss,
    softmax, softmin, softplus, softshrink, softsign, tanh, tanhshrink, threshold,
    triplet_margin_loss, triplet_margin_with_distance_loss, unfold,
)

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "alpha_dropout", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "batch_norm", "bilinear", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "channel_shuffle", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu",
    "embedding", "feature_alpha_dropout", "fold", "gaussian_nll_loss", "gelu", "glu", "group_norm",
    "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss",
    "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu",
    "linear", "log_softmax", "logsigmoid", "margin_ranking_loss", "max_pool1d", "max_pool2d",
    "max_pool3d", "mish", "mse_loss", "multi_margin_loss", "multilabel_soft_margin_loss",
    "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance", "pixel_shuffle",
    "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu", "relu6", "rms_norm",
    "scaled_dot_product_attention", "selu", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss",
    "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold",
    "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold",
]
# fmt: on
