"""Rows of the op table: recurrent cells, and whole sequences, which PyTorch has as modules only."""

import importlib
from typing import Any

from .table import Row, T

H = T(2, 3)  # the state
X = T(2, 4)


def weights(gates: int) -> list[T]:
    return [T(gates * 3, 4), T(gates * 3, 3)]


def biases(gates: int) -> list[T]:
    return [T(gates * 3), T(gates * 3)]


def lstm(x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b: Any = None) -> Any:
    torch = importlib.import_module("torch")
    b = x.new_zeros(w_ih.shape[0]) if b is None else b
    weights = [w_ih, w_hh, b, x.new_zeros(w_ih.shape[0])]
    options = (True, 1, 0.0, False, False, False)  # biases, layers, …
    y, _, c = torch.lstm(x, (h[None], c[None]), weights, *options)
    return y, c[0]


def gru(x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    return whole("gru", x, h, w_ih, w_hh, b_ih, b_hh)


def rnn(x: Any, h: Any, w_ih: Any, w_hh: Any, b: Any = None, nonlinearity: str = "tanh") -> Any:
    return whole(f"rnn_{nonlinearity}", x, h, w_ih, w_hh, b, None)


def whole(name: str, x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    """All h, by PyTorch's function of that name for whole sequences."""
    torch = importlib.import_module("torch")
    biases = [x.new_zeros(w_ih.shape[0]) if b is None else b for b in (b_ih, b_hh)]
    options = (True, 1, 0.0, False, False, False)  # biases, layers, …
    return getattr(torch, name)(x, h[None], [w_ih, w_hh, *biases], *options)[0]


def with_sizes(function: Any) -> Any:
    """`function`, step by step: sequences that have ended keep their state."""

    def run(x: Any, *args: Any, batch_sizes: list[int]) -> Any:
        torch = importlib.import_module("torch")
        count = 2 if function is lstm else 1
        states, weights = list(args[:count]), args[count:]
        outputs = []
        for t, n in enumerate(batch_sizes):
            found = function(x[t : t + 1, :n], *(s[:n] for s in states), *weights)
            found = (found[0][0], found[1]) if count == 2 else (found[0],)
            states = [torch.cat([new, old[n:]]) for new, old in zip(found, states)]
            outputs.append(states[0])
        return (torch.stack(outputs), states[1]) if count == 2 else torch.stack(outputs)

    return run


STEPS = T(4, 2, 4)  # (T, N, in)
ONE_STEP, ONE_STATE = T(1, 1, 4), T(1, 3)
ROWS = [
    Row("lstm_sequence", STEPS, H, H, *weights(4), torch=lstm, method=False),
    Row("lstm_sequence", STEPS, H, H, *weights(4), T(12), torch=lstm, method=False),
    Row("lstm_sequence", ONE_STEP, ONE_STATE, ONE_STATE, *weights(4), torch=lstm, method=False),
    Row("gru_sequence", STEPS, H, *weights(3), torch=gru, method=False),
    Row("gru_sequence", STEPS, H, *weights(3), *biases(3), torch=gru, method=False),
    Row("gru_sequence", STEPS, H, *weights(3), None, T(9), torch=gru, method=False),
    Row("gru_sequence", STEPS, H, *weights(3), T(9), None, torch=gru, method=False),
    Row("gru_sequence", ONE_STEP, ONE_STATE, *weights(3), *biases(3), torch=gru, method=False),
    *(
        Row("rnn_sequence", *args, nonlinearity=nonlinearity, torch=rnn, method=False)
        for nonlinearity in ("tanh", "relu")
        for args in (
            (STEPS, H, *weights(1)),
            (STEPS, H, *weights(1), T(3)),
            (ONE_STEP, ONE_STATE, *weights(1), T(3)),
        )
    ),
    *(
        Row(name, STEPS, *states, *weights(gates), T(3 * gates), batch_sizes=sizes,
            torch=with_sizes(function), method=False)
        for name, states, gates, function in (
            ("lstm_sequence", (H, H), 4, lstm), ("gru_sequence", (H,), 3, gru),
            ("rnn_sequence", (H,), 1, rnn),
        )
        for sizes in ([2, 2, 1, 1], [1, 1, 1, 1])
    ),
    Row("lstm_cell", X, (H, H), *weights(4), method=False),
    Row("lstm_cell", X, (H, H), *weights(4), *biases(4), method=False),
    Row("lstm_cell", T(1, 4), (T(1, 3), T(1, 3)), *weights(4), *biases(4), method=False),
    Row("gru_cell", X, H, *weights(3), method=False),
    Row("gru_cell", X, H, *weights(3), *biases(3), method=False),
    Row("rnn_tanh_cell", X, H, *weights(1), method=False),
    Row("rnn_tanh_cell", X, H, *weights(1), *biases(1), method=False),
    Row("rnn_relu_cell", X, H, *weights(1), method=False),
    Row("rnn_relu_cell", X, H, *weights(1), *biases(1), method=False),
]  # fmt: skip
