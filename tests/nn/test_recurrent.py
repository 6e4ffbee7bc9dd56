"""Packed sequences, dropout, errors of recurrent layers, and nn.utils.rnn against PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from nn import recurrent_base
from nn.utils import rnn
from tinytensor import devices
from tinytensor.autograd.gradcheck import gradcheck
from tinytensor.autograd.op import Op
from tinytensor.autograd.walk import collect

from ..standin import fake_cupy as cp

LENGTHS = [[4, 3, 3, 1], [2, 4, 1, 4], [3, 3, 3, 3], [1, 5, 2, 2]]
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("RNN", {}), ("RNN", {"nonlinearity": "relu", "bias": False}), ("GRU", {}), ("LSTM", {}),
    ("LSTM", {"proj_size": 2}), ("LSTM", {"proj_size": 2, "bias": False}),
]  # fmt: skip
LAYERS = [{}, {"num_layers": 2}, {"bidirectional": True}, {"num_layers": 3, "bidirectional": True}]

# float32 with projections; nothing to do with us
quiet = pytest.mark.filterwarnings("ignore:LSTM with projections:UserWarning")


def torch_of() -> Any:
    return pytest.importorskip("torch")


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def pair(name: str, settings: dict[str, Any], dtype: str = "float64") -> tuple[Any, Any]:
    """PyTorch's module and ours, with the same weights."""
    torch = torch_of()
    torch.manual_seed(0)
    theirs = getattr(torch.nn, name)(3, 4, **settings).to(getattr(torch, dtype))
    ours = getattr(nn, name)(3, 4, **settings, dtype=getattr(tt, dtype))
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs


def leaf(lib: Any, array: np.ndarray) -> Any:
    return lib.tensor(array, requires_grad=True)


def state_of(lib: Any, module: Any, count: int) -> tuple[list, Any]:
    """A random initial state: its tensors, and hx."""
    runs = module.num_layers * (2 if module.bidirectional else 1)
    source = np.random.default_rng(1)
    sizes = [module.hidden_size]
    if module.mode == "LSTM":
        sizes = [module.proj_size or module.hidden_size, module.hidden_size]
    tensors = [leaf(lib, source.normal(size=(runs, count, size))) for size in sizes]
    return tensors, tuple(tensors) if module.mode == "LSTM" else tensors[0]


def flatten(value: Any) -> list:
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in flatten(v)]
    return [] if value is None else [value]


def gradients(lib: Any, outputs: list, leaves: list) -> list[np.ndarray]:
    source = np.random.default_rng(2)
    floats = [y for y in outputs if y.is_floating_point()]
    loss = sum((y * lib.tensor(source.normal(size=tuple(y.shape)))).sum() for y in floats)
    loss.backward()
    return [x.grad.numpy() for x in leaves]


def same(ours: list, theirs: list, tolerance: float = 1e-10) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        a, b = (x.detach().cpu().numpy() if hasattr(x, "detach") else x for x in (a, b))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


# ------------------------------------------------------------------------------------------
# Packed sequences
# ------------------------------------------------------------------------------------------


