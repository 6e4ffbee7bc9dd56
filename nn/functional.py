"""The functions of neural networks, under the names of torch.nn.functional.

They are tinytensor's own ops; their code is in `tinytensor/ops/`.
"""

# fmt: off
from tinytensor import (
    alpha_dropout, batch_norm, bilinear, binary_cross_entropy, binary_cross_entropy_with_logits,
    celu, cosine_embedding_loss, cosine_similarity, cross_entropy, dropout, dropout1d, dropout2d,
    dropout3d, elu, embedding, feature_alpha_dropout, gaussian_nll_loss, gelu, glu, group_norm,
    gumbel_softmax, hardshrink, hardsigmoid, hardswish, hardtanh, hinge_embedding_loss, huber_loss,
    instance_norm, kl_div, l1_loss, layer_norm, leaky_relu, linear, log_softmax, logsigmoid,
    margin_ranking_loss, mish, mse_loss, multi_margin_loss, multilabel_soft_margin_loss, nll_loss,
    normalize, one_hot, pad, pairwise_distance, poisson_nll_loss, prelu, relu, relu6, rms_norm,
    scaled_dot_product_attention, selu, sigmoid, silu, smooth_l1_loss, soft_margin_loss, softmax,
    softmin, softplus, softshrink, softsign, tanh, tanhshrink, threshold, triplet_margin_loss,
    triplet_margin_with_distance_loss,
)

__all__ = [
    "alpha_dropout", "batch_norm", "bilinear", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "cosine_embedding_loss", "cosine_similarity",
    "cross_entropy", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "embedding",
    "feature_alpha_dropout", "gaussian_nll_loss", "gelu", "glu", "group_norm", "gumbel_softmax",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss",
    "instance_norm", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax",
    "logsigmoid", "margin_ranking_loss", "mish", "mse_loss", "multi_margin_loss",
    "multilabel_soft_margin_loss", "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance",
    "poisson_nll_loss", "prelu", "relu", "relu6", "rms_norm", "scaled_dot_product_attention",
    "selu", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin",
    "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
# fmt: on
