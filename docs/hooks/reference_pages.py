"""Which modules are on which page of the API reference.

`sections` maps a namespace to the modules that the page shows, in this order; an empty list means
all of them. The public names are those in the namespace's `__all__`.
"""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """title; what it is about; namespace: [its modules, in the order of the page]"""

    title: str
    about: str
    sections: dict[str, list[str]]


OPS, NN = "tinytensor.ops", "nn"
REST = "…"  # the modules that are on no other page
PAGES = {
    "tensor": Page(
        "Tensor",
        "What a tensor is, and what it can do besides the ops.",
        {"tinytensor.tensor": ["tinytensor.tensor"]},
    ),
    "create": Page(
        "Making tensors",
        "Tensors from data, with one value, in ranges, and with random numbers.",
        {
            "tinytensor.create": [
                "from_data", "filled", "ranges", "windows", "random", "generator", "questions"
            ]
        },
    ),
    "elementwise": Page(
        "Ops: one element at a time",
        "Arithmetic, functions, comparisons, activations.",
        {
            OPS: [
                "arithmetic", "sign", "power", "pointwise", "trigonometry", "complex_numbers",
                "erf", "gamma", "incomplete_gamma", "rounding", "float_parts", "clamp",
                "compare", "bitwise", "activation", "rectifier",
            ]
        },
    ),
    "reductions": Page(
        "Ops: over a dimension",
        "Sums, norms, extremes, sorting, softmax, histograms.",
        {
            OPS: [
                "reduce", "variance", "minmax", "statistics", "scan", "sort", "softmax",
                "histogram", "histogram_dims", "trapezoid", "finite_difference", "renorm",
            ]
        },
    ),
    "products": Page(
        "Ops: products",
        "Matrix products, einsum, distances, `tinytensor.linalg` and `tinytensor.fft`.",
        {
            OPS: ["matmul", "linear", "einsum", "distance", "spectrogram"],
            "tinytensor.linalg": [],
            "tinytensor.linalg.older": [],
            "tinytensor.fft": ["tinytensor.fft"],
        },
    ),
    "special": Page(
        "Special functions",
        "`tinytensor.special`: the normal distribution, Bessel functions, polynomials.",
        {"tinytensor.special": []},
    ),
    "shape": Page(
        "Ops: shape",
        "The same elements in another order or form.",
        {
            OPS: [
                "shape", "broadcast", "partial_views", "join", "rearrange", "matrix", "pad",
                "convert", "copies", "view_copies", "combinatorics",
            ]
        },
    ),
    "indexing": Page(
        "Ops: indexing",
        "Reading and writing by index, by mask, by table.",
        {
            OPS: [
                "index", "gather", "scatter", "index_reduce", "masked", "embedding",
                "embedding_bag",
            ]
        },
    ),
    "layers": Page(
        "Ops: layers",
        "Attention, norms, dropout, recurrence, convolution, pooling.",
        {
            OPS: [
                "attention", "layer_norm", "batch_norm", "dropout", "recurrent_cell",
                "recurrent_sequence", "selective_scan", "convolution", "conv_transpose", "pooling",
                "adaptive_pooling", "fractional_pooling", "lp_pooling", "unpooling", "unfold",
                "resample", "grid_sample", REST,
            ]
        },
    ),
    "losses": Page(
        "Ops: losses",
        "Loss functions.",
        {OPS: ["loss", "cross_entropy", "distribution_loss", "margin_loss", "ctc_loss"]},
    ),
    "autograd": Page(
        "Autograd",
        "Gradients, modes, custom functions, transforms of functions, checks.",
        {
            "tinytensor.autograd": [],
            "tinytensor.autograd.forward_ad": [],
            "tinytensor.autograd.functional": ["tinytensor.func.functional"],
            "tinytensor.func": [
                "tinytensor.func.transforms", "tinytensor.func.batch_map",
                "tinytensor.func.stateless",
            ],
        },
    ),
    "nn-modules": Page(
        "nn: modules",
        "What a module is, and modules that hold others.",
        {NN: ["module", "parameter", "parameter_container", "container", "summary", "parallel"]},
    ),
    "nn-layers": Page(
        "nn: layers",
        "Linear layers, convolutions, norms, activations, pooling and padding.",
        {
            NN: [
                "linear", "embedding_bag", "adaptive_softmax", "convolution", "norm",
                "response_norm", "sync_batch_norm", "lazy", "dropout", "activation", "rrelu",
                "pooling", "fractional_pooling", "unpooling", "padding", "resample",
            ]
        },
    ),
    "nn-transformers": Page(
        "nn: transformers",
        "Attention, positions, transformers, and generation with them.",
        {
            NN: [
                "attention", "attention_masks", "tinytensor.utils.attention_capture", "position",
                "transformer_layers", "transformer", "models.seq2seq", "models.gpt", "models.bert",
                "generation.generate", "generation.sampling", "generation.beam_search",
                "generation.next_logits", "generation.fast_decode", "generation.kv_cache",
            ]
        },
    ),
    "nn-systems": Page(
        "nn: recurrent nets and other systems",
        "RNN, LSTM, GRU; residual nets, experts, Mamba, diffusion, graphs.",
        {
            NN: [
                "recurrent_base", "recurrent", "models.seq2seq_rnn", "residual", "models.experts",
                "models.mamba", "models.diffusion", "models.graph_conv", REST,
            ]
        },
    ),
    "nn-losses": Page(
        "nn: losses", "The losses as modules.", {NN: ["loss", "pair_loss"]}
    ),
    "nn-tools": Page(
        "nn: init and utils",
        "Initial values of parameters; clipping, parametrisations, packed sequences.",
        {"nn.init": [], "nn.utils": [], "nn.grad": []},
    ),
    "optim": Page(
        "Optimisers",
        "`tinytensor.optim`, `tinytensor.optim.lr_scheduler` and `tinytensor.optim.swa_utils`.",
        {
            "tinytensor.optim": [],
            "tinytensor.optim.lr_scheduler": [],
            "tinytensor.optim.swa_utils": ["nn.swa_utils"],
        },
    ),
    "data": Page(
        "Data, files, tokenizers",
        "Loading data, saving tensors, text to tokens, checkpointing.",
        {
            "tinytensor.utils.data": [],
            "tinytensor.utils.tokenizers": ["tinytensor.utils.tokenizers"],
            "tinytensor.utils.checkpoint": ["tinytensor.utils.checkpoint"],
            "tinytensor.utils.tensorboard": [],
            "tinytensor.serialize": ["tinytensor.serialize"],
        },
    ),
    "train": Page(
        "Trainer", "The training loop.", {"tinytensor.train": []}
    ),
    "graph": Page(
        "Graphs", "Pictures and pages.", {"tinytensor.graph": []}
    ),
    "sparse": Page(
        "Sparse tensors", "Matrices and tensors that are mostly zero.", {"tinytensor.sparse": []}
    ),
    "distributions": Page(
        "Distributions", "Random variables with densities.", {"tinytensor.distributions": []}
    ),
    "speed": Page(
        "Kernels, threads, profiles",
        "What decides how fast ops run.",
        {
            "tinytensor.kernels": [],
            "tinytensor.profile": [],
        },
    ),
}  # fmt: skip
