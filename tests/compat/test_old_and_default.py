"""Version strings, the default device, flags of devices, and `Tensor.new`."""

from __future__ import annotations

import configparser
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

OTHERS = ["0.4", "1.13.1", "2", "2.0", "2.9.1", "2.13", "2.13.1", "2.14.0", "10.0"]


@pytest.mark.parametrize("other", OTHERS)
def test_a_version_compares_by_its_numbers(other: str) -> None:
    packaging = pytest.importorskip("packaging.version")
    ours, parsed = tt.version.__version__, packaging.parse(other)
    public = packaging.parse("2.13.0")
    for value in (other, tuple(map(int, other.split("."))), parsed):
        assert (ours < value) == (public < parsed) and (ours <= value) == (public <= parsed)
        assert (ours > value) == (public > parsed) and (ours >= value) == (public >= parsed)
    assert (packaging.parse(ours) >= parsed) == (public >= parsed)
    assert int(ours.split(".")[0]) == 2 and isinstance(ours, str)


def test_versions() -> None:
    assert tt.__version__ == tt.version.__version__ == "2.13.0+tinytensor.0.1.0"
    assert tt.version.cuda is None
    assert tt.torch_version.TorchVersion("1.10.0a") > (1, 2)
    with pytest.raises(ValueError, match="TorchVersion: got 'parrot', expected a version"):
        tt.version.__version__ > "parrot"  # noqa: B015


def test_versions_as_programs_ask() -> None:
    assert tt.__version__ >= "1.5.0" and not tt.__version__ < "1.10"
    major, minor = map(int, tt.__version__.split(".")[:2])
    assert (major, minor) == (2, 13) and tt.__version__[0] == "2"
    settings = configparser.ConfigParser()
    settings.read(Path(__file__).parents[2] / "setup.cfg")
    assert tt.version.tinytensor == settings["metadata"]["version"]


def test_default_device() -> None:
    assert tt.get_default_device() == tt.device("cpu")
    tt.set_default_device("cpu")
    assert tt.ones(2).device.type == "cpu" and tt.get_default_device().type == "cpu"
    seen: list = []
    try:
        tt.set_default_device("cuda:1")
        assert tt.get_default_device() == tt.device("cuda", 1)
        thread = threading.Thread(target=lambda: seen.append(tt.get_default_device().type))
        thread.start()
        thread.join()
        with tt.device("cpu"):
            assert tt.zeros(2).device.type == "cpu" == tt.get_default_device().type
        assert tt.get_default_device().type == "cuda"
    finally:
        tt.set_default_device(None)
    assert seen == ["cpu"] and tt.get_default_device().type == "cpu"
    with pytest.raises(tt.DeviceError, match="device: got 'meta'"):
        tt.set_default_device("meta")


def test_new_tensors_are_made_on_the_default_device() -> None:
    if tt.cuda.is_available():
        pytest.skip("there is a GPU")
    with tt.device("cuda"):
        for make in (tt.zeros, tt.rand, tt.arange, tt.eye, tt.tensor, tt.as_tensor, tt.randperm):
            with pytest.raises(tt.DeviceError, match="cuda: CuPy is"):
                make(3)
        assert tt.ones(2, device="cpu").device.type == "cpu"
    assert tt.tensor(3).device.type == "cpu"


@pytest.mark.parametrize("name", ["xpu", "mps", "xla", "meta", "mkldnn", "sparse", "nested"])
def test_flags(name: str) -> None:
    assert getattr(tt.ones(2), f"is_{name}") is False


NEW: dict[str, tuple] = {
    "nothing": (),
    "sizes": (2, 3),
    "list": ([1, 2],),
    "nested": ([[1, 2], [3, 4]],),
    "tuple": ((1, 2),),
    "array": (np.array([1, 2]),),
    "float": (3.5,),
    "string": ("a",),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("name", NEW)
def test_new(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    results: list[Any] = []
    for library in (tt, torch):
        try:
            result = library.ones(2, dtype=getattr(library, dtype)).new(*NEW[name])
            values = result.tolist() if name not in ("nothing", "sizes") else None
            results.append((tuple(result.shape), str(result.dtype).split(".")[-1], values))
        except TypeError:
            results.append(TypeError)
    assert results[0] == results[1]


def test_new_of_sizes_and_tensors() -> None:
    x = tt.ones(2)
    assert x.new(tt.Size([3, 1])).shape == (3, 1)
    y = x.new(x)
    y[0] = 5
    assert x.tolist() == [5, 1]
    with pytest.raises(TypeError, match="new: got a tensor of tinytensor.int64, expected tinyt"):
        x.new(tt.tensor([1]))


@pytest.mark.filterwarnings("ignore:volatile was removed:UserWarning")  # PyTorch's
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("volatile", [None, False, True])
def test_variable(volatile: bool | None, requires_grad: bool) -> None:
    torch = pytest.importorskip("torch")
    options = {} if volatile is None else {"volatile": volatile}
    for library in (tt, torch):
        data = library.ones(2)
        if volatile and requires_grad:
            with pytest.raises(ValueError):
                library.autograd.Variable(data, requires_grad=True, volatile=True)
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x = library.autograd.Variable(data, requires_grad=requires_grad, **options)
        assert x.requires_grad == requires_grad and x.is_leaf and x.data_ptr() == data.data_ptr()
        if library is tt:  # PyTorch warns only once in a process
            assert [w.category for w in caught] == [UserWarning] * (volatile is not None)
        assert isinstance(x, library.autograd.Variable)
        assert not isinstance(3, library.autograd.Variable)
