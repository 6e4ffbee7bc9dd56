"""torch.utils.benchmark: how long a statement takes.

timer.py         Timer, with timeit, blocked_autorange and adaptive_autorange
measurement.py   Measurement: the times, their median and spread; Compare: a table of several
"""

from .measurement import Compare, Measurement, TaskSpec
from .timer import Timer, timer

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "timer"]
