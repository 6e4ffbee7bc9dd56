"""Flags of the libraries that PyTorch runs on. Setting them is accepted and changes nothing."""

from . import cuda, cudnn, mkl, mps

__all__ = ["cuda", "cudnn", "mkl", "mps"]
