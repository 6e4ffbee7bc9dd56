"""PyTorch's own op samples, run on tinytensor.

The wheel of PyTorch has a database with sample inputs, and inputs that must be refused, for about
640 ops. These tests run those of every op that exists here:

    database.py      the ops that both libraries have, and how to call ours
    convert.py       PyTorch's tensors, dtypes and devices as ours
    judge.py         one sample on both: values, dtypes, shapes, first and second derivatives
    kinds.py         the kinds of sample: floats, integers, 0-d and empty, in place, refused, …
    spoilt.py        samples with one argument spoilt at random, and a count of what differs
    test_spoilt.py   a limit for each kind of difference
    exceptions.py    what differs on purpose; docs/porting.md shows the same list
    measure.py       a table of the whole database: python -m tests.torch_samples.measure

The quick tests take a few samples of each op. Those marked slow take all of them.
"""
