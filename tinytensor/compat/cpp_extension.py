"""torch.utils.cpp_extension, in name only: extensions in C++ and CUDA need PyTorch."""

from __future__ import annotations

from typing import Any, NoReturn

CUDA_HOME = None


def _missing(name: str) -> NoReturn:
    raise NotImplementedError(
        f"cpp_extension.{name}: extensions in C++ or CUDA need PyTorch itself; write the op in "
        "Python, as docs/adding_an_op.md shows"
    )


def load(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError."""
    _missing("load")


def load_inline(name: str, cpp_sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError."""
    _missing("load_inline")


def CppExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError."""
    _missing("CppExtension")


def CUDAExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError."""
    _missing("CUDAExtension")


class BuildExtension:
    """The build command of PyTorch's setup.py; making one raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any):
        _missing("BuildExtension")

    with_options = classmethod(lambda cls, **options: cls)


__all__ = ["BuildExtension", "CUDAExtension", "CppExtension", "load", "load_inline"]
