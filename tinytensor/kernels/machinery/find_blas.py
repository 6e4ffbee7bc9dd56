"""The BLAS that NumPy has loaded: where its matrix product is, and how its threads are counted."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

# OpenBLAS is built under many names: NumPy's wheels have scipy_cblas_sgemm64_, for one.
NAMES = [f"{before}%s{after}" for before in ("", "scipy_") for after in ("", "64_", "_64")]


class Blas(NamedTuple):
    """A BLAS in this process.

    product        the address of its `cblas_sgemm`
    get_threads    how many threads it uses
    set_threads    has it use so many
    """

    product: int
    get_threads: Callable[[], int]
    set_threads: Callable[[int], Any]


@functools.cache
def find_blas() -> Blas | None:
    """The first library with a `cblas_sgemm`; None if there is none, as in a NumPy without BLAS."""
    for library, get_threads, set_threads in _libraries():
        for name in NAMES:
            product = getattr(library, name % "cblas_sgemm", None)
            if product is not None:
                address = ctypes.cast(product, ctypes.c_void_p).value
                assert address is not None
                return Blas(address, get_threads, set_threads)
    return None


def _openblas_threads(library: Any) -> Iterator[tuple[Callable[[], int], Callable[[int], Any]]]:
    """(get the number of threads, set it), if the library is OpenBLAS under one of its names."""
    for name in NAMES:
        get, set = (
            getattr(library, name % f"openblas_{do}_num_threads", None) for do in ("get", "set")
        )
        if get is not None and set is not None:
            yield get, set


def _libraries() -> Iterator[tuple[Any, Callable[[], int], Callable[[int], Any]]]:
    """(library, get its number of threads, set it) of each that may be a BLAS, NumPy's first."""
    try:
        import threadpoolctl
    except ImportError:
        # What NumPy's core is linked with is found through it; not on Windows.
        library = ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
        for get, set in _openblas_threads(library):
            yield library, get, set
        return
    found = threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers
    for controller in sorted(found, key=lambda c: "numpy" not in c.filepath):
        library = controller.dynlib
        # OpenBLAS's own, as threadpoolctl's listen to one thread of the process only.
        for get, set in _openblas_threads(library):
            yield library, get, set
            break
        else:
            yield library, controller.get_num_threads, controller.set_num_threads
    accelerate = ctypes.util.find_library("Accelerate") if sys.platform == "darwin" else None
    if accelerate is not None:  # NumPy's on newer Macs; it shares the work out as it likes
        yield ctypes.CDLL(accelerate), lambda: 1, lambda number: None
