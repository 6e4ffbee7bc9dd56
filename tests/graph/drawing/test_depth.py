"""Plain against residual networks: the norms by layer, and their picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import nn
import nn.functional as F
import tinytensor as tt
from tinytensor.graph.drawing.depth import compare_depth

SVG = "{http://www.w3.org/2000/svg}"


def test_gradients_vanish_without_skips_only(tmp_path: Path) -> None:
    result = compare_depth(24, tmp_path / "depth.svg", width=16)
    assert len(result.plain) == len(result.residual) == 24
    assert result.plain[0] < 1e-4 * result.plain[-1]
    assert result.residual[0] > 0.1 * result.residual[-1]
    assert (tmp_path / "depth.svg").read_text() == result.svg == result._repr_svg_()
    lines = str(result).splitlines()
    assert len(lines) == 25 and lines[0].split() == ["layer", "plain", "residual"]


def test_norms_are_those_of_backward() -> None:
    """The same network by hand, with the same random numbers."""
    state = tt.get_rng_state()
    result = compare_depth(3, width=4, batch=5, seed=7)
    assert (tt.get_rng_state() == state).all()  # the user's are left alone
    tt.manual_seed(7)
    layers = [nn.Linear(4, 4) for _ in range(3)]
    h, target = tt.randn(5, 4), tt.randn(5, 4)
    for layer in layers:
        h = h + layer(h).tanh()
    F.mse_loss(h, target).backward()
    norms = [
        np.sqrt(sum(float((p.grad**2).sum()) for p in layer.parameters() if p.grad is not None))
        for layer in layers
    ]
    np.testing.assert_allclose(result.residual, norms, rtol=1e-5)


@pytest.mark.parametrize("depth", [1, 2, 40])
def test_the_picture_has_a_bar_for_each_layer_of_both(depth: int) -> None:
    root = ET.fromstring(compare_depth(depth, width=4, batch=4).svg)
    background, *bars = root.iter(f"{SVG}rect")
    assert len(bars) == 2 * depth
    assert all(0 <= float(bar.get("width", "-1")) <= 360 for bar in bars)
    assert float(background.get("height", "0")) > 18 * depth


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="compare_depth: got depth=0, expected at least 1"):
        compare_depth(0)
    with pytest.raises(OSError, match=r"graph: cannot write .*depth\.svg"):
        compare_depth(1, tmp_path / "none" / "depth.svg", width=2)
