"""Finds the BLAS that NumPy has loaded: its matrix product and its number of threads."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

# Builds of OpenBLAS name their functions differently: scipy_cblas_sgemm64_ in NumPy's wheels.
NAMES = [f"{before}%s{after}" for before in ("", "scipy_") for after in ("", "64_", "_64")]


class Blas(NamedTuple):
    """A BLAS in this process.

    product        the address of its `cblas_sgemm`
    get_threads    returns its number of threads
    set_threads    sets its number of threads
    """

    product: int
    get_threads: Callable[[], int]
    set_threads: Callable[[int], Any]


@functools.cache
def find_blas() -> Blas | None:
    """Return the first library with a `cblas_sgemm`; None if NumPy was built without BLAS."""
    for library, get_threads, set_threads in _libraries():
        for name in NAMES:
            product = getattr(library, name % "cblas_sgemm", None)
            if product is not None:
                address = ctypes.cast(product, ctypes.c_void_p).value
                assert address is not None
                return Blas(address, get_threads, set_threads)
    return None


def _openblas_threads(library: Any) -> Iterator[tuple[Callable[[], int], Callable[[int], Any]]]:
    """Yield (get, set) of the number of threads, if the library is a build of OpenBLAS."""
    for name in NAMES:
        get, set = (
            getattr(library, name % f"openblas_{do}_num_threads", None) for do in ("get", "set")
        )
        if get is not None and set is not None:
            yield get, set


def _libraries() -> Iterator[tuple[Any, Callable[[], int], Callable[[int], Any]]]:
    """Yield (library, get, set its number of threads) for each possible BLAS, NumPy's first."""
    try:
        import threadpoolctl
    except ImportError:
        # Libraries linked with NumPy's core are found through it; not on Windows.
        library = ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
        for get, set in _openblas_threads(library):
            yield library, get, set
        return
    found = threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers
    for controller in sorted(found, key=lambda c: "numpy" not in c.filepath):
        library = controller.dynlib
        # OpenBLAS's own functions: threadpoolctl's affect one thread of the process only.
        for get, set in _openblas_threads(library):
            yield library, get, set
            break
        else:
            yield library, controller.get_num_threads, controller.set_num_threads
    accelerate = ctypes.util.find_library("Accelerate") if sys.platform == "darwin" else None
    if accelerate is not None:  # NumPy's BLAS on newer Macs; its threads cannot be set
        yield ctypes.CDLL(accelerate), lambda: 1, lambda number: None
