"""Differential fuzzing: random calls of every accelerated op, compared with PyTorch.

values.py     sizes and numbers, drawn at random
layouts.py    the same numbers in another memory layout
cases.py      which ops, and how their arguments are drawn
theirs.py     PyTorch's version of ops that it has under no name of its own
judge.py      what counts as a difference
run.py        python -m tests.fuzz.run --count 10000 --seed 0 --op linear
test_fuzz.py  some cases in every run of the tests, 20,000 in the slow ones
"""

import os

# Threads of OpenMP that spin between its calls would slow PyTorch's, which take turns with kernels.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
