from .functional import functional
from .table import I, T, V

REPEATED = V([[0, 2, 2], [1, 2, 4]])

# padding_idx and scale_grad_by_freq change the gradient alone: see test_embedding.py.
ROWS = [
    functional("embedding", I(3, high=5), T(5, 4)),
    functional("embedding", I(2, 3, high=5), T(5, 4)),
    functional("embedding", V(3), T(5, 2), label="0-d index"),
    functional("embedding", V([[0]]), T(1, 2), label="one row"),
    functional("embedding", REPEATED, T(5, 3), label="repeated"),
    functional("embedding", I(4, high=300), T(300, 1), label="large table"),
]
