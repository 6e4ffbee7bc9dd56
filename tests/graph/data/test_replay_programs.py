"""As test_replay, on the random programs that are compared with PyTorch elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

pytest.importorskip("hypothesis")
pytest.importorskip("torch", reason="the generator of programs is made for comparisons with it")
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ...test_programs import NAMES, OPS, PROGRAMS, SHAPES, Choices, Program, _broadcasts
from .test_replay import check


def run(arrays: list[np.ndarray], program: Program) -> tuple[Any, list]:
    """The sum of all values of a program, and its inputs."""
    inputs = [tt.tensor(a, requires_grad=True) for a in arrays]
    pool = list(inputs)
    for op, choice in program:
        c = Choices(choice)
        x = pool[c.integer(0, len(pool))]
        partners = [t for t in pool if _broadcasts(x, t) and max(x.ndim, t.ndim) <= 4]
        y = partners[c.integer(0, len(partners))]
        result = OPS[NAMES[op % len(NAMES)]](tt, c, x, y)
        if result.numel() <= 500:
            pool.append(result)
    loss = pool[-1].sum()
    for value in pool[:-1]:
        loss = loss + value.mean() if value.numel() else loss
    return loss, inputs


@settings(
    max_examples=150, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(shapes=st.lists(SHAPES, min_size=1, max_size=3), program=PROGRAMS)
def test_programs(shapes: list[tuple[int, ...]], program: Program) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-1.5, 1.5, shape) for shape in shapes]
    loss, _ = run(arrays, program)
    assume(loss.requires_grad)
    check(lambda: run(arrays, program))
