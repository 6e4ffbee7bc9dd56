"""The lock around loading kernels, and what else a fork waits for once there are some.

Importing Numba takes a second. A child that is forked while another thread does so could never
import it: Python's lock on a module that is being imported stays locked there.
"""

from __future__ import annotations

import functools
import threading

from ...fork import Guard, HeldLock, at_fork

loading = threading.RLock()
guards: list[Guard] = [HeldLock(loading)]  # the pool adds itself, and Numba's locks
at_fork(guards)


@functools.cache
def hold_before_logging() -> None:
    """Let a fork take these before the lock of `logging`, which Numba needs inside of them.

    Python calls first what was registered last, so this is after logging registered its own.
    (Importing tinytensor does not import logging, as that takes a while.)
    """
    with loading:
        import logging  # noqa: F401

        at_fork(guards)
