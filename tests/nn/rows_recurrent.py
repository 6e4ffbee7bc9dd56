"""Rows of the module table: recurrent layers and cells."""

from .table import Row, T

X = T(4, 2, 3)  # (T, N, in)
PROJECTED = "compared in test_recurrent.py, as PyTorch warns of oneDNN"


def h(layers: int, size: int = 5) -> T:
    """A state (layers·directions, N, H)."""
    return T(layers, 2, size)


ROWS = [
    Row("RNN", 3, 5, inputs=[X]),
    Row("RNN", 3, 5, nonlinearity="relu", inputs=[X]),
    Row("RNN", 3, 5, 2, "relu", False, True, inputs=[X]),
    Row("RNN", 3, 5, num_layers=2, bidirectional=True, inputs=[X, h(4)]),
    Row("RNN", 3, 5, batch_first=True, inputs=[X]),
    Row("RNN", 3, 5, inputs=[T(4, 3)], label="no batch"),
    Row("RNN", 3, 5, inputs=[T(4, 3), T(1, 5)], label="no batch, with a state"),
    Row("RNN", 3, 5, 3, dropout=0.5, inputs=[X], train=(False,)),
    Row("LSTM", 3, 5, inputs=[X]),
    Row("LSTM", 3, 5, bias=False, inputs=[X, (h(1), h(1))]),
    Row("LSTM", 3, 5, num_layers=3, batch_first=True, inputs=[X, (T(3, 4, 5), T(3, 4, 5))]),
    Row("LSTM", 3, 5, 2, bidirectional=True, inputs=[X]),
    Row("LSTM", 3, 5, 2, bidirectional=True, inputs=[X, (h(4), h(4))]),
    Row("LSTM", 3, 5, proj_size=2, inputs=[X], torch=None, note=PROJECTED),
    Row("LSTM", 3, 5, 2, proj_size=2, bias=False, bidirectional=True,
        inputs=[X, (h(4, 2), h(4))], torch=None, note=PROJECTED),
    Row("LSTM", 3, 5, batch_first=True, inputs=[T(4, 3)], label="no batch"),
    Row("LSTM", 3, 5, inputs=[T(4, 3), (T(1, 5), T(1, 5))], label="no batch, with a state"),
    Row("LSTM", 3, 5, 2, dropout=0.3, inputs=[X], train=(False,)),
    Row("LSTM", 3, 5, inputs=[T(1, 2, 3)], label="one step"),
    Row("LSTM", 3, 5, 2, bidirectional=True, batch_first=True, inputs=[T(1, 6, 3)], label="one"),
    Row("GRU", 3, 5, inputs=[X]),
    Row("GRU", 3, 5, bias=False, inputs=[X, h(1)]),
    Row("GRU", 3, 5, 2, bidirectional=True, inputs=[X, h(4)]),
    Row("GRU", 3, 5, 2, batch_first=True, inputs=[X]),
    Row("GRU", 3, 5, inputs=[T(4, 3)], label="no batch"),
    Row("GRU", 3, 5, bidirectional=True, batch_first=True, inputs=[T(4, 3), T(2, 5)],
        label="no batch, with a state"),
    Row("GRU", 3, 5, 2, dropout=0.3, inputs=[X], train=(False,)),
    Row("RNNCell", 3, 5, inputs=[T(2, 3)]),
    Row("RNNCell", 3, 5, inputs=[T(2, 3), T(2, 5)]),
    Row("RNNCell", 3, 5, False, "relu", inputs=[T(2, 3), T(2, 5)]),
    Row("RNNCell", 3, 5, inputs=[T(3), T(5)]),
    Row("LSTMCell", 3, 5, inputs=[T(2, 3)]),
    Row("LSTMCell", 3, 5, bias=False, inputs=[T(2, 3), (T(2, 5), T(2, 5))]),
    Row("LSTMCell", 3, 5, inputs=[T(3), (T(5), T(5))]),
    Row("GRUCell", 3, 5, inputs=[T(2, 3)]),
    Row("GRUCell", 3, 5, bias=False, inputs=[T(2, 3), T(2, 5)]),
    Row("GRUCell", 3, 5, inputs=[T(3), T(5)]),
]  # fmt: skip
