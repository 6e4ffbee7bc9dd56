"""save and load: whole values back, files that others read, and nothing bad from bad files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
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
    [({"a": {"b": object()}}, "a.b is a object"), ({(1, 2): 3}, "key of type tuple"),
     ({"f": print}, "f is a builtin"), ({"z": 1j}, "z is a complex")],
)  # fmt: skip
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
