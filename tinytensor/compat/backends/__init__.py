"""Flags of the libraries that PyTorch runs on. Setting them is accepted and has no effect.

cuda.py   products and attention on NVIDIA GPUs
cudnn.py  cuDNN
mkl.py    Intel's MKL
mps.py    Apple's GPUs
"""

from . import cuda, cudnn, mkl, mps

__all__ = ["cuda", "cudnn", "mkl", "mps"]
