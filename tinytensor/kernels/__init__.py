"""Faster versions of ops, for large float32 arrays on a CPU, compiled by Numba.

The ops in `tinytensor/ops` explain themselves, run anywhere, and are what runs below a size at
which a kernel pays. Those marked `@accelerated("linear")` have a second version in
`kernels/linear.py`: functions named after the op, `linear_forward(op, …)` and `linear_backward(op,
g)`, which take and return what the op's own methods do. Nothing else knows about kernels.

    route.py        the mark, and which version runs
    compile.py      Numba's settings, and the line that tells of a compilation
    cache.py        compiled kernels on disk; fingerprint.py: what they depend on
    hold_signals.py Ctrl-C waits for Numba
    share_out.py    a kernel's work, in parts, for the threads of the pool
    numba_pool.py   these threads: Numba's, and those of a forked child
    pool.py         one thread pool: BLAS held to one thread inside of kernels; forks wait for them
    loading.py      the lock around loading kernels
    find_blas.py    the BLAS that NumPy has loaded; blas_at_fork.py: in a forked child
    blas.py         matrix products inside a kernel, by that BLAS
    product.py      and our own, for matrices that take part in many; tile.py: its inner loop
    memory.py       memory of results, used again
    vector_math.py  exp and its kin, in a form that vectorises
    gpu/            the same for arrays on a GPU, compiled by CuPy

    TINYTENSOR_KERNELS=numpy, or tinytensor.set_kernels("numpy")    turns them off
"""

from . import blas_at_fork
from .memory import release_memory
from .route import accelerated, get_kernels, set_kernels
from .threads import get_num_threads, set_num_threads

__all__ = [
    "accelerated",
    "blas_at_fork",
    "get_kernels",
    "get_num_threads",
    "release_memory",
    "set_kernels",
    "set_num_threads",
]
