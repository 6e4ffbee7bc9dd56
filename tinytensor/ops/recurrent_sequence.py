"""A recurrent layer through all its steps as one op: long sequences without a node for each step.

One step is written in recurrent_cell.py. Here it runs for T steps, in forward and, from the last to
the first, in backward. x (T, N, in) are the inputs, w_ih (G·H, in), w_hh (G·H, H) and
b (G·H) the weights of G gates, one below the other.

sizes[t] is the number of sequences that run at step t: the first ones, as in a packed batch. One
that has ended keeps its state. None: all run to the end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.engine import grad
from ..autograd.mode import state
from ..autograd.op import Op
from ..backend import Array, sum_over, xp
from ..errors import ShapeError
from ..kernels.machinery.route import accelerated
from .join import cat, stack
from .linear import linear
from .promote import require_float, require_same_dtype
from .rectifier import keep_where, relu
from .recurrent_cell import gru_step, gru_values, lstm_step, lstm_values
from .trigonometry import tanh

if TYPE_CHECKING:
    from ..tensor import Tensor


def through_steps(step_by_step: Callable, inputs: tuple, gradients: tuple) -> tuple:
    """The gradients of the inputs by differentiable single steps, to be differentiated again."""
    copies = [None if x is None else x.clone() for x in inputs]
    given = [x if x.requires_grad else x.requires_grad_() for x in copies if x is not None]
    found = iter(grad(step_by_step(*copies), given, gradients, create_graph=True))
    return tuple(None if x is None else next(found) for x in copies)


def running(sizes: Sequence[int] | None, x: Any) -> Sequence[int]:
    """The number of sequences that run at each step of x (T, N, in)."""
    return [x.shape[1]] * x.shape[0] if sizes is None else sizes


def with_ended(new: Any, old: Any) -> Any:
    """The states `new` of the sequences that run, and below them the old ones of the others."""
    count = new.shape[0]
    return new if count == old.shape[0] else cat([new, old[count:]])


def room_for_states(x: Array, h: Array) -> Array:
    """An array (T + 1, N, H) for the states before the first step and after each; h is the first"""
    states = xp(x).empty((x.shape[0] + 1, *h.shape), x.dtype)
    states[0] = h
    return states


def as_rows(x: Array) -> Array:
    """(T, N, size) → (T·N, size)"""
    return x.reshape(-1, x.shape[-1])


def weight_gradient(dz: Array, x: Array) -> Array:
    """Σ dzₜᵀ·xₜ: (T, N, G·H) and (T, N, in) → (G·H, in)"""
    return as_rows(dz).T @ as_rows(x)


def bias_gradient(dz: Array) -> Array:
    """Σ dzₜ: (T, N, G·H) → (G·H)"""
    return sum_over(as_rows(dz), (0,))


# ------------------------------------------------------------------------------------------
# LSTM
# ------------------------------------------------------------------------------------------


def _lstm_by_step(sizes: Any, x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b: Any) -> tuple:
    """All h (T, N, H) and the last c, one step after the other."""
    outputs = []
    for z, n in zip(linear(x, w_ih, b), running(sizes, x), strict=True):
        new_h, new_c = lstm_step(z[:n] + linear(h[:n], w_hh), c[:n])
        h, c = with_ended(new_h, h), with_ended(new_c, c)
        outputs.append(h)
    return stack(outputs), c


def _lstm_run(sizes: Any, x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, b: Array | None
              ) -> tuple:  # fmt: skip
    """`lstm_values` of each step; h and c (T + 1, N, H) before the first step and after each"""
    states, cells = room_for_states(x, h), room_for_states(x, c)
    values = []
    for t, (z, n) in enumerate(zip(linear(x, w_ih, b), running(sizes, x), strict=True)):
        values.append(lstm_values(z[:n] + states[t, :n] @ w_hh.T, cells[t, :n]))
        _, _, _, o, new, squashed = values[t]
        states[t + 1], cells[t + 1] = states[t], cells[t]
        states[t + 1, :n], cells[t + 1, :n] = o * squashed, new
    return values, states, cells


@accelerated("recurrent")
class LstmSequence(Op):
    """y, k = all h and the last c;  dx = dz·w_ih,  dh, dc = those of the first step,
    dw_ih = Σ dzₜᵀ·xₜ,  dw_hh = Σ dzₜᵀ·hₜ₋₁,  db = Σ dzₜ

    hₜ, cₜ = LstmStep of zₜ and cₜ₋₁, for t = 1 … T, zₜ = w_ih·xₜ + w_hh·hₜ₋₁ + b, from h and c;
    dzₜ is LstmStep's. x (T, N, in), h and c (N, H) → y (T, N, H), k (N, H).
    """

    saves = ("x", "h", "c", "w_ih", "w_hh", "b")

    def forward(self, x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, b: Array | None,
                sizes: Sequence[int] | None) -> tuple:  # fmt: skip
        self.sizes = sizes
        _, states, cells = self.keep(_lstm_run, sizes, x, h, c, w_ih, w_hh, b)
        return states[1:].copy(), cells[-1].copy()

    def backward(self, gy: Any, gk: Any) -> Any:
        x, h, c, w_ih, w_hh, b = self.saved
        if state.mode.grad:
            by_step = functools.partial(_lstm_by_step, self.sizes)
            return through_steps(by_step, (x, h, c, w_ih, w_hh, b), (gy, gk))
        values, states, cells = self.recall(_lstm_run, self.sizes, x, h, c, w_ih, w_hh, b)
        dz = xp(x).zeros((*x.shape[:2], w_ih.shape[0]), x.dtype)  # (T, N, 4H)
        dh, dc = xp(x).zeros_like(h), gk.copy()
        for t, n in reversed([*enumerate(running(self.sizes, x))]):
            i, f, g, o, _, squashed = values[t]
            dh += gy[t]
            gh = dh[:n]
            s = dc[:n] + gh * o * (1 - squashed * squashed)
            parts = (i * (1 - i) * s * g, f * (1 - f) * s * cells[t, :n], (1 - g * g) * s * i,
                     o * (1 - o) * gh * squashed)  # fmt: skip
            xp(x).concatenate(parts, axis=-1, out=dz[t, :n])  # 4 × (n, H) → (n, 4H)
            dh[:n], dc[:n] = dz[t, :n] @ w_hh, s * f
        dw_ih, dw_hh = weight_gradient(dz, x), weight_gradient(dz, states[:-1])
        return dz @ w_ih, dh, dc, dw_ih, dw_hh, bias_gradient(dz)


def lstm_sequence(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b: Tensor | None = None,
    batch_sizes: Sequence[int] | None = None,
) -> tuple[Tensor, Tensor]:
    """(h after each step (T, N, H), c after the last (N, H)) of an LSTM that starts from h and c.

    The arguments are those of `lstm_cell`, with a step for each of x (T, N, in) and one bias.
    batch_sizes: how many sequences run at each step, decreasing; the others keep their state.
    """
    _check("lstm_sequence", 4, x, {"h": h, "c": c}, w_ih, w_hh, {"b": b}, batch_sizes)
    return LstmSequence.apply(x, h, c, w_ih, w_hh, b, batch_sizes)


# ------------------------------------------------------------------------------------------
# GRU
# ------------------------------------------------------------------------------------------


def _gru_by_step(sizes: Any, x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    """All h (T, N, H), one step after the other."""
    outputs = []
    for z, n in zip(linear(x, w_ih, b_ih), running(sizes, x), strict=True):
        h = with_ended(gru_step(z[:n], linear(h[:n], w_hh, b_hh), h[:n]), h)
        outputs.append(h)
    return stack(outputs)


def _gru_run(sizes: Any, x: Array, h: Array, w_ih: Array, w_hh: Array, b_ih: Array | None,
             b_hh: Array | None) -> tuple:  # fmt: skip
    """r, u, n and sₙ (T, N, H) of all steps, and h (T + 1, N, H) before the first and after each"""
    states, size = room_for_states(x, h), h.shape[1]
    values = xp(x).zeros((4, len(x), *h.shape), x.dtype)
    for t, (z, count) in enumerate(zip(linear(x, w_ih, b_ih), running(sizes, x), strict=True)):
        before = states[t, :count]
        s = linear(before, w_hh, b_hh)
        r, u, n = gru_values(z[:count], s)
        for value, place in zip((r, u, n, s[:, 2 * size :]), values, strict=True):
            place[t, :count] = value
        states[t + 1] = states[t]
        states[t + 1, :count] = n + u * (before - n)
    return *values, states


@accelerated("recurrent")
class GruSequence(Op):
    """y = all h;  dx = dz·w_ih, dh = that of the first step,
    dw_ih = Σ dzₜᵀ·xₜ,  dw_hh = Σ dsₜᵀ·hₜ₋₁,  db_ih = Σ dzₜ,  db_hh = Σ dsₜ

    hₜ = GruStep of zₜ, sₜ and hₜ₋₁, for t = 1 … T, zₜ = w_ih·xₜ + b_ih, sₜ = w_hh·hₜ₋₁ + b_hh, from
    h; dzₜ and dsₜ are what GruStep calls dx and dy. x (T, N, in), h (N, H) → y (T, N, H).
    """

    saves = ("x", "h", "w_ih", "w_hh", "b_ih", "b_hh")

    def forward(self, x: Array, h: Array, w_ih: Array, w_hh: Array, b_ih: Array | None,
                b_hh: Array | None, sizes: Sequence[int] | None) -> Array:  # fmt: skip
        self.sizes = sizes
        *_, states = self.keep(_gru_run, sizes, x, h, w_ih, w_hh, b_ih, b_hh)
        return states[1:].copy()

    def backward(self, gy: Any) -> Any:
        x, h, w_ih, w_hh, b_ih, b_hh = self.saved
        if state.mode.grad:
            by_step = functools.partial(_gru_by_step, self.sizes)
            return through_steps(by_step, (x, h, w_ih, w_hh, b_ih, b_hh), (gy,))
        r, u, n, sn, states = self.recall(_gru_run, self.sizes, x, h, w_ih, w_hh, b_ih, b_hh)
        before, size = states[:-1], h.shape[1]
        # The factors of n̄, ū and r̄ that do not depend on later steps, for all steps at once.
        to_n, to_u, to_r = (1 - u) * (1 - n * n), (before - n) * u * (1 - u), sn * r * (1 - r)
        dn, dh = xp(x).zeros(n.shape, x.dtype), xp(x).zeros_like(h)
        ds = xp(x).zeros((*x.shape[:2], w_hh.shape[0]), x.dtype)  # (T, N, 3H)
        for t, count in reversed([*enumerate(running(self.sizes, x))]):
            dh += gy[t]
            now = t, slice(count)
            g = dh[:count]
            dn[now] = g * to_n[now]
            parts = dn[now] * to_r[now], g * to_u[now], dn[now] * r[now]
            xp(x).concatenate(parts, axis=-1, out=ds[now])  # 3 × (n, H) → (n, 3H)
            dh[:count] = ds[now] @ w_hh + g * u[now]
        dz = ds.copy()
        dz[..., 2 * size :] = dn
        dw_ih, dw_hh = weight_gradient(dz, x), weight_gradient(ds, before)
        return dz @ w_ih, dh, dw_ih, dw_hh, bias_gradient(dz), bias_gradient(ds)


def gru_sequence(
    x: Tensor,
    h: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    batch_sizes: Sequence[int] | None = None,
) -> Tensor:
    """h after each step (T, N, H) of a GRU that starts from h.

    The arguments are those of `gru_cell`, with a step for each of x (T, N, in); batch_sizes as in
    `lstm_sequence`.
    """
    _check("gru_sequence", 3, x, {"h": h}, w_ih, w_hh, {"b_ih": b_ih, "b_hh": b_hh}, batch_sizes)
    return GruSequence.apply(x, h, w_ih, w_hh, b_ih, b_hh, batch_sizes)


# ------------------------------------------------------------------------------------------
# RNN
# ------------------------------------------------------------------------------------------


def _rnn_by_step(nonlinearity: str, sizes: Any, x: Any, h: Any, w_ih: Any, w_hh: Any, b: Any
                 ) -> Any:  # fmt: skip
    """All h (T, N, H), one step after the other."""
    outputs = []
    for z, n in zip(linear(x, w_ih, b), running(sizes, x), strict=True):
        z = z[:n] + linear(h[:n], w_hh)
        h = with_ended(tanh(z) if nonlinearity == "tanh" else relu(z), h)
        outputs.append(h)
    return stack(outputs)


def _rnn_run(nonlinearity: str, sizes: Any, x: Array, h: Array, w_ih: Array, w_hh: Array,
             b: Array | None) -> Array:  # fmt: skip
    """h (T + 1, N, H) before the first step and after each"""
    states = room_for_states(x, h)
    for t, (z, n) in enumerate(zip(linear(x, w_ih, b), running(sizes, x), strict=True)):
        z = z[:n] + states[t, :n] @ w_hh.T
        states[t + 1] = states[t]
        states[t + 1, :n] = tanh(z) if nonlinearity == "tanh" else relu(z)
    return states


@accelerated("recurrent")
class RnnSequence(Op):
    """y = all h;  dx = dz·w_ih, dh = that of the first step,
    dw_ih = Σ dzₜᵀ·xₜ,  dw_hh = Σ dzₜᵀ·hₜ₋₁,  db = Σ dzₜ

    hₜ = tanh zₜ, or max(0, zₜ), for t = 1 … T, zₜ = w_ih·xₜ + w_hh·hₜ₋₁ + b, from h.
    dzₜ = gₜ·(1 − hₜ²), or gₜ where hₜ > 0, else 0; gₜ is all that comes to hₜ, from outside and
    from the next step, dzₜ₊₁·w_hh. x (T, N, in), h (N, H) → y (T, N, H).
    """

    saves = ("x", "h", "w_ih", "w_hh", "b")

    def forward(self, x: Array, h: Array, w_ih: Array, w_hh: Array, b: Array | None,
                nonlinearity: str, sizes: Sequence[int] | None) -> Array:  # fmt: skip
        self.settings = nonlinearity, sizes
        return self.keep(_rnn_run, nonlinearity, sizes, x, h, w_ih, w_hh, b)[1:].copy()

    def backward(self, gy: Any) -> Any:
        x, h, w_ih, w_hh, b = self.saved
        if state.mode.grad:
            by_step = functools.partial(_rnn_by_step, *self.settings)
            return through_steps(by_step, (x, h, w_ih, w_hh, b), (gy,))
        states = self.recall(_rnn_run, *self.settings, x, h, w_ih, w_hh, b)
        nonlinearity, sizes = self.settings
        dz, dh = xp(x).zeros(gy.shape, x.dtype), xp(x).zeros_like(h)  # (T, N, H), (N, H)
        for t, n in reversed([*enumerate(running(sizes, x))]):
            dh += gy[t]
            g, y = dh[:n], states[t + 1, :n]
            # not y > 0: g passes where y is NaN
            dz[t, :n] = g * (1 - y * y) if nonlinearity == "tanh" else keep_where(~(y <= 0), g)
            dh[:n] = dz[t, :n] @ w_hh
        dw_ih, dw_hh = weight_gradient(dz, x), weight_gradient(dz, states[:-1])
        return dz @ w_ih, dh, dw_ih, dw_hh, bias_gradient(dz)


def rnn_sequence(
    x: Tensor,
    h: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b: Tensor | None = None,
    nonlinearity: str = "tanh",
    batch_sizes: Sequence[int] | None = None,
) -> Tensor:
    """h after each step (T, N, H) of an RNN that starts from h.

    The arguments are those of `rnn_tanh_cell`, or with nonlinearity="relu" of `rnn_relu_cell`, with
    a step for each of x (T, N, in) and one bias; batch_sizes as in `lstm_sequence`.
    """
    check_nonlinearity("rnn_sequence", nonlinearity)
    _check("rnn_sequence", 1, x, {"h": h}, w_ih, w_hh, {"b": b}, batch_sizes)
    return RnnSequence.apply(x, h, w_ih, w_hh, b, nonlinearity, batch_sizes)


# ------------------------------------------------------------------------------------------
# Checks
# ------------------------------------------------------------------------------------------


def check_nonlinearity(name: str, nonlinearity: str) -> None:
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"{name}: got nonlinearity={nonlinearity!r}, expected 'tanh' or 'relu'")


def _check(name: str, gates: int, x: Any, states: dict, w_ih: Any, w_hh: Any, biases: dict,
           sizes: Sequence[int] | None) -> None:  # fmt: skip
    """Refuse shapes that do not go together, and mixed dtypes."""
    require_float(name, x)
    shape, size = tuple(x.shape), w_hh.shape[-1]
    if len(shape) != 3 or not shape[0]:
        raise ShapeError(f"{name}: x has shape {shape}, expected (T, N, in), at least one step")
    if sizes is not None:
        falling = [shape[1], *sizes, 1]
        if len(sizes) != shape[0] or falling != sorted(falling, reverse=True):
            raise ValueError(
                f"{name}: got batch_sizes {list(sizes)}, expected {shape[0]} numbers from "
                f"{shape[1]} to 1, decreasing, for x (T, N, in) = {shape}"
            )
    expected: dict[str, tuple] = dict.fromkeys(states, (shape[1], size))
    expected |= {"w_ih": (gates * size, shape[2]), "w_hh": (gates * size, size)}
    expected |= dict.fromkeys(biases, (gates * size,))
    for what, tensor in {**states, "w_ih": w_ih, "w_hh": w_hh, **biases}.items():
        if tensor is None:
            continue
        if tuple(tensor.shape) != expected[what]:
            raise ShapeError(
                f"{name}: {what} has shape {tuple(tensor.shape)}, expected {expected[what]}, for "
                f"x (T, N, in) = {shape} and w_hh {tuple(w_hh.shape)}"
            )
        require_same_dtype(name, what, tensor, x, autocasts=True)


__all__ = ["gru_sequence", "lstm_sequence", "rnn_sequence"]