@quiet
@pytest.mark.parametrize("whole", [False, True], ids=["steps", "whole"])
@pytest.mark.parametrize("with_state", [False, True], ids=["zeros", "state"])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("layers", LAYERS, ids=str)
@pytest.mark.parametrize(("name", "settings"), KINDS, ids=str)
def test_packed_equals_pytorch(
    name: str,
    settings: dict,
    layers: dict,
    lengths: list[int],
    with_state: bool,
    whole: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if whole:
        monkeypatch.setattr(recurrent_base, "LONG", 1)
    modules = pair(name, {**settings, **layers})
    arrays = rng().normal(size=(max(lengths), len(lengths), 3))
    found = []
    for lib, module in zip((tt, torch_of()), modules):
        x = leaf(lib, arrays)
        pack = (rnn if lib is tt else lib.nn.utils.rnn).pack_padded_sequence
        packed = pack(x, lengths, enforce_sorted=False)
        states, hx = state_of(lib, module, len(lengths)) if with_state else ([], None)
        output, last = module(packed, hx)
        assert type(output).__name__ == "PackedSequence"
        outputs = flatten([tuple(output), last])
        leaves = [x, *states, *module.parameters()]
        found.append(outputs + gradients(lib, outputs, leaves))
    same(*found)


@quiet
@pytest.mark.parametrize("with_state", [False, True], ids=["zeros", "state"])
@pytest.mark.parametrize("layers", LAYERS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("proj", [1, 2, 3])
def test_projections_equal_pytorch(proj: int, dtype: str, layers: dict, with_state: bool) -> None:
    ours, theirs = pair("LSTM", {"proj_size": proj, **layers})
    assert repr(ours) == repr(theirs)
    found = []
    for lib, module in ((tt, ours), (torch_of(), theirs)):
        module.to(getattr(lib, dtype))
        x = lib.tensor(rng().normal(size=(5, 2, 3)), dtype=getattr(lib, dtype))
        hx = None
        if with_state:
            hx = tuple(s.detach().to(x.dtype) for s in state_of(lib, module, 2)[0])
        outputs = flatten(module(x, hx))
        grads = gradients(lib, outputs, list(module.parameters()))
        found.append(outputs + grads)
    same(*found, tolerance=1e-10 if dtype == "float64" else 2e-5)


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_packed_equals_each_sequence_alone(name: str) -> None:
    tt.manual_seed(0)
    module = getattr(nn, name)(3, 4, 2, bidirectional=True, dtype=tt.float64)
    sequences = [tt.tensor(rng().normal(size=(n, 3))) for n in (2, 5, 1, 3)]
    output, state = module(rnn.pack_sequence(sequences, enforce_sorted=False))
    for i, (sequence, y) in enumerate(zip(sequences, rnn.unpack_sequence(output))):
        alone, last = module(sequence)
        same([y], [alone])
        same([s[:, i] for s in flatten(state)], flatten(last))


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_a_layer_is_its_cell_in_a_loop(name: str) -> None:
    tt.manual_seed(0)
    layer = getattr(nn, name)(3, 4, dtype=tt.float64)
    cell = getattr(nn, f"{name}Cell")(3, 4, dtype=tt.float64)
    cell.load_state_dict({k[:-3]: v for k, v in layer.state_dict().items()})
    x = tt.tensor(rng().normal(size=(6, 2, 3)))
    state, outputs = None, []
    for step in x:
        state = cell(step, state)
        outputs.append(state[0] if name == "LSTM" else state)
    output, last = layer(x)
    same([output], [tt.stack(outputs)])
    same([s[0] for s in flatten(last)], flatten(state))


# ------------------------------------------------------------------------------------------
# Whole sequences as one op
# ------------------------------------------------------------------------------------------

WHOLE = [kind for kind in KINDS if "proj_size" not in kind[1]]
WHOLE += [("GRU", {"bias": False}), ("LSTM", {"bias": False}), ("RNN", {"nonlinearity": "relu"})]


@pytest.fixture
def one_op(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sequences of any size are long enough to be one op."""
    monkeypatch.setattr(recurrent_base, "LONG", 1)


def ops_of(output: Any) -> set[str]:
    return {node.op_name for node in collect([output.grad_fn]) if isinstance(node, Op)}


@pytest.mark.parametrize("with_state", [False, True], ids=["zeros", "state"])
@pytest.mark.parametrize("batch_first", [False, True], ids=["time first", "batch first"])
@pytest.mark.parametrize("layers", LAYERS, ids=str)
@pytest.mark.parametrize(("name", "settings"), WHOLE, ids=str)
def test_whole_sequences_equal_pytorch(
    name: str, settings: dict, layers: dict, batch_first: bool, with_state: bool, one_op: None
) -> None:
    modules = pair(name, {**settings, **layers, "batch_first": batch_first})
    arrays = rng().normal(size=(2, 5, 3) if batch_first else (5, 2, 3))
    found = []
    for lib, module in zip((tt, torch_of()), modules):
        x = leaf(lib, arrays)
        states, hx = state_of(lib, module, 2) if with_state else ([], None)
        output, last = module(x, hx)
        if lib is tt:
            assert f"{name.lower()}_sequence" in ops_of(output)
        outputs = flatten([output, last])
        found.append(outputs + gradients(lib, outputs, [x, *states, *module.parameters()]))
    same(*found)


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_sequences_of_several_lengths_are_one_op(name: str, one_op: None) -> None:
    module = getattr(nn, name)(3, 4, dtype=tt.float64)
    x = tt.tensor(rng().normal(size=(4, 2, 3)))
    packed, _ = module(rnn.pack_padded_sequence(x, [4, 3]))
    assert f"{name.lower()}_sequence" in ops_of(packed.data)
    whole, _ = module(x[:3])
    same([rnn.pad_packed_sequence(packed)[0][:3]], [whole])


@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_large_layers_equal_pytorch(name: str, packed: bool) -> None:
    """In float32, large enough for the kernels."""
    torch = torch_of()
    torch.manual_seed(0)
    theirs = getattr(torch.nn, name)(35, 37, num_layers=2, bidirectional=True)
    ours = getattr(nn, name)(35, 37, num_layers=2, bidirectional=True)
    ours.load_state_dict(theirs.state_dict())
    arrays = rng().normal(size=(30, 9, 35)).astype(np.float32)
    found = []
    for lib, module in ((tt, ours), (torch, theirs)):
        x = leaf(lib, arrays)
        given = x
        if packed:
            pack = (rnn if lib is tt else lib.nn.utils.rnn).pack_padded_sequence
            given = pack(x, [30, 30, 29, 17, 17, 12, 5, 1, 1])
        output, last = module(given)
        output = output.data if packed else output
        (output.sin().sum() + sum(s.sum() for s in flatten(last))).backward()
        leaves = [x, *module.parameters()]
        found.append([output, *flatten(last), *(t.grad for t in leaves)])
    for mine, reference in zip(*found):
        a, b = mine.detach().numpy(), reference.detach().numpy()
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * np.abs(b).max())


# ------------------------------------------------------------------------------------------
# Training
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_gradcheck_through_time(name: str) -> None:
    tt.manual_seed(0)
    module = getattr(nn, name)(2, 2, bidirectional=True, dtype=tt.float64)
    x = tt.tensor(rng().normal(size=(3, 3, 2)), requires_grad=True)

    def run(x: Any, *parameters: Any) -> Any:
        packed = rnn.pack_padded_sequence(x, [1, 3, 2], enforce_sorted=False)
        output, state = module(packed)
        return sum((y * y + y).sum() for y in (output.data, *flatten(state)))

    assert gradcheck(run, (x, *module.parameters()))


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_dropout_is_between_the_layers(name: str) -> None:
    tt.manual_seed(0)
    module = getattr(nn, name)(3, 50, 2, dropout=0.5)
    x = tt.randn(4, 2, 3)
    tt.manual_seed(1)
    first = module(x)[0]
    assert not tt.equal(first, module(x)[0])
    tt.manual_seed(1)
    assert tt.equal(first, module(x)[0])
    module.eval()
    assert tt.equal(module(x)[0], module(x)[0])
    # The first layer is as without: dropout comes after it.
    module.train()
    state = flatten(module(x)[1])[0]
    module.eval()
    assert tt.equal(state[0], flatten(module(x)[1])[0][0])
    assert not tt.equal(state[1], flatten(module(x)[1])[0][1])


def test_all_dropped_gives_the_second_layer_nothing() -> None:
    torch = torch_of()
    ours, theirs = pair("GRU", {"num_layers": 2, "dropout": 1.0})
    arrays = rng().normal(size=(4, 2, 3))
    same([ours(tt.tensor(arrays))[0]], [theirs(torch.tensor(arrays))[0]])


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_it_learns_to_remember_the_first_step(name: str) -> None:
    tt.manual_seed(0)
    layer, head = getattr(nn, name)(1, 16, batch_first=True), nn.Linear(16, 1)
    optimizer = tt.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.02)
    x = tt.tensor(rng().choice([-1.0, 1.0], size=(32, 6, 1)).astype(np.float32))
    for _ in range(80):
        optimizer.zero_grad()
        loss = ((head(layer(x)[0][:, -1]) - x[:, 0]) ** 2).mean()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05


def test_starting_values_are_uniform() -> None:
    for module in (nn.LSTM(30, 25, bidirectional=True), nn.GRUCell(30, 25)):
        for parameter in module.parameters():
            assert 0.19 < parameter.abs().max().item() <= 0.2


def test_all_weights_and_flatten_parameters() -> None:
    module = nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)
    module.flatten_parameters()
    flat = [weight for weights in module.all_weights for weight in weights]
    assert [id(w) for w in flat] == [id(p) for p in module.parameters()]
    assert [len(weights) for weights in module.all_weights] == [5] * 4


def test_an_empty_batch() -> None:
    output, (h, c) = nn.LSTM(3, 4)(tt.zeros(5, 0, 3))
    assert tuple(output.shape) == (5, 0, 4) and tuple(h.shape) == tuple(c.shape) == (1, 0, 4)


@pytest.fixture
def cuda() -> Iterator[None]:
    devices.register(cp)
    yield
    devices.unregister(cp)


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_packed_on_the_stand_in_for_cupy(name: str, cuda: None) -> None:
    tt.manual_seed(0)
    module = getattr(nn, name)(3, 4, 2, bidirectional=True, dtype=tt.float64)
    arrays = rng().normal(size=(4, 3, 3))
    found = []
    for place in ("cpu", "cuda"):
        module.to(place).zero_grad()
        x = tt.tensor(arrays, device=place, requires_grad=True)
        packed = rnn.pack_padded_sequence(x, [2, 4, 3], enforce_sorted=False)
        output, state = module(packed)
        padded, lengths = rnn.pad_packed_sequence(output, batch_first=True)
        assert lengths.device.type == "cpu" and str(padded.device).startswith(place)
        (padded.sum() + sum(s.sum() for s in flatten(state))).backward()
        found.append([padded, *flatten(state), *(t.grad for t in (x, *module.parameters()))])
    same(*found, tolerance=1e-12)


# ------------------------------------------------------------------------------------------
# nn.utils.rnn
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("rest", [(), (3,), (2, 3)], ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_packing_equals_pytorch(lengths: list[int], rest: tuple, batch_first: bool) -> None:
    count, longest = len(lengths), max(lengths) + 1
    shape = (count, longest, *rest) if batch_first else (longest, count, *rest)
    arrays = rng().normal(size=shape)
    found = []
    for lib, module in ((tt, rnn), (torch_of(), torch_of().nn.utils.rnn)):
        x = leaf(lib, arrays)
        packed = module.pack_padded_sequence(x, lib.tensor(lengths), batch_first, False)
        outputs = list(packed)
        outputs += module.pad_packed_sequence(packed, batch_first, padding_value=-1.5)
        outputs += module.pad_packed_sequence(packed, not batch_first, total_length=9)
        outputs += module.unpack_sequence(packed)
        found.append(outputs + gradients(lib, outputs, [x]))
    same(*found, tolerance=0)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("rest", [(), (3,), (2, 3)], ids=str)
def test_pad_sequence_equals_pytorch(rest: tuple, batch_first: bool, side: str) -> None:
    source = rng()
    arrays = [source.normal(size=(n, *rest)) for n in (2, 5, 1, 4)]
    found = []
    for lib, module in ((tt, rnn), (torch_of(), torch_of().nn.utils.rnn)):
        xs = [leaf(lib, array) for array in arrays]
        outputs = [module.pad_sequence(xs, batch_first, 7.5, side)]
        found.append(outputs + gradients(lib, outputs, xs))
    same(*found, tolerance=0)


def test_pad_sequence_of_integers_keeps_them() -> None:
    padded = rnn.pad_sequence([tt.tensor([1, 2, 3]), tt.tensor([4])], True, padding_value=-1)
    assert padded.dtype == tt.int64 and padded.tolist() == [[1, 2, 3], [4, -1, -1]]


def test_pack_and_unpack_sequences() -> None:
    sequences = [tt.tensor(rng().normal(size=(n, 2))) for n in (3, 1, 4)]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 2, 1]
    assert packed.sorted_indices.tolist() == [2, 0, 1]
    assert packed.unsorted_indices.tolist() == [1, 2, 0]
    same(rnn.unpack_sequence(packed), sequences, tolerance=0)
    padded = rnn.pad_sequence(sequences)
    same(rnn.unpad_sequence(padded, [3, 1, 4]), sequences, tolerance=0)
    assert tuple(padded.shape) == (4, 3, 2), "unpad_sequence changed its argument"


def test_packed_sequence_is_a_named_tuple() -> None:
    packed = rnn.pack_sequence([tt.ones(2, 3), tt.ones(1, 3)])
    data, sizes, order, back = packed
    assert data is packed.data and sizes.tolist() == [2, 1] and order is back is None
    assert packed.double().data.dtype == tt.float64 and packed.float() is packed
    again = rnn.PackedSequence(data, sizes)
    assert again.data is data and not again.is_cuda


X, H = tt.zeros(4, 2, 3), tt.zeros(2, 4)


def weights(gates: int) -> tuple[Any, Any]:
    return tt.zeros(4 * gates, 3), tt.zeros(4 * gates, 4)


ERRORS: list[tuple[Callable[[], Any], type, str]] = [
    (lambda: nn.RNN(3, 4, nonlinearity="sine"), ValueError, "RNN: got nonlinearity='sine'"),
    (lambda: nn.LSTM(3, 0), ValueError, "LSTM: got hidden_size=0, expected more than 0"),
    (lambda: nn.LSTM(3.0, 4), TypeError, "LSTM: got input_size=3.0, expected an integer"),
    (lambda: nn.GRU(3, 4, 0), ValueError, "GRU: got num_layers=0"),
    (lambda: nn.GRU(3, 4, 2, dropout=1.5), ValueError, "GRU: got dropout=1.5"),
    (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "got proj_size=4, expected less than hidden"),
    (lambda: nn.LSTM(3, 4)(tt.zeros(3)), ValueError, r"LSTM: got input of shape \(3,\)"),
    (lambda: nn.LSTM(5, 4)(X), RuntimeError, "LSTM: input has 3 features .* input_size=5"),
    (lambda: nn.GRU(3, 4)(X[:0]), RuntimeError, "GRU: the sequence has no steps"),
    (lambda: nn.GRU(3, 4)(X.double()), ValueError, "GRU: input is .*float64, the weights are"),
    (lambda: nn.GRU(3, 4)(X, tt.zeros(2, 2, 4)), RuntimeError,
     r"GRU: the initial state has shape \(2, 2, 4\), expected \(1, 2, 4\)"),
    (lambda: nn.LSTM(3, 4)(X, tt.zeros(1, 2, 4)), RuntimeError,
     r"LSTM: the initial state has shape \(1, 2, 4\), expected \(1, 2, 4\), \(1, 2, 4\)"),
    (lambda: nn.GRU(3, 4)(X[:, 0], tt.zeros(1, 1, 4)), RuntimeError, "the initial state"),
    (lambda: nn.GRUCell(3, 4)(X), ValueError, r"GRUCell: got input of shape \(4, 2, 3\)"),
    (lambda: nn.GRUCell(5, 4)(X[0]), RuntimeError, "GRUCell: input has 3 features"),
    (lambda: nn.LSTMCell(3, 4)(X[0], (tt.zeros(2, 4), tt.zeros(2, 5))), RuntimeError,
     r"LSTMCell: the state has shape \(2, 5\), expected \(2, 4\)"),
    (lambda: tt.lstm_sequence(X[0], H, H, *weights(4)), RuntimeError,
     r"lstm_sequence: x has shape \(2, 3\), expected \(T, N, in\), at least one step"),
    (lambda: tt.gru_sequence(X[:0], H, *weights(3)), RuntimeError, "gru_sequence: x has shape"),
    (lambda: tt.lstm_sequence(X, H, H[:1], *weights(4)), RuntimeError,
     r"lstm_sequence: c has shape \(1, 4\), expected \(2, 4\)"),
    (lambda: tt.gru_sequence(X, H[:1], *weights(3)), RuntimeError,
     r"gru_sequence: h has shape \(1, 4\), expected \(2, 4\)"),
    (lambda: tt.gru_sequence(X, H, *weights(4)), RuntimeError,
     r"gru_sequence: w_ih has shape \(16, 3\), expected \(12, 3\)"),
    (lambda: tt.gru_sequence(X, H, *weights(3), None, tt.zeros(4)), RuntimeError,
     r"gru_sequence: b_hh has shape \(4,\), expected \(12,\)"),
    (lambda: tt.gru_sequence(X, H.double(), *weights(3)), RuntimeError, "gru_sequence: .*float64"),
    (lambda: tt.rnn_sequence(X, H, tt.zeros(4, 3), tt.zeros(5, 4)), RuntimeError,
     r"rnn_sequence: w_hh has shape \(5, 4\), expected \(4, 4\)"),
    (lambda: tt.rnn_sequence(X, H, *weights(1), tt.zeros(5)), RuntimeError,
     r"rnn_sequence: b has shape \(5,\), expected \(4,\)"),
    (lambda: tt.rnn_sequence(X.long(), H, *weights(1)), RuntimeError, "rnn_sequence: .*int64"),
    (lambda: tt.rnn_sequence(X, H, *weights(1), nonlinearity="sine"), ValueError,
     "rnn_sequence: got nonlinearity='sine', expected 'tanh' or 'relu'"),
    (lambda: rnn.pack_padded_sequence(X, [2, 3]), RuntimeError, "expected decreasing"),
    (lambda: rnn.pack_padded_sequence(X, [2, 0]), RuntimeError, "expected numbers from 1 to 4"),
    (lambda: rnn.pack_padded_sequence(X, [5, 1]), RuntimeError, "expected numbers from 1 to 4"),
    (lambda: rnn.pack_padded_sequence(X, [2]), RuntimeError, "got 1 lengths for input of shape"),
    (lambda: rnn.pad_packed_sequence(rnn.pack_sequence([X]), total_length=2), ValueError,
     "total_length=2, expected at least 4"),
    (lambda: rnn.pad_sequence([]), RuntimeError, "got no sequences"),
    (lambda: rnn.pad_sequence(3), RuntimeError, "got int, expected a list of tensors"),
    (lambda: rnn.pad_sequence([X], padding_side="up"), RuntimeError, "'left' or 'right'"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_errors(call: Callable[[], Any], error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_dropout_without_a_second_layer_warns() -> None:
    with pytest.warns(UserWarning, match="LSTM: dropout=0.5 has no effect") as record:
        nn.LSTM(3, 4, dropout=0.5)
    assert record[0].filename == __file__
