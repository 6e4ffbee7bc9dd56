"""The lock around loading kernels, and the list of guards that a fork holds.

Importing Numba takes a second. A child forked while another thread does so could never import it:
Python's lock of the module would stay locked there.
"""

from __future__ import annotations

import functools
import threading

from ...fork import Guard, HeldLock, at_fork

loading = threading.RLock()
guards: list[Guard] = [HeldLock(loading)]  # thread_pool.py adds the pool and Numba's locks
at_fork(guards)


@functools.cache
def hold_before_logging() -> None:
    """Make a fork take these locks before that of `logging`, which Numba takes inside them.

    Python calls the handlers registered last first, so these are registered after those of logging.
    (Importing tinytensor does not import logging, as that takes a while.)
    """
    with loading:
        import logging  # noqa: F401

        at_fork(guards)
