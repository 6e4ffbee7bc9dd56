"""embedding_bag with all its options, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nn.functional as F
import tinytensor as tt

DTYPES = {"float64": (1e-10, 1e-12), "float32": (1e-5, 1e-6)}


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, Any, Any, dict]:
    rng = np.random.default_rng(seed)
    rows, width = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    table = rng.normal(size=(rows, width))
    if seed % 9 == 0:
        table = np.round(table)  # equal maxima
    options: dict = {"mode": ["sum", "mean", "max"][seed % 3]}
    offsets = None
    if seed % 2:
        index = rng.integers(0, rows, size=(rng.integers(1, 4), rng.integers(1, 6)))
    else:
        index = rng.integers(0, rows, size=rng.integers(0, 10))
        offsets = np.sort(rng.integers(0, len(index) + 1, size=rng.integers(1, 5)))
        offsets[0] = 0
        if seed % 4 == 0:
            options["include_last_offset"] = True
            offsets = np.append(offsets, len(index))
    factors = rng.normal(size=index.shape) if seed % 6 == 3 else None
    if seed % 7 == 0:
        options["padding_idx"] = int(rng.integers(-rows, rows))
    if seed % 13 == 0:
        options["max_norm"] = 1.0
    return table, index, offsets, factors, options


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(40))
def test_same_as_pytorch(seed: int, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    table, index, offsets, factors, options = random_case(seed)
    results = []
    for library in (tt, torch):
        functional = F if library is tt else torch.nn.functional
        weight = library.tensor(table.astype(dtype), requires_grad=True)
        scale = None
        if factors is not None:
            scale = library.tensor(factors.astype(dtype), requires_grad=True)
        places = None if offsets is None else library.tensor(offsets)
        y = functional.embedding_bag(
            library.tensor(index), weight, places, per_sample_weights=scale, **options
        )
        g = np.random.default_rng(1).normal(size=tuple(y.shape)).astype(dtype)
        (y * library.tensor(g)).sum().backward()
        found = [y, weight.grad, weight] + ([] if scale is None else [scale.grad])
        results.append([x.detach().numpy() for x in found])
    rtol, atol = DTYPES[dtype]
    for ours, theirs in zip(*results):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_scale_grad_by_freq(mode: str) -> None:
    """Gradients are divided by how often a row occurs; PyTorch divides by another row's number."""
    index, offsets = tt.tensor([3, 2, 1, 1, 1, 2, 2, 0]), tt.tensor([0, 5])
    weight = tt.randn(5, 2, dtype=tt.float64, requires_grad=True)
    F.embedding_bag(index, weight, offsets, mode=mode).sum().backward()
    plain, weight.grad = weight.grad, None
    F.embedding_bag(index, weight, offsets, mode=mode, scale_grad_by_freq=True).sum().backward()
    counts = np.array([1, 3, 3, 1, 1])[:, None]
    np.testing.assert_allclose(weight.grad.numpy(), plain.numpy() / counts)


REFUSED: dict[str, tuple[dict, type, str]] = {
    "offsets of rows": ({"input": [[1, 2]], "offsets": [0]}, ValueError, "expected None"),
    "no offsets": ({"input": [1, 2]}, ValueError, "without offsets"),
    "three dimensions": ({"input": [[[1]]]}, ValueError, "1 or 2 dimensions"),
    "not from 0": ({"input": [1, 2], "offsets": [1]}, RuntimeError, "expected from 0"),
    "too far": ({"input": [1, 2], "offsets": [0, 3]}, RuntimeError, "at most 2"),
    "mode": ({"input": [[1]], "mode": "min"}, ValueError, "got mode 'min'"),
    "index": ({"input": [[7]]}, RuntimeError, "index 7 is out of range"),
    "floats": ({"input": [[0.5]]}, RuntimeError, "expected integers"),
    "weights": (
        {"input": [[1]], "per_sample_weights": [[1.0]]},
        NotImplementedError,
        "expected mode 'sum'",
    ),
    "max": ({"input": [[1]], "mode": "max", "scale_grad_by_freq": True}, ValueError, "'max'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    given, error, message = REFUSED[case]
    given = {k: tt.tensor(v) if isinstance(v, list) else v for k, v in given.items()}
    with pytest.raises(error, match=message):
        F.embedding_bag(weight=tt.randn(5, 2), **given)
