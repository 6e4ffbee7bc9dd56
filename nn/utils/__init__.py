"""Utilities under the names of torch.nn.utils.

vector            all parameters as one vector, and back
parametrize       a weight as a function of other tensors
parametrizations  weight_norm and spectral_norm as parametrizations
orthogonal        weights with orthonormal columns
normed_weight     the older weight_norm and spectral_norm, which work by hooks
weight_norms      the norms of a weight that both forms use
fusion            batch norm merged into the layer before it
prune             weights that are set to zero and stay there
rnn               padded and packed sequences
"""

from tinytensor.optim import clip_grad
from tinytensor.optim.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)

from . import parametrizations, parametrize, prune, rnn
from .fusion import (
    convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format,
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
    skip_init,
)
from .normed_weight import (
    remove_spectral_norm,
    remove_weight_norm,
    spectral_norm,
    weight_norm,
)
from .vector import parameters_to_vector, vector_to_parameters

# fmt: off
__all__ = [
    "clip_grad", "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights",
    "get_total_norm", "parameters_to_vector", "parametrizations", "parametrize", "prune",
    "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init", "spectral_norm",
    "vector_to_parameters", "weight_norm",
]
# fmt: on
