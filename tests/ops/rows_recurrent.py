"""Rows of the op table: recurrent cells."""

from .table import Row, T

H = T(2, 3)  # the state
X = T(2, 4)


def weights(gates: int) -> list[T]:
    return [T(gates * 3, 4), T(gates * 3, 3)]


def biases(gates: int) -> list[T]:
    return [T(gates * 3), T(gates * 3)]


ROWS = [
    Row("lstm_cell", X, (H, H), *weights(4), method=False),
    Row("lstm_cell", X, (H, H), *weights(4), *biases(4), method=False),
    Row("lstm_cell", T(1, 4), (T(1, 3), T(1, 3)), *weights(4), *biases(4), method=False),
    Row("gru_cell", X, H, *weights(3), method=False),
    Row("gru_cell", X, H, *weights(3), *biases(3), method=False),
    Row("rnn_tanh_cell", X, H, *weights(1), method=False),
    Row("rnn_tanh_cell", X, H, *weights(1), *biases(1), method=False),
    Row("rnn_relu_cell", X, H, *weights(1), method=False),
    Row("rnn_relu_cell", X, H, *weights(1), *biases(1), method=False),
]
