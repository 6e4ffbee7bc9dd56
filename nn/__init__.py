"""Neural networks on tinytensor: `import nn`, `import nn.functional as F`.

Every public name is here: nn.Linear, nn.GPT, nn.generate … The files behind them:

modules       module        Module: parameters, buffers and submodules
              module_hooks  hooks around forward and backward
              module_state  train/eval mode, dtype and device, state_dict
              parameter, parameter_container  Parameter, ParameterList, ParameterDict
              container     Sequential, ModuleList, ModuleDict, Flatten, Identity
              summary       a table of a network's layers
              parallel      DataParallel
              pickles       old module names, for pickles that contain them
layers        linear        Linear, Bilinear, Embedding
              convolution, pooling, padding, resample
              norm          batch, layer, group, instance and RMS norm
              dropout, activation, distance
              residual      five forms of skip connection
              recurrent, recurrent_base  RNN, LSTM, GRU and their cells
transformers  attention     MultiheadAttention, AdditiveAttention
              attention_masks  masks
              position      sinusoidal, learned, rotary and ALiBi positions
              transformer, transformer_layers  encoder and decoder
losses        loss, margin_loss, pair_loss
functions     functional    the functions, as in torch.nn.functional
              init          initial values of parameters, as in torch.nn.init

rooms         generation/   greedy, sampling, beam search, key-value caches
              models/       GPT, BERT, translators, Mamba, diffusion, experts, graph convolution
              utils/        gradient clipping, parametrizations, packed sequences
"""

from tinytensor.autograd.site import add_internal_folder
from tinytensor.utils.attention_capture import capture_attention

from . import functional, init, parallel, utils
from .activation import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softmax2d,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from .attention import AdditiveAttention, MultiheadAttention, attention_pooling
from .attention_masks import combined_mask, look_ahead_mask, padding_mask
from .container import (
    Flatten,
    Identity,
    ModuleDict,
    ModuleList,
    Sequential,
    Unflatten,
)
from .convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from .distance import CosineSimilarity, PairwiseDistance
from .dropout import (
    AlphaDropout,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    FeatureAlphaDropout,
)
from .generation.beam_search import beam_search
from .generation.generate import generate, stream
from .generation.kv_cache import KVCache
from .linear import (
    Bilinear,
    Embedding,
    Linear,
)
from .loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    GaussianNLLLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    PoissonNLLLoss,
    SmoothL1Loss,
)
from .margin_loss import (
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    SoftMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
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
from .models.graph_conv import (
    GraphConvolution,
    add_self_loops,
    normalize_adjacency,
)
from .models.mamba import Mamba
from .models.seq2seq import Seq2SeqTransformer
from .models.seq2seq_rnn import Seq2SeqRNN
from .module import Module
from .norm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    RMSNorm,
)
from .padding import (
    CircularPad1d,
    CircularPad2d,
    CircularPad3d,
    ConstantPad1d,
    ConstantPad2d,
    ConstantPad3d,
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
    ZeroPad1d,
    ZeroPad2d,
    ZeroPad3d,
)
from .pair_loss import (
    CLIPLoss,
    PairwiseRewardLoss,
)
from .parallel import DataParallel
from .parameter import Buffer, Parameter
from .parameter_container import (
    ParameterDict,
    ParameterList,
)
from .pickles import register_old_names
from .pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)
from .position import ALiBi, IntegerPosition, LearnedPosition, RotaryPosition, SinusoidalPosition
from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from .resample import (
    ChannelShuffle,
    Fold,
    PixelShuffle,
    PixelUnshuffle,
    Unfold,
    Upsample,
    UpsamplingBilinear2d,
    UpsamplingNearest2d,
)
from .residual import (
    AddAfterActivation,
    AddBeforeActivation,
    ConcatenateSkip,
    StackedSkip,
    TwoSkips,
    stacked_features,
    stacked_weight,
)
from .summary import summary
from .transformer import Transformer, TransformerDecoder, TransformerEncoder
from .transformer_layers import TransformerDecoderLayer, TransformerEncoderLayer

add_internal_folder(__file__)
register_old_names()

__all__ = [
    "BERT",
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "GPT",
    "GRU",
    "LSTM",
    "RNN",
    "SELU",
    "ALiBi",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveLayerNorm",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AddAfterActivation",
    "AddBeforeActivation",
    "AdditiveAttention",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BERTConfig",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "Buffer",
    "CLIPLoss",
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConcatenateSkip",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "DataParallel",
    "DiTBlock",
    "DiTFinalLayer",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "Embedding",
    "FeatureAlphaDropout",
    "Flatten",
    "Fold",
    "GPTConfig",
    "GRUCell",
    "GaussianNLLLoss",
    "GraphConvolution",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "IntegerPosition",
    "KLDivLoss",
    "KVCache",
    "L1Loss",
    "LSTMCell",
    "LayerNorm",
    "LeakyReLU",
    "LearnedPosition",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "Mamba",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "Mish",
    "MixtureOfExperts",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "PReLU",
    "PairwiseDistance",
    "PairwiseRewardLoss",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PatchEmbed",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNNCell",
    "ReLU",
    "ReLU6",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "RotaryPosition",
    "Seq2SeqRNN",
    "Seq2SeqTransformer",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SinusoidalPosition",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "StackedSkip",
    "SwitchLayer",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "TimestepEmbedding",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "TwoSkips",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
    "add_self_loops",
    "attention_pooling",
    "beam_search",
    "capture_attention",
    "combined_mask",
    "functional",
    "generate",
    "init",
    "load_balancing_loss",
    "look_ahead_mask",
    "modulate",
    "normalize_adjacency",
    "padding_mask",
    "parallel",
    "patchify",
    "router_z_loss",
    "stacked_features",
    "stacked_weight",
    "stream",
    "summary",
    "timestep_embedding",
    "unpatchify",
    "utils",
]
