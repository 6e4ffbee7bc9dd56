"""Module.compile: accepted, without effect."""

from __future__ import annotations

import tinytensor as tt


def test_a_module_compiles_in_place() -> None:
    layer = tt.nn.Linear(2, 2)
    before = layer(tt.ones(1, 2)).tolist()
    assert layer.compile(mode="max-autotune", fullgraph=True) is None
    assert layer(tt.ones(1, 2)).tolist() == before
