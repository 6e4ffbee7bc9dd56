"""Profile a program: time by op and by module, forward and backward.

    python -m tinytensor.profile script.py its arguments …      a table, and profile.svg

    with profile() as times:
        train()
    print(times.table())
    times.save_svg("profile.svg")

Inside the block each op's `forward` and `backward`, and each optimiser's `step`, are replaced by
timed versions. Outside it nothing is replaced, so nothing costs time.

measure.py      profile(): replaces the methods, and puts them back
times.py        Times: the measured seconds, their sums, and the table
flame_graph.py  the flame graph, as one SVG file
__main__.py     the command
profiler.py     the same with PyTorch's names (torch.profiler)
"""

from .measure import profile
from .times import Entry, Times

__all__ = ["Entry", "Times", "profile"]
