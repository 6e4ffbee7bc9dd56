"""Neural networks on tinytensor: `import nn`, `import nn.functional as F`.

Every public name is here: nn.Linear, nn.GPT, nn.generate … The files behind them:

modules       module        Module: parameters, buffers and submodules
              module_hooks, backward_hooks  hooks around forward and backward
              global_hooks  hooks of all modules, as in torch.nn.modules.module
              module_state  train/eval mode, dtype and device
              state_dict    state_dict, load_state_dict and their hooks
              parameter, parameter_container  Parameter, ParameterList, ParameterDict
              container     Sequential, ModuleList, ModuleDict, Flatten, Identity
              lazy          LazyLinear, LazyConv2d …: sizes taken from the first input
              summary       a table of a network's layers
              parallel      DataParallel
              parallel_parts  scatter, replicate, parallel_apply, gather
              modules       the classes under PyTorch's paths, nn.modules.loss and others
              swa_utils     AveragedModel, as in torch.optim.swa_utils
              einops_layers Rearrange, Reduce, EinMix; only if imported
              pickles       old module names, for pickles that contain them
layers        linear        Linear, Bilinear, Embedding
              embedding_bag, adaptive_softmax
              convolution, pooling, padding, resample
              unpooling, fractional_pooling  MaxUnpool; FractionalMaxPool, LPPool
              norm          batch, layer, group, instance and RMS norm
              response_norm, sync_batch_norm  LocalResponseNorm; SyncBatchNorm
              dropout, activation, rrelu, distance
              residual      five forms of skip connection
              recurrent, recurrent_base  RNN, LSTM, GRU and their cells
transformers  attention     MultiheadAttention, AdditiveAttention
              attention_masks  masks
              sdpa_kernel   SDPBackend, sdpa_kernel: no effect
              position      sinusoidal, learned, rotary and ALiBi positions
              transformer, transformer_layers  encoder and decoder
losses        loss, margin_loss, pair_loss
functions     functional    the functions, as in torch.nn.functional
              functional_variants  second forms: in place, with indices, older names
              multi_head_attention  multi_head_attention_forward
              init          initial values of parameters, as in torch.nn.init
              grad          the gradients of convolutions, as in torch.nn.grad

packages      flex_attention/  attention with a function of the scores, and block masks
              generation/   greedy, sampling, beam search, key-value caches
              models/       GPT, BERT, translators, Mamba, diffusion, experts, graph convolution
              utils/        gradient clipping, parametrizations, packed sequences
"""

from tinytensor.autograd.site import add_internal_folder

from . import (
    activation,
    adaptive_softmax,
    attention,
    attention_masks,
    container,
    convolution,
    distance,
    dropout,
    embedding_bag,
    fractional_pooling,
    functional,
    init,
    lazy,
    linear,
    loss,
    margin_loss,
    modules,
    norm,
    padding,
    pair_loss,
    parallel,
    parameter,
    parameter_container,
    pooling,
    position,
    recurrent,
    resample,
    residual,
    response_norm,
    rrelu,
    sync_batch_norm,
    transformer,
    transformer_layers,
    unpooling,
    utils,
)
from .activation import *
from .adaptive_softmax import *
from .attention import *
from .attention_masks import *
from .container import *
from .convolution import *
from .distance import *
from .dropout import *
from .embedding_bag import *
from .fractional_pooling import *
from .generation.beam_search import beam_search
from .generation.generate import generate, stream
from .generation.kv_cache import KVCache
from .lazy import *
from .linear import *
from .loss import *
from .margin_loss import *
from .models.bert import BERT, BERTConfig
from .models.diffusion import (
    AdaptiveLayerNorm,
    DiTBlock,
    DiTFinalLayer,
    PatchEmbed,
    TimestepEmbedding,
    modulate,
    patchify,
    timestep_embedding,
    unpatchify,
)
from .models.experts import MixtureOfExperts, SwitchLayer, load_balancing_loss, router_z_loss
from .models.gpt import GPT, GPTConfig
from .models.graph_conv import GraphConvolution, add_self_loops, normalize_adjacency
from .models.mamba import Mamba
from .models.seq2seq import Seq2SeqTransformer
from .models.seq2seq_rnn import Seq2SeqRNN
from .module import Module
from .norm import *
from .padding import *
from .pair_loss import *
from .parallel import DataParallel
from .parameter import *
from .parameter_container import *
from .pickles import register_old_names
from .pooling import *
from .position import *
from .recurrent import *
from .resample import *
from .residual import *
from .response_norm import *
from .rrelu import *
from .summary import summary
from .sync_batch_norm import *
from .transformer import *
from .transformer_layers import *
from .unpooling import *

add_internal_folder(__file__)
register_old_names()

# Layers are listed in the __all__ of their files; models and what is not a layer, here.
# fmt: off
__all__ = [
    "BERT", "GPT", "AdaptiveLayerNorm", "BERTConfig", "DataParallel", "DiTBlock", "DiTFinalLayer",
    "GPTConfig", "GraphConvolution", "KVCache", "Mamba", "MixtureOfExperts", "Module",
    "PatchEmbed", "Seq2SeqRNN", "Seq2SeqTransformer", "SwitchLayer", "TimestepEmbedding",
    "add_self_loops", "beam_search", "functional", "generate", "init", "load_balancing_loss",
    "modulate", "modules", "normalize_adjacency", "parallel", "patchify", "router_z_loss", "stream",
    "summary", "timestep_embedding", "unpatchify", "utils",
]
# fmt: on
__all__ += activation.__all__
__all__ += adaptive_softmax.__all__
__all__ += attention.__all__
__all__ += attention_masks.__all__
__all__ += container.__all__
__all__ += convolution.__all__
__all__ += distance.__all__
__all__ += dropout.__all__
__all__ += embedding_bag.__all__
__all__ += fractional_pooling.__all__
__all__ += lazy.__all__
__all__ += linear.__all__
__all__ += loss.__all__
__all__ += margin_loss.__all__
__all__ += norm.__all__
__all__ += padding.__all__
__all__ += pair_loss.__all__
__all__ += parameter.__all__
__all__ += parameter_container.__all__
__all__ += pooling.__all__
__all__ += position.__all__
__all__ += recurrent.__all__
__all__ += resample.__all__
__all__ += response_norm.__all__
__all__ += residual.__all__
__all__ += rrelu.__all__
__all__ += sync_batch_norm.__all__
__all__ += transformer.__all__
__all__ += transformer_layers.__all__
__all__ += unpooling.__all__
