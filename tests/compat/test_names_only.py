"""Modules of PyTorch that say what they cannot do, and small methods of Tensor, beside PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tinytensor.hub
import tinytensor.nested
import tinytensor.overrides
import tinytensor.types
import tinytensor.utils.cpp_extension
import tinytensor.utils.dlpack
from tinytensor.utils.hooks import RemovableHandle

import tinytensor as tt

REFUSED: dict[str, Callable] = {
    "hub.load": lambda: tt.hub.load("pytorch/vision", "resnet18", pretrained=True),
    "hub.load_state_dict_from_url": lambda: tt.hub.load_state_dict_from_url("https://x.y/z.pth"),
    "hub.download_url_to_file": lambda: tt.hub.download_url_to_file("https://x.y/z", "z"),
    "hub.list": lambda: tt.hub.list("pytorch/vision"),
    "nested.nested_tensor": lambda: tt.nested.nested_tensor([tt.ones(2), tt.ones(3)]),
    "nested.as_nested_tensor": lambda: tt.nested.as_nested_tensor([tt.ones(2)]),
    "nested.to_padded_tensor": lambda: tt.nested.to_padded_tensor(tt.ones(2), 0.0),
    "cpp_extension.load": lambda: tt.utils.cpp_extension.load("x", ["x.cpp"]),
    "cpp_extension.load_inline": lambda: tt.utils.cpp_extension.load_inline("x", ""),
    "cpp_extension.CppExtension": lambda: tt.utils.cpp_extension.CppExtension("x", []),
    "cpp_extension.CUDAExtension": lambda: tt.utils.cpp_extension.CUDAExtension("x", []),
    "cpp_extension.BuildExtension": lambda: tt.utils.cpp_extension.BuildExtension(),
    "overrides.handle_torch_function": lambda: tt.overrides.handle_torch_function(tt.exp, ()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_says_so_when_called(name: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"^{name}: ") as error:
        REFUSED[name]()
    assert "\n" not in str(error.value)


def test_harmless_ones_work(tmp_path: Any) -> None:
    before = tt.hub.get_dir()
    tt.hub.set_dir(tmp_path)
    assert tt.hub.get_dir() == str(tmp_path)
    tt.hub.set_dir(before)
    assert not tt.overrides.has_torch_function((tt.ones(1),))
    assert not tt.overrides.has_torch_function_unary(tt.ones(1))
    assert tt.overrides.is_tensor_like(tt.ones(1)) and not tt.overrides.is_tensor_like(3)
    handle = tt.ones(2, requires_grad=True).register_hook(print)
    assert isinstance(handle, RemovableHandle)
    assert isinstance(2.5, tt.types.Number) and isinstance(tt.ones(1), tt.types.Tensor)
    x = tt.ones(3)
    y = tt.utils.dlpack.from_dlpack(x)
    y[0] = 5
    assert x.tolist() == [5, 1, 1]


def test_small_methods_as_pytorch() -> None:
    torch = pytest.importorskip("torch")
    array = np.arange(24.0).reshape(2, 3, 4)
    for size in ((3, 4), (2, 1, 4), (1, 1, 1), (4,), (), (2, 3, 4)):
        found = []
        for lib in (tt, torch):
            x = lib.tensor(array, requires_grad=True)
            y = x.sum_to_size(size) if size != (3, 4) else x.sum_to_size(3, 4)
            (y * y).sum().backward()
            found.append((y.tolist(), x.grad.tolist()))
        assert found[0] == found[1]
    for size in ((5,), (2, 4)):
        with pytest.raises(RuntimeError, match="sum_to_size"):
            tt.tensor(array).sum_to_size(size)
    a, b = tt.tensor(array), torch.tensor(array)
    assert reversed(a).tolist() == reversed(b).tolist()
    assert reversed(tt.tensor(3)).item() == 3
    assert a.apply_(lambda x: x * 2 + 1).tolist() == b.apply_(lambda x: x * 2 + 1).tolist()
    with pytest.raises(TypeError, match="requires grad"):
        tt.ones(2, requires_grad=True).apply_(abs)
    assert a.is_same_size(a) and not a.is_same_size(a[0])
    assert not a.is_pinned() and not a.is_shared() and not a.is_neg()
    assert a.to_sparse_coo().layout is tt.sparse_coo
