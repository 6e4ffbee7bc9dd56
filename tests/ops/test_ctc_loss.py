"""ctc_loss against PyTorch and against a sum over all alignments."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import nn.functional as F
import tinytensor as tt

DTYPES = {"float64": (1e-9, 1e-11), "float32": (1e-3, 1e-5)}


def by_enumeration(log_probs: np.ndarray, target: list[int], blank: int) -> float:
    """−log Σ over every path through the classes that reads as the target."""
    frames, classes = log_probs.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=frames):
        merged = [c for c, _ in itertools.groupby(path)]
        if [c for c in merged if c != blank] == target:
            total += math.exp(sum(log_probs[t, c] for t, c in enumerate(path)))
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("target", [[], [1], [1, 2], [1, 1], [2, 1, 2], [2, 2, 2]], ids=str)
@pytest.mark.parametrize("blank", [0, 3])
def test_sum_over_alignments(target: list[int], blank: int) -> None:
    x = np.random.default_rng(0).normal(size=(5, 4))
    target = [c - 1 if blank == 3 else c for c in target]
    log_probs = tt.tensor(x).log_softmax(1)
    labels = tt.tensor(target, dtype=tt.int64)
    loss = F.ctc_loss(log_probs, labels, (5,), (len(target),), blank, reduction="sum")
    assert loss.item() == pytest.approx(by_enumeration(log_probs.numpy(), target, blank))


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, Any, Any, dict]:
    rng = np.random.default_rng(seed)
    frames, samples, classes = rng.integers(1, 12), rng.integers(1, 5), rng.integers(2, 7)
    blank = int(rng.integers(0, classes))
    inputs = rng.integers(0 if seed % 5 == 0 else 1, frames + 1, size=samples)
    lengths = rng.integers(0, 6, size=samples)
    targets = rng.integers(0, classes - 1, size=(samples, max(int(lengths.max()), 1)))
    targets += targets >= blank
    if seed % 4 == 1:  # one after the other
        targets = np.concatenate([row[:n] for row, n in zip(targets, lengths)])
    options = {"blank": blank, "reduction": ["mean", "sum", "none"][seed % 3]}
    options["zero_infinity"] = bool(seed % 2)
    x = rng.normal(size=(frames, samples, classes))
    return x, targets, inputs, lengths, options


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(24))
def test_same_as_pytorch(seed: int, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x, targets, inputs, lengths, options = random_case(seed)
    results = []
    for library in (tt, torch):
        functional = F if library is tt else torch.nn.functional
        leaf = library.tensor(x.astype(dtype), requires_grad=True)
        log_probs = leaf.log_softmax(2) if seed % 7 else leaf  # also what is not normalised
        sizes = [library.tensor(n) if seed % 2 else tuple(map(int, n)) for n in (inputs, lengths)]
        loss = functional.ctc_loss(log_probs, library.tensor(targets), *sizes, **options)
        (loss * 1.5).sum().backward()
        results.append((loss.detach().numpy(), leaf.grad.numpy()))
    rtol, atol = DTYPES[dtype]
    for ours, theirs in zip(*results):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


def test_without_a_batch() -> None:
    x = tt.randn(6, 4).log_softmax(1)
    target = tt.tensor([1, 3])
    one = F.ctc_loss(x, target, tt.tensor(6), tt.tensor(2), reduction="none")
    batch = F.ctc_loss(x.unsqueeze(1), target.unsqueeze(0), (6,), (2,), reduction="none")
    assert one.shape == () and one.item() == batch.item()


def test_no_second_derivative() -> None:
    x = tt.randn(4, 1, 3, requires_grad=True)
    loss = F.ctc_loss(x.log_softmax(2), tt.tensor([[1]]), (4,), (1,))
    (g,) = tt.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(NotImplementedError, match="ctc_loss"):
        g.sum().backward()


REFUSED = {
    "frames": ({"input_lengths": (9, 4)}, RuntimeError, "at most T = 5"),
    "count": ({"input_lengths": (5,)}, RuntimeError, "got 1 input_lengths, expected 2"),
    "negative": ({"target_lengths": (-1, 2)}, RuntimeError, "expected at least 0"),
    "blank": ({"blank": 4}, RuntimeError, "got blank 4, expected 0 to 3"),
    "label": ({"targets": [[1, 4], [1, 2]]}, RuntimeError, "label 4"),
    "short": ({"targets": [[1], [1]]}, RuntimeError, "S at least 2"),
    "concatenated": ({"targets": [1, 2, 3]}, RuntimeError, "expected 4"),
    "reduction": ({"reduction": "all"}, ValueError, "got reduction 'all'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    change, error, message = REFUSED[case]
    given: dict = {"targets": [[1, 2], [3, 1]], "input_lengths": (5, 4), "target_lengths": (2, 2)}
    given |= change
    given["targets"] = tt.tensor(given["targets"])
    with pytest.raises(error, match=message):
        F.ctc_loss(tt.randn(5, 2, 4), **given)
