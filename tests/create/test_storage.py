"""storage, untyped_storage, resize_, set_, empty_strided and less common distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")


def describe(storage: Any) -> list:
    return [storage.size(), len(storage), storage.nbytes(), storage.tolist(), storage[1]]


@needs_torch
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_storage_equals_pytorchs(dtype: str) -> None:
    def program(lib: Any) -> list:
        x = lib.arange(6, dtype=getattr(lib, dtype)).reshape(2, 3)
        y = x.t()[1:]
        y.untyped_storage()[0] = 1  # the lowest byte of x[0, 0]
        shared = x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
        other = x.clone().untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
        bytes_of_y = y.untyped_storage()
        return [
            *(describe(s) for s in (x.storage(), y.storage(), bytes_of_y)),
            shared, other, x.tolist(), y.storage().data_ptr() == x.data_ptr(),
        ]  # fmt: skip

    assert program(tt) == program(torch)


@needs_torch
def test_resize_and_set_equal_pytorchs() -> None:
    def program(lib: Any) -> list:
        x = lib.arange(6.0).reshape(2, 3)
        seen: list = [x.resize_(2, 2).tolist(), x.resize_((3,)).tolist()]
        grown = lib.ones(2).resize_(3, 4)
        seen += [list(grown.shape), grown.flatten()[:2].tolist()]
        seen.append(list(lib.zeros(1).resize_as_(x).shape))
        y = lib.empty(0).set_(x)
        y[0] = 7
        seen += [x.tolist(), y.is_set_to(x), y.clone().is_set_to(x), list(y.set_().shape)]
        return seen

    assert program(tt) == program(torch)


@pytest.mark.parametrize("name", ["resize_", "set_"])
def test_memory_of_tracked_tensors_and_views_is_not_replaced(name: str) -> None:
    argument: Any = 1 if name == "resize_" else tt.ones(2)  # resize_ to the same size does nothing
    with pytest.raises(RuntimeError, match=f"{name}: got a tensor that requires grad"):
        getattr(tt.ones(3, requires_grad=True), name)(argument)
    with tt.no_grad():
        part = tt.ones(3, requires_grad=True)[1:]
        with pytest.raises(RuntimeError, match=f"{name}: got a (view|tensor) "):
            getattr(part, name)(argument)
    with pytest.raises(RuntimeError, match="set_: got dtype"):
        tt.ones(3).set_(tt.ones(3, dtype=tt.int64))


@pytest.mark.parametrize(("size", "stride"), [((2, 3), (1, 2)), ((2, 3), (5, 1)), ((0, 3), (1, 1))])
def test_empty_strided(size: tuple, stride: tuple) -> None:
    for x in (tt.empty_strided(size, stride), tt.ones(1).new_empty_strided(size, stride)):
        assert tuple(x.shape) == size
        assert 0 in size or x.stride() == stride
    with pytest.raises(RuntimeError, match="empty_strided: got 2 sizes and 1 strides"):
        tt.empty_strided((2, 3), (1,))


def test_empty_permuted() -> None:
    x = tt.empty_permuted((2, 3, 5, 7), (0, 2, 3, 1), dtype=tt.float64)
    assert tuple(x.shape) == (2, 3, 5, 7)
    assert x.stride() == (105, 1, 21, 3)
    with pytest.raises(RuntimeError, match="empty_permuted: got layout"):
        tt.empty_permuted((2, 3), (0, 0))


@pytest.mark.parametrize("dtype", [tt.float32, tt.float64])
def test_quantiles_of_draws(dtype: Any) -> None:
    """At the quartiles of each distribution a quarter of the draws lies below."""
    tt.manual_seed(3)
    quarter = np.array([0.25, 0.5, 0.75])
    normal = np.array([-0.6744897501960817, 0.0, 0.6744897501960817])
    expected = {
        "cauchy_": (1.5 + 2 * np.tan(np.pi * (quarter - 0.5)), (1.5, 2.0)),
        "log_normal_": (np.exp(0.5 + 0.7 * normal), (0.5, 0.7)),
    }
    for name, (places, args) in expected.items():
        x = getattr(tt.empty(40000, dtype=dtype), name)(*args)
        assert x.dtype == dtype
        shares = [(x.numpy() <= place).mean() for place in places]
        np.testing.assert_allclose(shares, quarter, atol=0.012, err_msg=name)


@pytest.mark.parametrize("dtype", [tt.float32, tt.int64])
def test_geometric_counts_trials(dtype: Any) -> None:
    tt.manual_seed(4)
    x = tt.empty(40000, dtype=dtype).geometric_(0.3).numpy()
    assert x.min() == 1
    for k in (1, 2, 3):
        np.testing.assert_allclose((x == k).mean(), 0.3 * 0.7 ** (k - 1), atol=0.012)


@pytest.mark.parametrize(
    ("name", "args"), [("cauchy_", (0, -1)), ("log_normal_", (0, 0)), ("geometric_", (1.5,))]
)
def test_wrong_parameters_are_refused(name: str, args: tuple) -> None:
    with pytest.raises(RuntimeError, match=f"{name}: got "):
        getattr(tt.empty(3), name)(*args)
    if name != "geometric_":
        with pytest.raises(NotImplementedError, match=f"{name}: got "):
            getattr(tt.empty(3, dtype=tt.int64), name)()
