"""Recurrent layers: RNN, LSTM and GRU, for whole sequences and, as cells, for single steps."""

from __future__ import annotations

import math
from typing import Any

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.ops.recurrent_cell import gru_step, lstm_step
from tinytensor.ops.recurrent_sequence import check_nonlinearity
from tinytensor.tensor import Tensor

from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .recurrent_base import RNNBase, State, Weights

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

# ------------------------------------------------------------------------------------------
# Whole sequences
# ------------------------------------------------------------------------------------------


class RNN(RNNBase):
    """h ← tanh(W_ih·x + b_ih + W_hh·h + b_hh), or max(0, …) with nonlinearity="relu"

    See RNNBase for the other arguments and the shapes.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        check_nonlinearity("RNN", nonlinearity)
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, device=device, dtype=dtype)  # fmt: skip
        self.nonlinearity = nonlinearity

    def step(self, x: Tensor, state: State, weights: Weights) -> State:
        z = F.linear(state[0], weights.hh, x)  # W_hh·h + x
        return (z.tanh() if self.nonlinearity == "tanh" else z.relu(),)

    def sequence(
        self, x: Tensor, state: State, weights: Weights, sizes: list[int]
    ) -> tuple[Tensor, State]:
        (h,) = state
        y = tt.rnn_sequence(x, h, weights.ih, weights.hh, weights.bias, self.nonlinearity, sizes)
        return y, (y[-1],)


class LSTM(RNNBase):
    """i, f, g, o = σ, σ, tanh, σ of W_ih·x + b_ih + W_hh·h + b_hh;  c ← f·c + i·g, h ← o·tanh c

    Its state is (h, c). See RNNBase for the arguments and the shapes.
    """

    gates = 4

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, proj_size, device=device, dtype=dtype)  # fmt: skip

    def step(self, x: Tensor, state: State, weights: Weights) -> State:
        h, c = lstm_step(F.linear(state[0], weights.hh, x), state[1])
        return (h if weights.hr is None else F.linear(h, weights.hr)), c

    def sequence(
        self, x: Tensor, state: State, weights: Weights, sizes: list[int]
    ) -> tuple[Tensor, State] | None:
        if weights.hr is not None:
            return None
        h, c = state
        y, c = tt.lstm_sequence(x, h, c, weights.ih, weights.hh, weights.bias, sizes)
        return y, (y[-1], c)

    def _state_sizes(self) -> list[int]:
        return [self._output_size, self.hidden_size]

    def _as_hx(self, state: State) -> Any:
        return state


class GRU(RNNBase):
    """r, u = σ of W_ih·x + b_ih + W_hh·h + b_hh;  n = tanh(W_in·x + b_in + r·(W_hn·h + b_hn)),
    h ← (1 − u)·n + u·h

    See RNNBase for the arguments and the shapes.
    """

    gates = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, device=device, dtype=dtype)  # fmt: skip

    def from_inputs(self, x: Tensor, weights: Weights) -> Tensor:
        return F.linear(x, weights.ih, weights.bias_ih)  # `step` adds bias_hh

    def step(self, x: Tensor, state: State, weights: Weights) -> State:
        (h,) = state
        return (gru_step(x, F.linear(h, weights.hh, weights.bias_hh), h),)

    def sequence(
        self, x: Tensor, state: State, weights: Weights, sizes: list[int]
    ) -> tuple[Tensor, State]:
        (h,) = state
        biases = weights.bias_ih, weights.bias_hh
        y = tt.gru_sequence(x, h, weights.ih, weights.hh, *biases, sizes)
        return y, (y[-1],)


# ------------------------------------------------------------------------------------------
# Single steps, for custom loops
# ------------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """Base class of the cells.

    Input (N, input_size) or (input_size), state (N, hidden_size) or (hidden_size), by default
    zeros. Parameters: weight_ih (G·H, in), weight_hh (G·H, H), bias_ih and bias_hh (G·H) for G
    gates; all start uniform in ±1/√H.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size

        def new(*shape: int) -> Parameter:
            return Parameter(tt.empty(shape, device=device, dtype=dtype))

        self.weight_ih = new(rows, input_size)
        self.weight_hh = new(rows, hidden_size)
        self.register_parameter("bias_ih", new(rows) if bias else None)
        self.register_parameter("bias_hh", new(rows) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0.0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _weights(self) -> tuple:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _check(self, input: Tensor, states: tuple) -> tuple:
        """Check the shapes; return the states, with zeros for those not given."""
        name, shape = type(self).__name__, input.shape
        if len(shape) not in (1, 2):
            raise ValueError(
                f"{name}: got input of shape {tuple(shape)}, expected 1 dimension, (in), or 2, "
                "(N, in)"
            )
        if shape[-1] != self.input_size:
            raise ShapeError(
                f"{name}: input has {shape[-1]} features, expected input_size={self.input_size}"
            )
        expected = (*shape[:-1], self.hidden_size)
        for state in states:
            if state is not None and state.shape != expected:
                raise ShapeError(
                    f"{name}: the state has shape {tuple(state.shape)}, expected {expected}"
                )
        return tuple(input.new_zeros(expected) if s is None else s for s in states)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text


class RNNCell(RNNCellBase):
    """h ← tanh(W_ih·x + b_ih + W_hh·h + b_hh), or max(0, …) with nonlinearity="relu"."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ):
        check_nonlinearity("RNNCell", nonlinearity)
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        (h,) = self._check(input, (hx,))
        cell = tt.rnn_tanh_cell if self.nonlinearity == "tanh" else tt.rnn_relu_cell
        return cell(input, h, *self._weights())


class LSTMCell(RNNCellBase):
    """i, f, g, o = σ, σ, tanh, σ of W_ih·x + b_ih + W_hh·h + b_hh;  c ← f·c + i·g, h ← o·tanh c

    Takes and returns (h, c).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        h, c = self._check(input, (None, None) if hx is None else tuple(hx))
        return tt.lstm_cell(input, (h, c), *self._weights())


class GRUCell(RNNCellBase):
    """r, u = σ of W_ih·x + b_ih + W_hh·h + b_hh;  n = tanh(W_in·x + b_in + r·(W_hn·h + b_hn)),
    h ← (1 − u)·n + u·h
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        (h,) = self._check(input, (hx,))
        return tt.gru_cell(input, h, *self._weights())
