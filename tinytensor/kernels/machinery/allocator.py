"""Large arrays and the C library: a program may ask it to keep the memory of freed ones.

By default glibc takes the memory of a large array from the system and gives it back when the array
is freed. A training step frees and makes the same arrays again and again, and each new page is
filled with zeros by the system first.
"""

from __future__ import annotations

import ctypes
import sys

# Numbers of the settings, from <malloc.h>
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST_ON_HEAP = 32 * 2**20  # the most that glibc takes for M_MMAP_THRESHOLD
HIGHEST = 2**31 - 1  # of a C int


def keep_memory() -> bool:
    """Let the C library keep the memory of freed arrays up to 32 MB, for the next ones.

    It is for training, as the first line of a program. A step of a small transformer took a quarter
    less time with it, one of a convolutional network half; the process stays as large as its
    largest step. It holds for all that the process does, other libraries too, until its end, so it
    is never done unasked. Returns whether it was done: only glibc, the C library of most Linux
    systems, knows of it.

        import tinytensor as tt

        tt.keep_memory()
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None:
        return False
    settings = {
        M_MMAP_THRESHOLD: LARGEST_ON_HEAP,  # arrays below it live on the heap
        M_TRIM_THRESHOLD: HIGHEST,  # of which no end is given back
    }
    done = [mallopt(name, value) for name, value in settings.items()]
    return all(done)
