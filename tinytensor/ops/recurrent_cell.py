"""One step of a recurrent network: RNN, LSTM and GRU cells.

input (N, in) and a state (N, H) give the next state; w_ih (G·H, in) and w_hh (G·H, H) hold the
weights of G gates, one below the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.op import Op
from ..backend import Array
from .join import cat
from .linear import linear
from .pointwise import sigmoid
from .rectifier import relu
from .trigonometry import tanh

if TYPE_CHECKING:
    from ..tensor import Tensor


def _blocks(x: Any, count: int) -> list:
    """The `count` equal parts of the last dimension: (…, count·H) → count times (…, H)."""
    size = x.shape[-1] // count
    return [x[..., i * size : (i + 1) * size] for i in range(count)]


# ------------------------------------------------------------------------------------------
# LSTM
# ------------------------------------------------------------------------------------------


def lstm_values(z: Any, c: Any) -> tuple:
    """The gates, the new cell state and its tanh."""
    i, f, g, o = _blocks(z, 4)
    i, f, g, o = sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)
    new = f * c + i * g
    return i, f, g, o, new, tanh(new)


class LstmStep(Op):
    """h, k = o·tanh k, f·c + i·g;  dc = s·f, dz = s·g·i', s·c·f', s·i·g', gₕ·tanh k·o' side by side

    The gates i, f, g, o are σ, σ, tanh, σ of the four blocks of z (N, 4H), with the derivatives
    i' = i·(1 − i) … and g' = 1 − g². s = gₖ + gₕ·o·(1 − tanh² k) is all that comes to the new cell
    state k, from the next step and through h.
    """

    saves = ("z", "c")

    def forward(self, z: Array, c: Array) -> tuple:
        _, _, _, o, new, squashed = self.keep(lstm_values, z, c)
        return o * squashed, new

    def backward(self, gh: Any, gk: Any) -> Any:
        z, c = self.saved
        i, f, g, o, _, squashed = self.recall(lstm_values, z, c)
        s = gk + gh * o * (1 - squashed * squashed)
        # σ′ first: where a gate is shut, s·c may overflow, and ∞·0 is NaN
        di = i * (1 - i) * s * g
        df = f * (1 - f) * s * c
        dg = (1 - g * g) * s * i
        do = o * (1 - o) * gh * squashed
        return cat([di, df, dg, do], -1), s * f


def lstm_step(gates: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """(h, c) after a step, from the gates (N, 4H) before their σ and tanh, and c (N, H)."""
    return LstmStep.apply(gates, c)


def lstm_cell(
    input: Tensor,
    hx: tuple[Tensor, Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """(h, c) after a step: i, f, g, o = σ, σ, tanh, σ of W_ih·x + b_ih + W_hh·h + b_hh;
    c ← f·c + i·g, h ← o·tanh c.
    """
    h, c = hx
    return lstm_step(linear(input, w_ih, b_ih) + linear(h, w_hh, b_hh), c)


# ------------------------------------------------------------------------------------------
# GRU
# ------------------------------------------------------------------------------------------


def gru_values(x: Any, y: Any) -> tuple:
    """The reset and update gates and the proposed state."""
    xr, xu, xn = _blocks(x, 3)
    yr, yu, yn = _blocks(y, 3)
    r = sigmoid(xr + yr)
    return r, sigmoid(xu + yu), tanh(xn + r * yn)


class GruStep(Op):
    """k = n + u·(h − n);  dh = g·u, dx = r̄, ū, n̄ side by side, dy = r̄, ū, n̄·r side by side

    r = σ(xᵣ + yᵣ), u = σ(xᵤ + yᵤ), n = tanh(xₙ + r·yₙ), of the three blocks of x, made from the
    input, and of y, made from the state h. n̄ = g·(1 − u)·(1 − n²), ū = g·(h − n)·u·(1 − u) and
    r̄ = n̄·yₙ·r·(1 − r) are the gradients before σ and tanh.
    """

    saves = ("x", "y", "h")

    def forward(self, x: Array, y: Array, h: Array) -> Array:
        _, u, n = self.keep(gru_values, x, y)
        return n + u * (h - n)

    def backward(self, g: Any) -> Any:
        x, y, h = self.saved
        r, u, n = self.recall(gru_values, x, y)
        yn = _blocks(y, 3)[2]
        dn = (1 - n * n) * g * (1 - u)
        du = u * (1 - u) * g * (h - n)
        dr = r * (1 - r) * dn * yn
        return cat([dr, du, dn], -1), cat([dr, du, dn * r], -1), g * u


def gru_step(from_input: Tensor, from_state: Tensor, h: Tensor) -> Tensor:
    """h after a step, from the products of its three gates (N, 3H) with the input and with h."""
    return GruStep.apply(from_input, from_state, h)


def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """h after a step: h ← n + u·(h − n), with the update gate u and the proposed state n =
    tanh(W_in·x + b_in + r·(W_hn·h + b_hn)), r the reset gate.
    """
    return gru_step(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), hx)


# ------------------------------------------------------------------------------------------
# RNN
# ------------------------------------------------------------------------------------------


def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """h after a step: h ← tanh(W_ih·x + b_ih + W_hh·h + b_hh)."""
    return tanh(linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh))


def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """h after a step: h ← max(0, W_ih·x + b_ih + W_hh·h + b_hh)."""
    return relu(linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh))


__all__ = ["gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell"]
