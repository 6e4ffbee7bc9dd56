"""save and load: whole values back, files that others read, and nothing bad from bad files."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

pytest.importorskip("safetensors")
import safetensors.numpy


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tt.Tensor):
        equal = np.array_equal(
            a.detach().numpy(), b.detach().numpy(), equal_nan=a.is_floating_point()
        )
        return isinstance(b, tt.Tensor) and a.dtype == b.dtype and a.shape == b.shape and equal
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))


def checkpoint() -> dict[str, Any]:
    return {
        "model": {"w": tt.randn(3, 4), "b": tt.zeros(0), "n": tt.tensor(7)},
        "optimizer": {"state": {0: {"step": 3, "m": tt.ones(2, dtype=tt.float64)}}, "lr": 0.1},
        "list": [1, 2.5, "text", None, True, (tt.tensor([True, False]), -1)],
        "odd": {"nan": float("nan"), "inf": -float("inf"), "": "empty key", "a.b": tt.ones(1)},
        "a": {"b": tt.full((2,), 5, dtype=tt.int8)},
        "half": tt.ones(2, 2, dtype=tt.float16).t(),
        "random": tt.get_rng_state(),
    }


VALUES: dict[str, Any] = {
    "nested": checkpoint(),
    "state dict": {"a.weight": tt.randn(2, 3), "a.bias": tt.zeros(3)},
    "tensor": tt.arange(5),
    "number": 3,
    "text": "hello",
    "empty": {},
    "list": [],
    "non-contiguous": {"x": tt.arange(12).reshape(3, 4).t()[::2]},
    "tracked": {"x": tt.ones(2, requires_grad=True) * 2, "k": 1},
}


@pytest.mark.parametrize("name", VALUES)
def test_round_trip(name: str, tmp_path: Path) -> None:
    tt.save(VALUES[name], tmp_path / "x.safetensors")
    assert same(VALUES[name], tt.load(tmp_path / "x.safetensors"))
    assert os.listdir(tmp_path) == ["x.safetensors"]


def test_odd_names_come_back(tmp_path: Path) -> None:
    """Half characters cannot stand in a file of UTF-8, nor can two of them become one name."""
    names = ["nul\0", "high\ud800", "high\udfff", "high?", " ", "<b>", 20_000 * "a"]
    saved = {name: tt.tensor(float(i)) for i, name in enumerate(names)}
    tt.save(saved, tmp_path / "odd")
    loaded = tt.load(tmp_path / "odd")
    assert list(loaded) == names
    assert [float(loaded[name]) for name in names] == list(range(len(names)))


def test_plain_state_dicts_are_ordinary_safetensors(tmp_path: Path) -> None:
    state = {"a.weight": tt.randn(2, 3), "b": tt.arange(3)}
    tt.save(state, tmp_path / "ours")
    theirs = safetensors.numpy.load_file(tmp_path / "ours")
    assert all(np.array_equal(theirs[k], state[k].numpy()) for k in state)
    safetensors.numpy.save_file({"q": np.eye(2, dtype=np.float32)}, tmp_path / "theirs")
    assert tt.load(tmp_path / "theirs")["q"].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("value", "words"),
    [({"a": lambda: 0}, "cannot pickle a dict"), ([threading.Lock()], "cannot pickle a list")],
)
def test_what_cannot_be_saved_leaves_the_old_file(value: Any, words: str, tmp_path: Path) -> None:
    tt.save({"old": 1}, tmp_path / "x")
    with pytest.raises(TypeError, match=f"save: .*{words}"):
        tt.save(value, tmp_path / "x")
    assert tt.load(tmp_path / "x") == {"old": 1} and os.listdir(tmp_path) == ["x"]


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="load: .*nothing does not exist"):
        tt.load(tmp_path / "nothing")
    with pytest.raises(OSError, match="save: cannot write .*nowhere.x"):
        tt.save({}, tmp_path / "nowhere" / "x")


def test_mutated_files_give_an_error_or_a_value(tmp_path: Path) -> None:
    """Ten thousand damaged files: a RuntimeError in one line, or something that loads."""
    path = tmp_path / "x"
    tt.save(checkpoint(), path)
    whole = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    refused = 0
    for i in range(10_000):
        mutated = bytearray(whole)
        header = 8 + int.from_bytes(whole[:8], "little")
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(0, header if i % 3 else len(mutated)))
            mutated[place] = int(rng.integers(0, 256))
        if i % 5 == 0:
            mutated = mutated[: rng.integers(0, len(mutated))]
        path.write_bytes(mutated)
        try:
            tt.load(path)
        except RuntimeError as error:
            refused += 1
            assert str(error).startswith(f"load: {path}") and "\n" not in str(error)
    assert refused > 5_000


HOSTILE: list[Any] = [
    {"tensor": "nowhere"}, {"dict": 5}, {"dict": [[1]]}, {"dict": [[[], 1]]}, {"list": 3}, [1],
    {"float": "1e999"}, {"eval": "1+1"}, {"a": 1, "b": 2}, {"dict": [[None, 1]]},
]  # fmt: skip


@pytest.mark.parametrize("outline", HOSTILE, ids=str)
def test_hostile_outlines(outline: Any, tmp_path: Path) -> None:
    data = safetensors.numpy.save({}, {"tinytensor": json.dumps(outline)})
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(RuntimeError, match="load: .*damaged outline"):
        tt.load(tmp_path / "x")
    deep = '{"list":[' * 5_000 + "]}" * 5_000
    (tmp_path / "x").write_bytes(safetensors.numpy.save({}, {"tinytensor": deep}))
    with pytest.raises(RuntimeError, match="load: .*damaged outline"):
        tt.load(tmp_path / "x")


def test_a_killed_process_leaves_the_old_file_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "x"
    code = f"""
