"""uint8 images at another size: the same bytes as PyTorch's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")

CASES = list(itertools.product(("bilinear", "bicubic"), (False, True), (False, True)))


@pytest.mark.parametrize(("mode", "antialias", "align_corners"), CASES)
def test_bytes_are_those_of_pytorch(mode: str, antialias: bool, align_corners: bool) -> None:
    rng = np.random.default_rng(0)
    options = {"mode": mode, "antialias": antialias, "align_corners": align_corners}
    for channels, shape, size in itertools.product(
        (1, 3, 5), ((6, 7), (13, 40)), ((5, 5), (17, 4), (40, 70))
    ):
        image = rng.integers(0, 256, (2, channels, *shape), dtype=np.uint8)
        mine = tt.nn.functional.interpolate(tt.tensor(image), size, **options)
        theirs = torch.nn.functional.interpolate(torch.from_numpy(image), size, **options)
        assert mine.dtype == tt.uint8
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_scale_factor_and_one_colour() -> None:
    image = np.full((1, 1, 3, 3), 255, np.uint8)
    enlarged = tt.nn.functional.interpolate(tt.tensor(image), scale_factor=1.7, mode="bicubic")
    assert enlarged.shape == (1, 1, 5, 5)
    assert set(enlarged.flatten().tolist()) == {255}


@pytest.mark.parametrize(("shape", "mode"), [((1, 1, 4), "linear"), ((1, 1, 4, 4, 4), "trilinear")])
def test_other_modes_refuse_bytes(shape: tuple, mode: str) -> None:
    with pytest.raises(NotImplementedError, match="interpolate: got dtype uint8"):
        tt.nn.functional.interpolate(tt.zeros(shape, dtype=tt.uint8), 2, mode=mode)
