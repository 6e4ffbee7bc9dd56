"""A recurrent layer through all its steps as one op: long sequences without a node for each step.

What happens at a step is in recurrent.py. Here the same goes on for T steps, in forward and, from
the last to the first, in backward. x (T, N, in) are the inputs, w_ih (G·H, in), w_hh (G·H, H) and
b (G·H) the weights of G gates, one below the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.engine import grad
from ..autograd.mode import state
from ..autograd.op import Op
from ..backend import Array, xp
from ..errors import ShapeError
from ..kernels.route import accelerated
from .join import stack
from .linear import linear
from .promote import require_float, require_same_dtype
from .recurrent import lstm_step, lstm_values

if TYPE_CHECKING:
    from ..tensor import Tensor


def through_steps(step_by_step: Callable, inputs: tuple, gradients: tuple) -> tuple:
    """The gradients of the inputs, to be differentiated again: those of the single steps."""
    copies = [x.clone() for x in inputs if x is not None]
    copies = [x if x.requires_grad else x.requires_grad_() for x in copies]
    return grad(step_by_step(*copies), copies, gradients, create_graph=True)


def as_rows(x: Array) -> Array:
    """(T, N, size) → (T·N, size)"""
    return x.reshape(-1, x.shape[-1])


# ------------------------------------------------------------------------------------------
# LSTM
# ------------------------------------------------------------------------------------------


def _lstm_by_step(x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b: Any = None) -> tuple:
    """All h (T, N, H) and the last c, one step after the other."""
    outputs = []
    for z in linear(x, w_ih, b):
        h, c = lstm_step(z + linear(h, w_hh), c)
        outputs.append(h)
    return stack(outputs), c


def _lstm_run(x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, b: Array | None) -> tuple:
    """What `lstm_values` gives at each step, and h (T + 1, N, H) before the first and after each"""
    states = xp(x).empty((x.shape[0] + 1, *h.shape), x.dtype)
    states[0] = h
    values = []
    for t, z in enumerate(linear(x, w_ih, b)):
        values.append(lstm_values(z + states[t] @ w_hh.T, c))
        _, _, _, o, c, squashed = values[t]
        states[t + 1] = o * squashed
    return values, states


@accelerated("recurrent")
class LstmSequence(Op):
    """y, k = all h and the last c;  dx = dz·w_ih,  dh, dc = those of the first step,
    dw_ih = Σ dzₜᵀ·xₜ,  dw_hh = Σ dzₜᵀ·hₜ₋₁,  db = Σ dzₜ

    hₜ, cₜ = LstmStep of zₜ and cₜ₋₁, for t = 1 … T, zₜ = w_ih·xₜ + w_hh·hₜ₋₁ + b, from h and c;
    dzₜ is LstmStep's. x (T, N, in), h and c (N, H) → y (T, N, H), k (N, H).
    """

    saves = ("x", "h", "c", "w_ih", "w_hh", "b")

    def forward(self, x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, b: Array | None
                ) -> tuple:  # fmt: skip
        values, states = self.keep(_lstm_run, x, h, c, w_ih, w_hh, b)
        return states[1:].copy(), values[-1][4]

    def backward(self, gy: Any, gk: Any) -> Any:
        x, h, c, w_ih, w_hh, b = self.saved
        if state.mode.grad:
            return through_steps(_lstm_by_step, (x, h, c, w_ih, w_hh, b), (gy, gk))
        values, states = self.recall(_lstm_run, x, h, c, w_ih, w_hh, b)
        dz = xp(x).empty((*x.shape[:2], w_ih.shape[0]), x.dtype)  # (T, N, 4H)
        dh, dc = 0, gk
        for t in range(len(x))[::-1]:
            i, f, g, o, _, squashed = values[t]
            before = c if t == 0 else values[t - 1][4]
            gh = gy[t] + dh
            s = dc + gh * o * (1 - squashed * squashed)
            parts = (s * g * i * (1 - i), s * before * f * (1 - f), s * i * (1 - g * g),
                     gh * squashed * o * (1 - o))  # fmt: skip
            xp(x).concatenate(parts, axis=-1, out=dz[t])  # 4 × (N, H) → (N, 4H)
            dh, dc = dz[t] @ w_hh, s * f
        rows = as_rows(dz)
        dw_ih, dw_hh = rows.T @ as_rows(x), rows.T @ as_rows(states[:-1])
        return dz @ w_ih, dh, dc, dw_ih, dw_hh, rows.sum(axis=0)


def lstm_sequence(
    x: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor, b: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(h after each step (T, N, H), c after the last (N, H)) of an LSTM that starts from h and c.

    The arguments are those of `lstm_cell`, with a step for each of x (T, N, in) and one bias.
    """
    _check("lstm_sequence", 4, x, {"h": h, "c": c}, w_ih, w_hh, b)
    return LstmSequence.apply(x, h, c, w_ih, w_hh, b)


def _check(name: str, gates: int, x: Any, states: dict, w_ih: Any, w_hh: Any, b: Any) -> None:
    """Refuse shapes that do not go together, and mixed dtypes."""
    require_float(name, x)
    shape, size = tuple(x.shape), w_hh.shape[-1]
    if len(shape) != 3 or not shape[0]:
        raise ShapeError(f"{name}: x has shape {shape}, expected (T, N, in), at least one step")
    expected: dict[str, tuple] = dict.fromkeys(states, (shape[1], size))
    expected |= {"w_ih": (gates * size, shape[2]), "w_hh": (gates * size, size)}
    expected |= {"b": (gates * size,)}
    for what, tensor in {**states, "w_ih": w_ih, "w_hh": w_hh, "b": b}.items():
        if tensor is None:
            continue
        if tuple(tensor.shape) != expected[what]:
            raise ShapeError(
                f"{name}: {what} has shape {tuple(tensor.shape)}, expected {expected[what]}, for "
                f"x (T, N, in) = {shape} and w_hh {tuple(w_hh.shape)}"
            )
        require_same_dtype(name, what, tensor, x)


__all__ = ["lstm_sequence"]
