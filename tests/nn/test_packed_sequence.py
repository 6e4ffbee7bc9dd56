"""PackedSequence: conversions, order, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

import nn
import tinytensor as tt

from .scenario import Scenarios, listed, refused

scenario = Scenarios()
CASTS = ("double", "float", "half", "long", "int", "short", "char", "byte", "cpu")


def batch(nn: Any, library: Any, enforce_sorted: bool = True, order: Any = (3, 2, 2, 1)) -> Any:
    values = np.arange(24.0, dtype=np.float32).reshape(3, 4, 2)
    pack = nn.utils.rnn.pack_padded_sequence
    return pack(library.tensor(values), list(order), enforce_sorted=enforce_sorted)


@scenario
def casts(nn: Any, library: Any) -> Any:
    seen: list[Any] = []
    for enforce_sorted in (True, False):
        packed = batch(nn, library, enforce_sorted)
        for name in CASTS:
            made = getattr(packed, name)()
            padded, lengths = nn.utils.rnn.pad_packed_sequence(made)
            dtype = str(made.data.dtype).split(".")[-1]
            seen.append(
                (name, dtype, type(made).__name__, listed(padded.float()), lengths.tolist())
            )
            seen.append((made is packed, str(made.batch_sizes.dtype).split(".")[-1]))
    return [*seen, packed.is_cuda, packed.is_pinned(), packed.to(library.float32) is packed]


@scenario
def any_order(nn: Any, library: Any) -> Any:
    packed = batch(nn, library, False, (1, 3, 2, 3))
    padded, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True, total_length=5)
    parts = nn.utils.rnn.unpack_sequence(packed)
    seen = [listed(packed.data), packed.batch_sizes.tolist(), packed.unsorted_indices.tolist()]
    return [*seen, listed(padded), lengths.tolist(), [listed(part) for part in parts]]


@scenario
def what_is_refused(nn: Any, library: Any) -> Any:
    rnn = nn.utils.rnn
    empty = rnn.PackedSequence(library.ones(0, 5), library.tensor([], dtype=library.int64))
    pack, x = rnn.pack_padded_sequence, library.ones(3, 3)
    return [
        refused(lambda: rnn.pad_packed_sequence(empty)),
        refused(lambda: rnn.unpack_sequence(empty)),
        refused(lambda: pack(x, [1, 3, 2])),
        refused(lambda: pack(library.ones(0, 0), [])),
        refused(lambda: pack(x, [3, 0, 0])),
        refused(lambda: pack(library.ones(0, 1, 10), library.ones(11, 2), True)),
        refused(lambda: rnn.pad_packed_sequence(batch(nn, library), total_length=2)),
        refused(lambda: rnn.pad_sequence(5)),
    ]


def test_a_sparse_buffer_moves_loads_and_converts() -> None:
    def graph() -> nn.Module:
        m = nn.Module()
        m.register_buffer("adj", tt.eye(3).to_sparse())
        m.lin = nn.Linear(3, 3)
        return m

    m, other = graph(), graph()
    assert (m.adj @ tt.ones(3, 1)).tolist() == [[1]] * 3
    assert sorted(m.state_dict()) == ["adj", "lin.bias", "lin.weight"]
    m.double()
    assert m.adj.dtype == m.lin.weight.dtype == tt.float64
    m.adj = (2 * tt.eye(3)).to_sparse()
    other.load_state_dict(m.state_dict())
    assert (
        other.adj.dtype == tt.float32 and other.adj.to_dense().tolist() == (2 * tt.eye(3)).tolist()
    )
    m.adj = tt.ones(2, 2).to_sparse()
    np.testing.assert_equal(refusal(lambda: other.load_state_dict(m.state_dict())), "adj")
    other.adj = None
    assert "adj" not in other.state_dict() and [n for n, _ in m.named_buffers()] == ["adj"]


def refusal(function: Any) -> str:
    """The key that load_state_dict names first."""
    try:
        function()
    except RuntimeError as error:
        return str(error).split("misshapen: ")[1].split(":")[0]
    return "accepted"


test_same_as_pytorch = scenario.test()
