"""summary(model, *inputs): shapes, parameters, FLOPs and memory of every layer."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import nn
import tinytensor as tt
from nn.summary import readable

from .scenario import network


def test_the_table_in_the_text_of_the_module() -> None:
    text = sys.modules["nn.summary"].__doc__ or ""
    table = str(nn.summary(nn.Sequential(nn.Linear(4, 8), nn.ReLU()), tt.ones(2, 4)))
    assert [line.rstrip() for line in table.split("\n")] == [
        line.strip() for line in text.split("\n\n")[2].split("\n")
    ]


# model, input, FLOPs: 2 for each multiplication with an addition, counted by hand
FLOPS: list[tuple[Any, Any, int]] = [
    (lambda: nn.Linear(4, 3), (5, 4), 2 * 5 * 4 * 3),
    (lambda: nn.Linear(4, 3, bias=False), (2, 5, 4), 2 * 10 * 4 * 3),
    (lambda: nn.Bilinear(2, 3, 4), [(5, 2), (5, 3)], None),
    (lambda: nn.Conv1d(2, 4, 3), (1, 2, 8), 2 * 4 * 6 * 2 * 3),
    (lambda: nn.Conv2d(4, 6, 3, padding=1, groups=2), (2, 4, 5, 5), 2 * 2 * 6 * 25 * 2 * 9),
    (lambda: nn.ConvTranspose2d(3, 5, 2, stride=2), (1, 3, 4, 4), 2 * 3 * 16 * 5 * 4),
    (lambda: nn.ReLU(), (3, 3), 0),
    (lambda: nn.ReLU(inplace=True), (3, 3), 0),
    (lambda: nn.LayerNorm(4), (3, 4), 0),
    # 3 projections, scores and sums over 5 keys for 5 queries of 2 samples, output projection
    (lambda: nn.MultiheadAttention(8, 2), [(5, 2, 8)] * 3,
     2 * 10 * 8 * 24 + 2 * 2 * (2 * 5 * 5 * 8) + 2 * 10 * 8 * 8),
    # input and recurrent products of 4 gates, for each of 6 steps and 2 samples
    (lambda: nn.LSTM(3, 5), (6, 2, 3), 2 * 6 * 2 * 20 * (3 + 5)),
    # long sequences, which are one op
    (lambda: nn.LSTM(3, 64), (32, 2, 3), 2 * 32 * 2 * 256 * (3 + 64)),
    (lambda: nn.GRU(3, 64), (32, 2, 3), 2 * 32 * 2 * 192 * (3 + 64)),
    (lambda: nn.RNN(3, 64), (64, 2, 3), 2 * 64 * 2 * 64 * (3 + 64)),
]  # fmt: skip


@pytest.mark.parametrize("make, shapes, flops", FLOPS, ids=lambda v: "")
def test_flops(make: Any, shapes: Any, flops: int) -> None:
    table = nn.summary(make(), *(shapes if isinstance(shapes, list) else [shapes]))
    if flops is None:
        assert table.total_flops > 0
    else:
        assert table.total_flops == flops


def test_products_of_ones_own_count_where_they_happen() -> None:
    class Attention(nn.Module):
        def forward(self, x: Any) -> Any:
            weights = (x @ x.transpose(-1, -2)).softmax(dim=-1)
            return tt.einsum("bts,bsd->btd", weights, x)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = Attention()
            self.register_buffer("mixing", tt.ones(3, 3))

        def forward(self, x: Any) -> Any:
            return self.mixing @ self.attention(x)

    table = nn.summary(Net(), (2, 3, 4))
    found = {layer.path: layer.flops for layer in table.layers}
    assert found == {"": 2 * 2 * 3 * 3 * 4, "attention": 2 * 2 * (2 * 3 * 3 * 4)}


def test_rows_of_a_network() -> None:
    net = network(nn, tt)
    net.embed.weight.requires_grad_(False)
    net.head.eval()
    before = [m.training for m in net.modules()]
    table = nn.summary(net, tt.ones(2, 3))
    rows = {layer.path: layer for layer in table.layers}
    assert list(rows) == [path for path, _ in net.named_modules()]
    assert rows["blocks.0"].calls == 2 and rows["blocks.0.lin"].flops == 2 * 2 * (2 * 3 * 3)
    assert rows["blocks"].calls == 0 and rows["blocks.1"].output_shapes == [(2, 3)]
    # the head's weight is that of embed: counted there
    assert rows["embed"].parameters == 9 and rows["head.0"].parameters == 3
    assert rows["blocks.0"].parameters == 3 and rows["blocks.0.lin"].parameters == 12
    assert table.total_parameters == sum(p.numel() for p in net.parameters())
    assert table.trainable_parameters == table.total_parameters - 9
    assert "not trainable: 9" in str(table) and "blocks.0.lin (Linear) ×2" in str(table)
    # the model is as before
    assert [m.training for m in net.modules()] == before
    assert not net.embed.weight.requires_grad and net.head[0].bias.requires_grad
    assert all(p.grad is None for p in net.parameters())
    calls = []
    handle = net.embed.register_forward_hook(lambda m, a, o: calls.append(1))
    net(tt.ones(1, 3))
    handle.remove()
    assert calls == [1] and not net.blocks[0].lin._hooks.forward


def test_memory_counts_a_tensor_once() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.Identity(), nn.Sequential(nn.Identity()))
    table = nn.summary(net, tt.ones(2, 4))
    assert [layer.memory for layer in table.layers] == [64] * 5
    assert table.total_memory == 64


def test_batch_norm_keeps_its_statistics_and_dropout_does_not_drop() -> None:
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.9))
    nn.summary(net, tt.rand(4, 3))
    assert net[0].num_batches_tracked.item() == 0 and net.training and net[1].training


def test_the_model_is_left_as_it_was_after_an_error() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(4, 4))
    net[0].weight.requires_grad_(False)
    with pytest.raises(RuntimeError):
        nn.summary(net, tt.ones(1, 3))
    assert net.training and not net[0].weight.requires_grad
    assert not net[0]._hooks.forward and not net[1]._hooks.forward


def test_inputs_of_all_kinds() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(5, 3)

        def forward(self, index: Any, note: str, scale: Any = None) -> Any:
            return {"y": self.table(index) * scale, "note": note, "more": (index, None)}

    index = tt.tensor([[1, 2]])
    table = nn.summary(Net().double(), index, "note", scale=tt.ones(3, dtype=tt.float64))
    assert table.layers[0].output_shapes == [(1, 2, 3), (1, 2)]
    assert table.layers[1].memory == 48


def test_a_module_that_is_not_registered_is_listed() -> None:
    stranger = nn.Linear(2, 2)

    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return stranger(x)

    table = nn.summary(Net(), (1, 2))
    assert [(row.path, row.flops) for row in table.layers] == [("", 0), ("Linear", 8)]


@pytest.mark.parametrize(
    "size, text",
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (3 << 20, "3.0 MiB"),
        (5 << 40, "5120.0 GiB"),
    ],
)
def test_readable(size: int, text: str) -> None:
    assert readable(size) == text
