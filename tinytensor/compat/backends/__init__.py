"""Flags of the libraries that PyTorch runs on. Setting them is accepted and has no effect.

cuda.py        products and attention on NVIDIA GPUs
cudnn.py       cuDNN
mkl.py         Intel's MKL
mkldnn.py      Intel's oneDNN
mps.py         Apple's GPUs
openmp.py      OpenMP
opt_einsum.py  the order of contractions in einsum
"""

from . import cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
