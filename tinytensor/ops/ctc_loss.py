"""ctc_loss: −log p(labels | frames), summed over all alignments of the labels with the frames.

The labels l₁ … l_S become 2·S + 1 states: blank l₁ blank l₂ … l_S blank. An alignment visits one
state per frame, starts in one of the first two, ends in one of the last two, and goes on by 0, 1 or
2 states; by 2 only from a label to the next one, if it is another label. The sums over alignments
run in log space, one frame at a time, for all samples and states at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..autograd.arguments import array_of, check_flags
from ..autograd.op import Op
from ..autograd.variable import unwrap
from ..backend import Array, xp
from ..errors import ShapeError
from .clamp import where
from .loss_reduction import reduce_loss
from .parse_index import outside
from .promote import require_float

if TYPE_CHECKING:
    from ..tensor import Tensor


class States(NamedTuple):
    """The states of each sample: (N, K) arrays, K = 2·(longest target) + 1, and lengths (N)."""

    labels: Array  # the class of each state; blank where a sample has fewer states
    skips: Array  # whether the state may follow the one two before it
    counts: Array  # how many states a sample has
    frames: Array  # how many frames a sample has


class CTC(Op):
    """y = −log Σ Π pₜ over the alignments;  dx = g·(eˣ − γ)

    x (T, N, C) are log-probabilities; γ[t, c] is the probability that frame t is at class c, given
    the labels. The term eˣ is the gradient through a normalisation of x: log_softmax, which the
    loss expects to follow, maps it to 0. It is PyTorch's gradient, too.
    """

    saves = ("x", "out")
    op_name = "ctc_loss"

    def forward(self, x: Array, states: States, zero_infinity: bool) -> Array:
        self.states, self.zero_infinity = states, zero_infinity
        alpha = self.keep(prefixes, x, states)
        library = xp(x)
        samples = library.arange(x.shape[1])
        last = library.maximum(states.frames - 1, 0)
        final = alpha[last, samples, states.counts - 1]
        before = alpha[last, samples, library.maximum(states.counts - 2, 0)]
        total = library.where(states.counts > 1, library.logaddexp(final, before), final)
        empty = library.where(states.counts == 1, 0.0, -np.inf)  # without frames
        return -library.where(states.frames > 0, total, empty).astype(x.dtype)

    def backward(self, g: Any) -> Any:
        x, y = self.saved
        alpha = self.recall(prefixes, unwrap(x), self.states)
        return CTCGradient.apply(g, x, unwrap(y), alpha, self.states, self.zero_infinity)


class CTCGradient(Op):
    """y = x·(eᵖ − γ), the gradient of CTC;  dx = refused: there is no second derivative"""

    op_name = "ctc_loss_gradient"

    def forward(
        self, x: Array, log_probs: Array, loss: Array, alpha: Array, states: States,
        zero_infinity: bool,
    ) -> Array:  # fmt: skip
        library = xp(log_probs)
        beta = suffixes(log_probs, states)
        frames, _, classes = log_probs.shape
        inside = library.arange(frames)[:, None] < states.frames  # (T, N)
        # log of the probability of being at each class: a sum over the states that have it
        both = alpha + beta  # (T, N, K)
        top = both.max(axis=2, keepdims=True)
        top = library.where(top == -np.inf, 0, top)
        one_hot = states.labels[:, :, None] == library.arange(classes)  # (N, K, C)
        sums = library.matmul(
            library.exp(both - top).transpose(1, 0, 2), one_hot.astype(log_probs.dtype)
        ).transpose(1, 0, 2)  # (N, T, K) · (N, K, C) → (T, N, C)
        occupancy = library.log(sums) + top
        y = library.exp(log_probs) - library.exp(occupancy + loss[:, None] - log_probs)
        y = y * x[:, None]
        if zero_infinity:
            inside = inside & (loss != np.inf)
        return library.where(inside[:, :, None], y, 0).astype(log_probs.dtype, copy=False)

    def backward(self, g: Any) -> Any:
        raise NotImplementedError("ctc_loss: its gradient has no derivative, in PyTorch neither")


def prefixes(x: Array, states: States) -> Array:
    """alpha[t, n, s] = log Σ Π p over the alignments of frames 0 … t that end in state s."""
    library = xp(x)
    emitted = _emitted(x, states)  # (T, N, K)
    alpha = library.full(emitted.shape, -np.inf, x.dtype)
    if not x.shape[0]:
        return alpha
    alpha[0, :, :2] = emitted[0, :, :2]
    for t in range(1, x.shape[0]):
        a = alpha[t - 1]
        total = a.copy()
        total[:, 1:] = library.logaddexp(total[:, 1:], a[:, :-1])
        skipped = library.where(states.skips[:, 2:], a[:, :-2], -np.inf)
        total[:, 2:] = library.logaddexp(total[:, 2:], skipped)
        alpha[t] = total + emitted[t]
    return alpha


def suffixes(x: Array, states: States) -> Array:
    """beta[t, n, s] = log Σ Π p over the alignments of frames t … that begin in state s."""
    library = xp(x)
    emitted = _emitted(x, states)
    beta = library.full(emitted.shape, -np.inf, x.dtype)
    number = library.arange(emitted.shape[2])
    counts = states.counts[:, None]
    ends = (number == counts - 1) | (number == counts - 2)  # (N, K): the last two states
    b = library.full(emitted.shape[1:], -np.inf, x.dtype)
    for t in reversed(range(x.shape[0])):
        total = b.copy()
        total[:, :-1] = library.logaddexp(total[:, :-1], b[:, 1:])
        skipped = library.where(states.skips[:, 2:], b[:, 2:], -np.inf)
        total[:, :-2] = library.logaddexp(total[:, :-2], skipped)
        first = (states.frames - 1 == t)[:, None]  # samples whose last frame is t
        total = library.where(first, library.where(ends, 0.0, -np.inf), total)
        b = beta[t] = (total + emitted[t]).astype(x.dtype, copy=False)
    return beta


def _emitted(x: Array, states: States) -> Array:
    """log p of each state's class at each frame, (T, N, K); −∞ beyond a sample's last state."""
    library = xp(x)
    found = x[:, library.arange(x.shape[1])[:, None], states.labels]
    inside = library.arange(states.labels.shape[1]) < states.counts[:, None]
    return library.where(inside, found, -np.inf).astype(x.dtype, copy=False)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """−log p(targets | log_probs) over all alignments (connectionist temporal classification).

    log_probs (T, N, C) or (T, C), as from log_softmax. targets: labels other than blank, padded
    (N, S), or one after the other in one dimension; (S) without a batch. input_lengths,
    target_lengths: (N), tensors or tuples of ints. zero_infinity: targets that do not fit into
    their frames have loss and gradient 0, not ∞ and NaN. reduction "mean": each loss is divided by
    its target length (at least 1), then averaged over the batch.
    """
    if type(zero_infinity) is not bool:
        check_flags("ctc_loss", zero_infinity=zero_infinity)
    name = "ctc_loss"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{name}: got reduction {reduction!r}, expected 'none', 'mean' or 'sum'")
    require_float(name, log_probs)
    single = array_of(name, log_probs).ndim == 2
    if log_probs.ndim not in (2, 3):
        raise ShapeError(
            f"{name}: got log_probs of shape {tuple(log_probs.shape)}, expected (T, N, C) or (T, C)"
        )
    probabilities = log_probs.reshape((log_probs.shape[0], 1, -1)) if single else log_probs
    frames, samples, classes = probabilities.shape
    if samples == 0:
        raise RuntimeError(f"{name}: got a batch of 0 samples, expected at least 1")
    library = xp(unwrap(log_probs))
    input_sizes = _lengths(name, "input_lengths", input_lengths, samples)
    sizes = _lengths(name, "target_lengths", target_lengths, samples)
    if input_sizes.max() > frames:
        raise RuntimeError(
            f"{name}: got input_lengths up to {input_sizes.max()}, expected at most T = {frames}"
        )
    if not 0 <= blank < classes:
        raise RuntimeError(f"{name}: got blank {blank}, expected 0 to {classes - 1}")
    padded = _padded(name, array_of(name, targets), sizes, single, blank, classes)
    states = _states(library, padded, sizes, input_sizes, blank)
    loss = CTC.apply(probabilities, states, zero_infinity)  # (N)
    if zero_infinity:
        loss = where(loss == np.inf, 0.0, loss)
    if reduction == "mean":
        divisor = library.asarray(np.maximum(sizes, 1).astype(unwrap(loss).dtype))
        return (loss / divisor).mean()
    loss = reduce_loss(loss, reduction)
    return loss.reshape(()) if single and reduction == "none" else loss


def _lengths(name: str, what: str, given: Any, samples: int) -> np.ndarray:
    """(N) lengths, as an int64 array on the CPU."""
    array = unwrap(given)
    if hasattr(array, "get"):  # CuPy
        array = array.get()
    lengths = np.asarray(array)
    if lengths.dtype.kind not in "iu" and lengths.size:
        raise RuntimeError(f"{name}: got {what} of dtype {lengths.dtype}, expected integers")
    lengths = lengths.reshape(-1).astype(np.int64)
    if lengths.size != samples:
        raise RuntimeError(f"{name}: got {lengths.size} {what}, expected {samples}, one per sample")
    if lengths.min() < 0:
        raise RuntimeError(f"{name}: got {what} {lengths.min()}, expected at least 0")
    return lengths


def _padded(
    name: str, targets: Array, sizes: np.ndarray, single: bool, blank: int, classes: int
) -> np.ndarray:
    """The targets as (N, longest), with blanks after each target's end."""
    if targets.dtype.kind not in "iu" and targets.size:
        raise RuntimeError(f"{name}: got targets of dtype {targets.dtype}, expected int64 or int32")
    if hasattr(targets, "get"):
        targets = targets.get()
    longest, samples = int(sizes.max()), len(sizes)
    inside = np.arange(longest) < sizes[:, None]  # (N, longest)
    padded = np.full((samples, longest), blank, np.int64)
    if targets.ndim == 1 and (not single or targets.size == sizes.sum()):
        if targets.size != sizes.sum():
            raise RuntimeError(
                f"{name}: got {targets.size} targets in one dimension, expected {sizes.sum()}, the "
                "sum of target_lengths"
            )
        padded[inside] = targets
    else:
        rows = targets.reshape(1, -1) if single and targets.ndim == 1 else targets
        if rows.ndim != 2 or rows.shape[0] != samples or rows.shape[1] < longest:
            raise RuntimeError(
                f"{name}: got targets of shape {tuple(targets.shape)}, expected ({samples}, S) "
                f"with S at least {longest}, the largest of target_lengths"
            )
        padded[inside] = rows[:, :longest][inside]
    wrong = outside(padded, 0, classes)
    if wrong is not None:
        raise RuntimeError(f"{name}: got label {wrong} in targets, expected 0 to {classes - 1}")
    return padded


def _states(
    library: Any, padded: np.ndarray, sizes: np.ndarray, frames: np.ndarray, blank: int
) -> States:
    samples, longest = padded.shape
    labels = np.full((samples, 2 * longest + 1), blank, np.int64)
    labels[:, 1::2] = padded
    skips = np.zeros(labels.shape, bool)
    skips[:, 2:] = (labels[:, 2:] != labels[:, :-2]) & (np.arange(2, labels.shape[1]) % 2 == 1)
    return States(*map(library.asarray, (labels, skips, 2 * sizes + 1, frames)))


__all__ = ["ctc_loss"]
