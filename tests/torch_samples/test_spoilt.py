"""Samples with a spoilt argument: refused here if PyTorch refuses them, or the same result.

Each kind of difference has a limit in per cent, somewhat above what was measured. It may only get
lower. `python -m tests.torch_samples.spoilt` shows what differs.
"""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of this test")

from .database import known_ops
from .exceptions import reason_for
from .spoilt import judge, spoil, ways_for

LIMITS = {"other result": 0.3, "computed here": 1.3, "refused here": 1.0, "other error": 0.6}


def shares(samples: int, every: int) -> dict[str, float]:
    """How many per cent of the cases differ in each way, for one op of `every`."""
    count: Counter[str] = Counter()
    for name in sorted(known_ops())[::every]:
        for kind, _, message in judge(known_ops()[name], samples, 0):
            listed = kind != "agree" and reason_for(name, "float64", message) is not None
            count["agree" if listed else kind] += 1
    return {kind: 100 * n / count.total() for kind, n in count.items()}


def too_many(found: dict[str, float]) -> dict[str, float]:
    return {kind: share for kind, share in found.items() if share > LIMITS.get(kind, 100)}


def test_few_spoilt_samples_differ() -> None:
    found = shares(samples=2, every=4)
    assert found["agree"] > 90
    assert not too_many(found), found


@pytest.mark.slow
def test_few_of_all_spoilt_samples_differ() -> None:
    found = shares(samples=8, every=1)
    assert not too_many(found), found


def test_every_kind_of_argument_is_spoilt() -> None:
    import random

    import torch

    rng = random.Random(0)
    for value in (torch.ones(2, 3), True, 3, 1.5, "mean", [1, 2], (2, 3)):
        for _ in range(20):
            changed = spoil(value, rng)
            assert changed is not None
            assert changed[0] in ways_for(value)
    assert spoil(None, rng) is None
