"""Mutations that change no result, with the reason; they are left out and counted separately.

An entry is (file, function, before → after, place among those that read the same): reason. Only
what no test of results could ever notice belongs here, not what a test is tedious to write for.
"""

from __future__ import annotations

from .mutations import Key

SMALLER_PRODUCT = "x·xᵀ or xᵀ·x: the result is the same, the choice only saves work"

EQUIVALENT: dict[Key, str] = {
    ("tinytensor/optim/muon.py", "orthogonalized", "0 → 1", 0): SMALLER_PRODUCT,
    ("tinytensor/optim/muon.py", "orthogonalized", "1 → 0", 0): SMALLER_PRODUCT,
    (
        "tinytensor/ops/selective_scan.py",
        "_run",
        "A.T.copy() → A.T",
        0,
    ): "A is only read: the copy puts it in the order in memory in which it is read",
    (
        "tinytensor/linalg/products.py",
        "_exponential",
        "-2 → -1",
        0,
    ): "the largest row sum is as good a norm as the largest column sum: it only sets how often "
    "the matrix is halved, and the result squared",
}
