"""keep_memory: lets the C library keep the memory of freed large arrays.

By default glibc takes the memory of a large array from the system and gives it back when the array
is freed. A training step frees and allocates the same arrays again and again, and the system fills
each new page with zeros first.
"""

from __future__ import annotations

import ctypes
import sys

# Parameters of mallopt, from <malloc.h>
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST_ON_HEAP = 32 * 2**20  # the largest value that glibc accepts for M_MMAP_THRESHOLD
HIGHEST = 2**31 - 1  # the largest C int


def keep_memory() -> bool:
    """Let the C library keep the memory of freed arrays, up to 32 MB each, for the next ones.

    Call it at the start of a training program; docs/performance.md has figures. The process stays
    as large as its largest step. The setting affects the whole process, other libraries included,
    until it ends, so it is never the default. Returns False where it has no effect: only glibc, the
    C library of most Linux systems, supports it.

        import tinytensor as tt

        tt.keep_memory()
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None:
        return False
    settings = {
        M_MMAP_THRESHOLD: LARGEST_ON_HEAP,  # smaller arrays live on the heap
        M_TRIM_THRESHOLD: HIGHEST,  # the heap is never trimmed
    }
    done = [mallopt(name, value) for name, value in settings.items()]
    return all(done)
