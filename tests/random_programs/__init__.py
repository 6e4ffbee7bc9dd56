"""Random programs of views, in-place writes and backward passes, run here and in PyTorch.

program     a program's lines, and running them in one library
generator   writes a program line by line, with PyTorch running along
views, computations, writes, passes   the statements that a program is made of
compare     what must be equal after a program has run in both
shrink      drops the lines that a difference does not need
run         `python -m tests.random_programs.run --count 100000 --seed 0`
"""
