"""FloatTensor, cuda.FloatTensor …, set_default_tensor_type, and names of training in processes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

torch = pytest.importorskip("torch")

NAMES = ["FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "LongTensor", "IntTensor",
         "ShortTensor", "CharTensor", "ByteTensor", "BoolTensor"]  # fmt: skip

MADE: dict[str, Callable] = {
    "nothing": lambda L, T: T(),
    "sizes": lambda L, T: T(2, 3).zero_(),
    "a Size": lambda L, T: T(L.zeros(2, 3).shape).zero_(),
    "a size of 0-d": lambda L, T: T(L.tensor(1.0).shape).zero_(),
    "size=": lambda L, T: T(size=(2, 3)).zero_(),
    "device=": lambda L, T: T(2, 3, device="cpu").zero_(),
    "a tuple": lambda L, T: T((2, 3)),
    "a list": lambda L, T: T([[1, 0], [3, 4]]),
    "a range": lambda L, T: T(range(3)),
    "an array": lambda L, T: T(np.arange(6.0).reshape(2, 3)),
    "tensors in a list": lambda L, T: T([L.tensor(1), L.tensor(2)]),
    "a tensor of its dtype": lambda L, T: T(T([1, 2])),
}
REFUSED: dict[str, Callable] = {
    "a float": lambda L, T: T(2.5),
    "a string": lambda L, T: T("parrot"),
    "a generator": lambda L, T: T(n for n in range(3)),
    "a tensor of another dtype": lambda L, T: T(L.zeros(2, dtype=L.complex64)),
    "another device": lambda L, T: T(2, device="cuda"),
}


@pytest.fixture(autouse=True)
def defaults() -> Iterator[None]:
    yield
    tt.set_default_dtype(tt.float32)
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("how", MADE)
@pytest.mark.parametrize("name", NAMES)
def test_made_as_pytorch_makes_it(name: str, how: str) -> None:
    ours, theirs = (MADE[how](lib, getattr(lib, name)) for lib in (tt, torch))
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    assert tuple(ours.shape) == tuple(theirs.shape) and ours.tolist() == theirs.tolist()
    assert isinstance(ours, getattr(tt, name)) and not isinstance(ours, getattr(tt.cuda, name))


@pytest.mark.parametrize("how", REFUSED)
def test_refused(how: str) -> None:
    for lib in (tt, torch):
        with pytest.raises((TypeError, RuntimeError)):
            REFUSED[how](lib, lib.FloatTensor)
    with pytest.raises(TypeError, match="^FloatTensor: got ") as error:
        REFUSED[how](tt, tt.FloatTensor)
    assert "\n" not in str(error.value)


def test_a_tensor_of_its_dtype_shares_memory() -> None:
    x = tt.ones(3)
    tt.FloatTensor(x)[0] = 5
    assert x.tolist() == [5, 1, 1]


DEFAULTS = ["torch.FloatTensor", "torch.DoubleTensor", "torch.HalfTensor", "torch.BFloat16Tensor"]


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize("name", DEFAULTS)
def test_set_default_tensor_type(name: str, by_name: bool) -> None:
    found = []
    for lib in (tt, torch):
        lib.set_default_tensor_type(name if by_name else getattr(lib, name.split(".")[1]))
        made = lib.tensor([1.5]), lib.zeros(2), lib.nn.Linear(2, 2).weight
        found.append([str(x.dtype).split(".")[1] for x in made])
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
@pytest.mark.parametrize("bad", ["torch.LongTensor", "torch.FlotTensor", 3,
                                 "torch.float64", "LongTensor", "float64"])  # fmt: skip
def test_set_default_tensor_type_refuses(bad: Any) -> None:
    for lib in (tt, torch):
        given = getattr(lib, bad) if bad in ("LongTensor", "float64") else bad
        with pytest.raises((TypeError, AttributeError, ValueError)):
            lib.set_default_tensor_type(given)
    assert tt.get_default_dtype() == tt.float32


@pytest.mark.skipif(tt.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("name", NAMES)
def test_types_of_the_gpu_without_one(name: str) -> None:
    kind = getattr(tt.cuda, name)
    assert kind.dtype == getattr(tt, name).dtype and not isinstance(tt.ones(1), kind)
    with pytest.raises(RuntimeError, match="cuda"):
        kind(3)
    with pytest.raises(RuntimeError, match="cuda"):
        tt.ones(1).type(kind)
    with pytest.raises(TypeError, match="^set_default_tensor_type: got "):
        tt.set_default_tensor_type(kind)


def test_types_convert() -> None:
    for lib in (tt, torch):
        x = lib.tensor([1, 2]).type(lib.DoubleTensor)
        assert x.dtype == lib.float64 and x.type() == "torch.DoubleTensor"


PATHS = """distributed.fsdp FullyShardedDataParallel ShardingStrategy MixedPrecision fully_shard
distributed.fsdp.wrap transformer_auto_wrap_policy
distributed.fsdp.api FullStateDictConfig
distributed._composable.fsdp fully_shard FSDPModule
distributed.tensor DTensor Shard Replicate distribute_tensor
distributed._tensor DTensor
distributed.tensor.parallel.style ParallelStyle
distributed.tensor.parallel ColwiseParallel RowwiseParallel parallelize_module
distributed.device_mesh DeviceMesh init_device_mesh
distributed.algorithms._checkpoint.checkpoint_wrapper checkpoint_wrapper CheckpointImpl
distributed.checkpoint load save
distributed.checkpoint.state_dict get_model_state_dict StateDictOptions"""


@pytest.mark.parametrize("row", PATHS.splitlines())
def test_names_of_split_models(row: str) -> None:
    path, *names = row.split()
    ours, theirs = (importlib.import_module(f"{lib}.{path}") for lib in ("tinytensor", "torch"))
    for name in names:
        mine, other = getattr(ours, name), getattr(theirs, name)
        if hasattr(other, "__members__"):
            assert list(mine.__members__) == list(other.__members__)
            continue
        with pytest.raises(NotImplementedError, match=f"^distributed.{name}: there is one process"):
            mine()
        if isinstance(other, type):
            assert not isinstance(tt.ones(1), mine)


def test_names_of_processes() -> None:
    ours, theirs = tt.distributed, torch.distributed
    members = [n for n in dir(theirs.ReduceOp) if n.isupper()]
    assert all(hasattr(ours.ReduceOp, name) for name in members)
    assert ours.group.WORLD is ours.GroupMember.WORLD is None and not ours.is_nccl_available()
    for name in ("get_backend", "new_group", "new_subgroups"):
        with pytest.raises(ValueError, match="the process group is not initialised"):
            getattr(ours, name)()
    assert ours._all_gather_base is ours.all_gather_into_tensor


def test_tensors_without_memory() -> None:
    module = importlib.import_module("tinytensor._subclasses.fake_tensor")
    for name in ("FakeTensor", "FakeTensorMode", "FakeTensorConverter"):
        assert not isinstance(tt.ones(1), getattr(module, name))
        with pytest.raises(NotImplementedError, match=f"^_subclasses.{name}: tensors without"):
            getattr(module, name)()


def test_registered_operators() -> None:
    ops = importlib.import_module("tinytensor._ops").ops
    with pytest.raises(AttributeError, match="registered in C\\+\\+ do not exist"):
        _ = ops.aten


def test_parts_of_data_parallelism() -> None:
    ours = importlib.import_module("tinytensor.nn.parallel.scatter_gather")
    x, devices = tt.arange(10.0).reshape(5, 2), [0, 1]
    parts = ours.scatter({"x": x, "rest": [x + 1, "name"]}, devices)
    assert [part["x"].shape[0] for part in parts] == [3, 2] and parts[1]["rest"][1] == "name"
    model = tt.nn.Linear(2, 3)
    runs = tt.nn.parallel.parallel_apply(
        tt.nn.parallel.replicate(model, devices), tt.nn.parallel.scatter(x, devices)
    )
    joined = tt.nn.parallel.gather([{"y": run, "n": [run.sum()]} for run in runs], "cpu")
    np.testing.assert_allclose(joined["y"].detach(), model(x).detach(), rtol=1e-6)
    assert joined["n"][0].shape == (2,)
    joined["y"].sum().backward()
    np.testing.assert_allclose(model.weight.grad[0], x.sum(0))
    args, kwargs = ours.scatter_kwargs((x, 3), {"k": x}, devices)
    assert [len(a[0]) for a in args] == [len(k["k"]) for k in kwargs] == [3, 2] and args[1][1] == 3
    with pytest.raises(AssertionError, match="parallel_apply: got 1 modules, 2 inputs"):
        tt.nn.parallel.parallel_apply([model], [x, x])


def test_storage_of_files() -> None:
    storage = tt.ones(2).untyped_storage()
    assert tt.serialization.location_tag(storage) == "cpu"
    assert tt.serialization.normalize_storage_type(type(storage)) is type(storage)
    assert tt.zeros in importlib.import_module("tinytensor.utils._device")._device_constructors()


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}, {"bias": False}])
def test_names_of_recurrent_weights(kind: str, options: dict) -> None:
    ours, theirs = (getattr(lib.nn, kind)(3, 4, **options) for lib in (tt, torch))
    assert ours._all_weights == theirs._all_weights
    shapes = [[[list(w.shape) for w in row] for row in m.all_weights] for m in (ours, theirs)]
    assert shapes[0] == shapes[1]


def test_the_module_in_itself() -> None:
    assert tt.torch is tt and torch.torch is torch