import tinytensor as tt
for i in range(10**6):
    tt.save({{"i": i, "x": tt.full((50_000,), i)}}, {str(path)!r})
    print(i, flush=True)
"""
    rng = np.random.default_rng(1)
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()  # one file is written
        time.sleep(float(rng.uniform(0, 0.1)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        value = tt.load(path)
        assert (value["x"] == value["i"]).all()


# ------------------------------------------------------------------------------------------
# File objects, whole objects, PyTorch's files
# ------------------------------------------------------------------------------------------


def through(value: Any, **options: Any) -> Any:
    """`value` saved to and loaded from memory."""
    file = io.BytesIO()
    tt.save(value, file)
    file.seek(0)
    return tt.load(file, **options)


@pytest.mark.parametrize("name", VALUES)
def test_file_objects(name: str, tmp_path: Path) -> None:
    assert same(VALUES[name], through(VALUES[name]))
    with open(tmp_path / "x", "wb") as file:
        tt.save(VALUES[name], file)
    with open(tmp_path / "x", "rb") as file:
        assert same(VALUES[name], tt.load(file))
    assert same(VALUES[name], tt.load(tmp_path / "x"))


def test_wrong_file_objects(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="save: .*open for text"):
        tt.save({}, io.StringIO())
    with pytest.raises(TypeError, match="load: .*open for text"):
        tt.load(io.StringIO("x"))
    with pytest.raises(EOFError, match="seek"):
        tt.load(io.BytesIO())
    with pytest.raises(RuntimeError, match="load: BytesIO is damaged"):
        tt.load(io.BytesIO(b"not a file"))


def test_whole_modules_need_the_flag(tmp_path: Path) -> None:
    model = tt.nn.Sequential(tt.nn.Linear(3, 2), tt.nn.BatchNorm1d(2), tt.nn.ReLU())
    tt.save(model, tmp_path / "model")
    for source in (tmp_path / "model", io.BytesIO((tmp_path / "model").read_bytes())):
        with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
            tt.load(source)
    loaded = tt.load(tmp_path / "model", weights_only=False)
    assert type(loaded) is tt.nn.Sequential
    assert same(dict(model.state_dict()), dict(loaded.state_dict()))
    assert all(type(p) is tt.nn.Parameter and p.requires_grad for p in loaded.parameters())
    x = tt.randn(4, 3)
    assert (model(x) == loaded(x)).all()


def test_other_objects() -> None:
    value = {(1, 2): Path("a"), "z": 1j, "array": np.arange(3), "f": print}
    loaded = through(value, weights_only=False)
    assert loaded["z"] == 1j and loaded[1, 2] == Path("a") and loaded["f"] is print
    assert through(through({"z": 1j, "s": {1, 2}})) == {"z": 1j, "s": {1, 2}}  # safe without it
    with pytest.raises(RuntimeError, match="pickle_module, which needs weights_only=False"):
        through({}, pickle_module=pickle)


def test_malicious_pickles_do_not_run(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    class Evil:
        def __reduce__(self) -> tuple:
            return os.mkdir, (str(tmp_path / "ran"),)

    for write in (tt.save, torch.save):
        write({"x": Evil()}, tmp_path / "evil")
        with pytest.raises(pickle.UnpicklingError, match="mkdir.*weights_only=False"):
            tt.load(tmp_path / "evil")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("map_location", [
    None, "cpu", tt.device("cpu"), {"cpu": "cpu"}, lambda storage, location: storage,
    lambda storage, location: None,
])  # fmt: skip
def test_map_location(map_location: Any) -> None:
    assert same(VALUES["nested"], through(VALUES["nested"], map_location=map_location, mmap=None))


DTYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_pytorch_checkpoints(dtype: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(12).reshape(3, 4).to(getattr(torch, dtype))
    saved = {"x": x, "t": x.t()[1:], "row": x[1], "0-d": x[1, 1], "empty": x[:0], "n": [1, 2.5]}
    torch.save(saved, tmp_path / "x.pt")
    loaded = tt.load(tmp_path / "x.pt")
    assert list(loaded) == list(saved) and loaded["n"] == [1, 2.5]
    for key in ("x", "t", "row", "0-d", "empty"):
        assert str(loaded[key].dtype) == f"tinytensor.{dtype}"
        assert loaded[key].tolist() == saved[key].tolist()
        assert tuple(loaded[key].shape) == tuple(saved[key].shape)
    loaded["x"][1] = 0  # views share their storage, as in PyTorch
    assert not loaded["row"].any()


def test_pytorch_training_state(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(5, 3)).square().mean().backward()
    optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "parameter": model[0].weight}, tmp_path / "x.pt")  # fmt: skip
    loaded = tt.load(tmp_path / "x.pt")
    ours = tt.nn.Sequential(tt.nn.Linear(3, 4), tt.nn.BatchNorm1d(4))
    ours.load_state_dict(loaded["model"])
    assert all(ours.state_dict()[k].tolist() == v.tolist() for k, v in model.state_dict().items())
    tt.optim.Adam(ours.parameters()).load_state_dict(loaded["optimizer"])
    assert loaded["parameter"].requires_grad
    torch.save(model, tmp_path / "whole.pt")
    for flag in (True, False):
        with pytest.raises(pickle.UnpicklingError, match="only in PyTorch; save its state_dict"):
            tt.load(tmp_path / "whole.pt", weights_only=flag)


def test_pytorch_bfloat16_stays(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    x = torch.randn(50).bfloat16()
    torch.save({"x": x}, tmp_path / "x.pt")
    ours = tt.load(tmp_path / "x.pt")["x"]
    assert ours.dtype is tt.bfloat16 and ours.tolist() == x.tolist()


def test_mutated_pytorch_files(tmp_path: Path) -> None:
    """Two thousand damaged checkpoints: an error of one line, or something that loads."""
    torch = pytest.importorskip("torch")
    torch.save({"a": torch.randn(3, 4), "b": [1, "x", torch.arange(3)]}, tmp_path / "x")
    whole = (tmp_path / "x").read_bytes()
    rng = np.random.default_rng(0)
    for i in range(2_000):
        mutated = bytearray(whole)
        for _ in range(rng.integers(1, 4)):
            mutated[int(rng.integers(4, len(mutated)))] = int(rng.integers(0, 256))
        try:
            tt.load(io.BytesIO(mutated if i % 5 else mutated[: rng.integers(4, len(mutated))]))
        except (RuntimeError, pickle.UnpicklingError) as error:
            assert str(error).startswith("load: BytesIO") and "\n" not in str(error)
