"""The selective scan of Mamba (S6): a linear recurrence whose coefficients depend on the input.

Each channel has a state hₜ of S numbers, which is updated by the input uₜ and read out as yₜ:

    hₜ = exp(Δₜ·A)·hₜ₋₁ + Δₜ·Bₜ·uₜ,   yₜ = Cₜ·hₜ + D·uₜ

This is the continuous system h' = A·h + B·u in steps of length Δ: A exactly, for an input that is
constant during a step (zero-order hold), B to first order. There are three forms, which agree:

    selective_scan_ref      a plain loop over time, one line for each equation
    in_doubling             log₂ L steps on whole arrays, by `linear_scan`: parallel, and with
                            derivatives of every order, but holds the states of all steps at once
    selective_scan          the fast one: chunks of steps that fit a cache, with its own backward

Letters: N samples, E channels, S numbers in the state of a channel, L steps, T steps of a chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.engine import grad
from ..autograd.mode import state
from ..autograd.op import Op
from ..backend import Array, xp
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from .activation import silu, softplus
from .dims import existing_dim
from .join import stack, unbind
from .matmul import matmul
from .pointwise import exp
from .promote import require_float, require_same_dtype
from .scan import Recurrence
from .shape import permute

if TYPE_CHECKING:
    from ..tensor import Tensor

# Numbers in a chunk of states: fewer need more calls per step, more do not fit in the cache.
CHUNK, GPU_CHUNK = 2**16, 2**24


# ------------------------------------------------------------------------------------------
# The fast scan. Arrays have time first: u, delta (L, N, E); A (S, E); B, C (L, N, S); channels
# come last in the states (N, S, E), as NumPy is fastest along a long last axis.
# ------------------------------------------------------------------------------------------


def chunks(u: Array, A: Array) -> Iterator[slice]:
    """Slices of the steps, sized so that the states of each fit a cache."""
    steps, samples, _ = u.shape
    room = CHUNK if xp(u) is np else GPU_CHUNK
    size = max(1, room // max(1, samples * A.size))
    return (slice(start, min(start + size, steps)) for start in range(0, steps, size))


def chunk_states(h: Array, u: Array, delta: Array, A: Array, B: Array) -> tuple[Array, Array]:
    """(exp(Δₜ·A), hₜ) for the steps of a chunk, both (T, N, S, E), from the state h before it."""
    decay = delta[:, :, None] * A  # (T, N, 1, E)·(S, E) → (T, N, S, E)
    xp(u).exp(decay, out=decay)
    states = (delta * u)[:, :, None] * B[..., None]  # (T, N, 1, E)·(T, N, S, 1) → (T, N, S, E)
    for t in range(len(states)):
        states[t] += decay[t] * h
        h = states[t]
    return decay, states


def scan_forward(u: Array, delta: Array, A: Array, B: Array, C: Array) -> tuple:
    """(y (L, N, E), the last state (N, S, E), [the state before each chunk, …])

    The other states are not kept: recomputing them is as fast as reading them from memory.
    """
    library = xp(u)
    h = library.zeros((u.shape[1], *A.shape), u.dtype)
    y = library.empty(u.shape, u.dtype)
    starts = []
    for some in chunks(u, A):
        starts.append(h)
        _, states = chunk_states(h, u[some], delta[some], A, B[some])
        # (T, N, 1, S) times (T, N, S, E) → (T, N, 1, E) → (T, N, E)
        y[some] = (C[some][:, :, None] @ states)[:, :, 0]
        h = states[-1].copy()
    return y, h, starts


def scan_backward(gy: Array, gh: Array, u: Array, delta: Array, A: Array, B: Array, C: Array,
                  starts: list) -> tuple:  # fmt: skip
    """du, dΔ, dA, dB, dC from the gradients gy (L, N, E) of y and gh (N, S, E) of the last state.

    λₜ, the gradient of hₜ, comes from yₜ and from the state after it: λₜ = gₜ·Cₜ + decayₜ₊₁·λₜ₊₁.
    """
    library = xp(u)
    du, ddelta = library.empty(u.shape, u.dtype), library.empty(u.shape, u.dtype)
    dB, dC = library.empty(B.shape, u.dtype), library.empty(C.shape, u.dtype)
    dA = library.zeros(A.shape, u.dtype)
    carried = gh  # decayₜ₊₁·λₜ₊₁
    for some, start in reversed(list(zip(chunks(u, A), starts))):
        x, d, g = u[some], delta[some], gy[some]  # (T, N, E)
        decay, states = chunk_states(start, x, d, A, B[some])
        dC[some] = (states @ g[..., None])[..., 0]  # (T, N, S, E) times (T, N, E, 1) → (T, N, S)

        grads = g[:, :, None] * C[some][..., None]  # λ, (T, N, 1, E)·(T, N, S, 1) → (T, N, S, E)
        for t in range(len(grads))[::-1]:
            grads[t] += carried
            decay[t] *= grads[t]
            carried = decay[t]
        carried = carried.copy()

        dB[some] = (grads @ (d * x)[..., None])[..., 0]  # (T, N, S)
        dinput = (B[some][:, :, None] @ grads)[:, :, 0]  # of Δₜ·uₜ, (T, N, E)
        du[some] = dinput * d

        dexponent = decay  # of Δₜ·A: λₜ·decayₜ, already computed, times hₜ₋₁
        dexponent[1:] *= states[:-1]
        dexponent[0] *= start
        dA += library.einsum("tnse,tne->se", dexponent, d)
        ddelta[some] = library.einsum("tnse,se->tne", dexponent, A) + dinput * x
    return du, ddelta, dA, dB, dC


def time_first(x: Array) -> Array:
    """(N, channels, L) → (L, N, channels), in memory as well."""
    return xp(x).ascontiguousarray(xp(x).moveaxis(x, 2, 0))


def time_last(x: Array) -> Array:
    """(L, N, channels) → (N, channels, L)"""
    return xp(x).moveaxis(x, 0, 2)


def _run(u: Array, delta: Array, A: Array, B: Array, C: Array) -> tuple:
    u, delta, B, C = map(time_first, (u, delta, B, C))
    return scan_forward(u, delta, A.T.copy(), B, C)


@accelerated("selective_scan")
class SelectiveScan(Op):
    """yₜ = Cₜ·hₜ, hₜ = exp(Δₜ·A)·hₜ₋₁ + Δₜ·Bₜ·uₜ, and the last h;
    du = Σ λ·B·Δ,  dB = Σ λ·Δ·u,  dC = Σ gₜ·hₜ,  dA = Σ Δ·e,  dΔ = Σ A·e + Σ λ·B·u

    λₜ = gₜ·Cₜ + exp(Δₜ₊₁·A)·λₜ₊₁ is the gradient of hₜ, and eₜ = λₜ·exp(Δₜ·A)·hₜ₋₁ that of the
    exponent Δₜ·A. u, Δ (N, E, L), A (E, S), B, C (N, S, L) → y (N, E, L), h (N, E, S).
    """

    saves = ("u", "delta", "A", "B", "C")

    def forward(self, u: Array, delta: Array, A: Array, B: Array, C: Array) -> tuple:
        y, h, _ = self.keep(_run, u, delta, A, B, C)
        return time_last(y), h.swapaxes(1, 2)  # (N, S, E) → (N, E, S)

    def backward(self, gy: Any, gh: Any) -> Any:
        u, delta, A, B, C = self.saved
        if state.mode.grad:  # the gradient is to be differentiated: use another form
            inputs = [x.clone() for x in (u, delta, A, B, C)]
            inputs = [x if x.requires_grad else x.requires_grad_() for x in inputs]
            return grad(in_doubling(*inputs), inputs, (gy, gh), create_graph=True)
        _, _, starts = self.recall(_run, u, delta, A, B, C)
        gh = gh.swapaxes(1, 2)  # (N, E, S) → (N, S, E)
        gy, u, delta, B, C = map(time_first, (gy, u, delta, B, C))
        du, ddelta, dA, dB, dC = scan_backward(gy, gh, u, delta, A.T.copy(), B, C, starts)
        return time_last(du), time_last(ddelta), dA.T, time_last(dB), time_last(dC)


# ------------------------------------------------------------------------------------------
# The other two forms
# ------------------------------------------------------------------------------------------


def in_doubling(u: Any, delta: Any, A: Any, B: Any, C: Any) -> tuple:
    """y (N, E, L) and the last h (N, E, S), with all states at once, by `linear_scan`."""
    decay = exp(delta[..., None] * A[:, None])  # (N, E, L, 1)·(E, 1, S) → (N, E, L, S)
    B, C = permute(B, (0, 2, 1)), permute(C, (0, 2, 1))  # (N, S, L) → (N, L, S)
    # (N, E, L, 1)·(N, 1, L, S) → (N, E, L, S)
    h = linear_scan(decay, (delta * u)[..., None] * B[:, None], dim=2)
    # (N, L, E, S) times (N, L, S, 1) → (N, L, E, 1) → (N, L, E) → (N, E, L)
    y = permute(matmul(permute(h, (0, 2, 1, 3)), C[..., None])[..., 0], (0, 2, 1))
    return y, h[:, :, -1]


def one_by_one(u: Any, delta: Any, A: Any, B: Any, C: Any) -> tuple:
    """y (N, E, L) and the last h (N, E, S), by a loop over time."""
    h: Any = 0.0
    outputs = []
    for ut, dt, Bt, Ct in zip(*(unbind(x, 2) for x in (u, delta, B, C))):  # (N, E) and (N, S)
        decay = exp(dt[..., None] * A)  # (N, E, 1)·(E, S) → (N, E, S)
        h = decay * h + (dt * ut)[..., None] * Bt[:, None]  # (N, E, 1)·(N, 1, S) → (N, E, S)
        outputs.append((h * Ct[:, None]).sum(axis=-1))  # (N, E, S)·(N, 1, S) → (N, E)
    return stack(outputs, 2), h


# ------------------------------------------------------------------------------------------
# Functions
# ------------------------------------------------------------------------------------------


def linear_scan(a: Tensor, b: Tensor, dim: int = -1) -> Tensor:
    """hₜ = aₜ·hₜ₋₁ + bₜ along `dim`, from h = 0: a linear recurrence, in log₂ L steps.

    a and b have the same shape. Two steps in a row, h → c·(a·h + b) + d, are again of the form
    a·h + b; so all pairs of steps are combined at once, then all fours, and so on.
    """
    require_float("linear_scan", a)
    require_same_dtype("linear_scan", "b", b, a)
    if tuple(a.shape) != tuple(b.shape):
        raise ShapeError(
            f"linear_scan: a has shape {tuple(a.shape)}, b {tuple(b.shape)}, expected the same"
        )
    return Recurrence.apply(a, b, existing_dim("linear_scan", dim, a.ndim))


def selective_scan(
    u: Tensor,
    delta: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    D: Tensor | None = None,
    z: Tensor | None = None,
    delta_bias: Tensor | None = None,
    delta_softplus: bool = False,
    return_last_state: bool = False,
) -> Any:
    """yₜ = Cₜ·hₜ + D·uₜ, hₜ = exp(Δₜ·A)·hₜ₋₁ + Δₜ·Bₜ·uₜ, from h = 0; times silu(z) if z is given.

    u, delta, z: (N, E, L), a sequence of L steps for each of E channels. A: (E, S), negative for a
    state that decays. B, C: (N, S, L). D, delta_bias: (E).
    Δ = delta + delta_bias; delta_softplus: Δ = log(1 + exp(delta + delta_bias)), above 0.

    Returns y (N, E, L); with return_last_state also h after the last step, (N, E, S).
    """
    return _scan(SelectiveScan.apply, "selective_scan", u, delta, A, B, C, D, z, delta_bias,
                 delta_softplus, return_last_state)  # fmt: skip


def selective_scan_ref(
    u: Tensor,
    delta: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    D: Tensor | None = None,
    z: Tensor | None = None,
    delta_bias: Tensor | None = None,
    delta_softplus: bool = False,
    return_last_state: bool = False,
) -> Any:
    """As `selective_scan`, by a plain loop over time: the readable reference."""
    return _scan(one_by_one, "selective_scan_ref", u, delta, A, B, C, D, z, delta_bias,
                 delta_softplus, return_last_state)  # fmt: skip


def _scan(core: Any, name: str, u: Any, delta: Any, A: Any, B: Any, C: Any, D: Any, z: Any,
          delta_bias: Any, delta_softplus: bool, return_last_state: bool) -> Any:  # fmt: skip
    """Run one form of the scan, with bias, softplus, D and gate."""
    _check(name, u, {"delta": delta, "A": A, "B": B, "C": C, "D": D, "z": z,
                     "delta_bias": delta_bias})  # fmt: skip
    if delta_bias is not None:
        delta = delta + delta_bias[:, None]  # (N, E, L) + (E, 1)
    if delta_softplus:
        delta = softplus(delta)
    y, h = core(u, delta, A, B, C)
    if D is not None:
        y = y + D[:, None] * u  # (E, 1)·(N, E, L)
    if z is not None:
        y = y * silu(z)
    return (y, h) if return_last_state else y


def _check(name: str, u: Any, others: dict) -> None:
    """Refuse shapes that do not match, and mixed dtypes."""
    require_float(name, u)
    shape = tuple(u.shape)
    if len(shape) != 3 or not shape[2]:
        raise ShapeError(f"{name}: u has shape {shape}, expected (N, E, L), with at least one step")
    samples, channels, steps = shape
    size = others["A"].shape[-1] if others["A"].ndim else 0
    expected = {"delta": shape, "A": (channels, size), "B": (samples, size, steps),
                "C": (samples, size, steps), "D": (channels,), "z": shape,
                "delta_bias": (channels,)}  # fmt: skip
    for what, tensor in others.items():
        if tensor is None:
            continue
        if tuple(tensor.shape) != expected[what]:
            raise ShapeError(
                f"{name}: {what} has shape {tuple(tensor.shape)}, expected {expected[what]}, for "
                f"u (N, E, L) = {shape} and states of {size} numbers"
            )
        require_same_dtype(name, what, tensor, u)


__all__ = ["linear_scan", "selective_scan", "selective_scan_ref"]
