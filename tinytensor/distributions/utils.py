"""Parameters of distributions: broadcasting, probabilities and logits, packed triangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.settings import enable_grad
from ..create import arange, full, randn, tensor
from ..dtype import finfo, get_default_dtype, int64
from ..ops import broadcast_tensors, cat, sigmoid, softmax, tril_indices
from ..tensor import Tensor

euler_constant = 0.57721566490153286060


class lazy_property:
    """A property that is computed on first use, and then stored in the instance.

    It is computed with gradients also under no_grad, because later uses may need them. Up to
    Python 3.11, `functools.cached_property` computes under a lock. A child forked during that time
    would wait for the lock forever.
    """

    def __init__(self, compute: Callable[[Any], Any]):
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.compute(instance)
        vars(instance)[self.compute.__name__] = value
        return value


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Broadcast numbers and tensors to tensors of one shape."""
    for v in values:
        if not isinstance(v, (Tensor, int, float)):
            raise ValueError(
                f"broadcast_all: got a parameter of type {type(v).__name__}, expected tensors or "
                "numbers"
            )
    tensors = [v for v in values if isinstance(v, Tensor)]
    dtype = tensors[0].dtype if tensors else get_default_dtype()
    device = tensors[0].device if tensors else None
    made = [v if isinstance(v, Tensor) else tensor(v, dtype=dtype, device=device)
            for v in values]  # fmt: skip
    return tuple(broadcast_tensors(*made))


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from logits: sigmoid if is_binary, else softmax over the last dimension."""
    return sigmoid(logits) if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities to [eps, 1 − eps], so that their logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """log p, or log(p / (1 − p)) if is_binary; finite also for p = 0 and p = 1."""
    probs = clamp_probs(probs)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


def one_of(name: str, probs: Any, logits: Any) -> Any:
    """probs or logits, whichever is given."""
    if (probs is None) == (logits is None):
        raise ValueError(f"{name}: Either `probs` or `logits` must be specified, but not both.")
    return logits if probs is None else probs


def sum_rightmost(value: Tensor, count: int) -> Tensor:
    """The sum over the last `count` dimensions."""
    return value.sum(tuple(range(-count, 0))) if count else value


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Draw from N(0, 1); a private name of PyTorch that libraries of Gaussian processes import."""
    return randn(tuple(shape), dtype=dtype, device=device)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below the diagonal number `diag`, row by row: (…, D, D) → (…, N)."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"tril_matrix_to_vec: got diag={diag}, expected {-n} to {n - 1}")
    rows, columns = tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of tril_matrix_to_vec, with zeros elsewhere: (…, N) → (…, D, D)."""
    count, n, filled = vec.shape[-1], max(0, -diag), 0
    while filled < count:
        n += 1
        filled = sum(min(n, max(0, row + 1 + diag)) for row in range(n))
    rows, columns = tril_indices(n, n, diag)
    if filled != count:
        raise ValueError(
            f"vec_to_tril_matrix: got {count} elements, which do not fill a triangle of a square "
            "matrix"
        )
    # each element of the matrix takes one of vec, or the 0 appended to it
    place = full((n, n), count, dtype=int64, device=vec.device)
    place[rows, columns] = arange(count, device=vec.device)
    padded = cat([vec, vec.new_zeros((*vec.shape[:-1], 1))], -1)
    return padded[..., place]  # (…, N + 1) → (…, D, D)


__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]
