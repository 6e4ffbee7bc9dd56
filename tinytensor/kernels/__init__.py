"""Compiled versions of ops, for large float32 arrays on a CPU, and of a few other loops.

An op in `tinytensor/ops` is readable and runs anywhere. One marked `@accelerated("linear")` has
a second version in `kernels/linear.py`: functions named after the op, `linear_forward(op, …)` and
`linear_backward(op, g)`, with the arguments and results of the op's own methods. They are compiled
by Numba and run on large arrays. Adam, gradient clipping and decoding ask for their kernel with
`fast_version`.

    activation.py      gelu, silu, relu, leaky_relu
    arithmetic.py      sums of two arrays
    attention.py       scaled_dot_product_attention, tile by tile
    batch_norm.py      batch_norm in training
    convolution.py     convolutions of one or two dimensions, and their transposes
    convolution_layout.py  how these lay out images; convolution_windows.py: small images
    cross_entropy.py   cross_entropy with class numbers
    dropout.py         x·mask·scale
    embedding.py       the gradients of embedding and of indexing
    group_norm.py      group_norm and instance_norm
    layer_norm.py      layer_norm and rms_norm over the last dimensions
    linear.py          x·Wᵀ + b
    matmul.py          products of matrices
    pooling.py         max_pool
    recurrent.py       LSTM, GRU and RNN over a whole sequence; recurrent_shared.py: what they share
    selective_scan.py  the scan of Mamba
    softmax.py         softmax and log_softmax along the last dimension

    adam.py            a step of Adam, for optim/adam.py
    clip_grad.py       the norm of all gradients, for optim/clip_grad.py
    decode_block.py    one token through a GPT block, for nn/generation/fast_decode.py

    gpu/               kernels for arrays on a GPU, compiled by CuPy
    machinery/         how kernels are chosen, compiled, cached, threaded and given memory

The NumPy version of an op is the reference: tests compare each kernel with it.
`TINYTENSOR_KERNELS=numpy` or `tinytensor.set_kernels("numpy")` turns kernels off.

A kernel imports no op: it gets the op as its first argument. Ops import only `machinery`, whose
`route.py` loads a kernel's file by name when it first pays.
"""

from .machinery import blas_at_fork
from .machinery.allocator import keep_memory
from .machinery.memory import release_memory
from .machinery.route import accelerated, get_kernels, set_kernels
from .machinery.threads import get_num_threads, set_num_threads

__all__ = [
    "accelerated",
    "blas_at_fork",
    "get_kernels",
    "get_num_threads",
    "keep_memory",
    "release_memory",
    "set_kernels",
    "set_num_threads",
]
