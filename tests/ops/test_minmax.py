"""Extremes and medians, beyond the op table: named results, errors, ties in float32."""

from __future__ import annotations

import pytest

import tinytensor as tt

X = tt.tensor([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]])


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian", "cummax", "cummin", "sort"])
def test_results_have_names(name: str) -> None:
    result = getattr(tt, name)(X, dim=1)
    values, indices = result
    assert result.values is values and result.indices is indices
    assert indices.dtype == tt.int64
    assert tt.gather(X, 1, indices if indices.ndim == 2 else indices[:, None]).reshape(
        values.shape
    ).tolist() == values.tolist()  # fmt: skip
    assert repr(result).startswith(f"tinytensor.return_types.{name}(\nvalues=")


def test_aminmax_names_its_results() -> None:
    result = X.aminmax(dim=0)
    assert result.min.tolist() == [1, 2, 3]
    assert result.max.tolist() == [4, 5, 6]


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin", "aminmax"])
def test_extreme_of_no_elements(name: str) -> None:
    function = getattr(tt, name)
    with pytest.raises(RuntimeError, match=rf"^{name}: got an empty tensor of shape \(0, 3\)"):
        function(tt.zeros(0, 3))
    with pytest.raises(IndexError, match=rf"^{name}: .*shape \(0, 3\), whose dim 0 is empty"):
        function(tt.zeros(0, 3), dim=0)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_place_of_the_extreme_of_no_elements(name: str) -> None:
    function = getattr(tt, name)
    with pytest.raises(IndexError, match=rf"^{name}: got an empty tensor of shape \(0, 3\)"):
        function(tt.zeros(0, 3))
    with pytest.raises(IndexError, match=rf"^{name}: .*shape \(0, 3\), whose dim 0 is empty"):
        function(tt.zeros(0, 3), 0)
    assert function(tt.zeros(0, 3), 1).shape == (0,)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_place_of_the_extreme_of_booleans_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match=rf"^{name}: got dtype bool"):
        getattr(tt, name)(tt.tensor([True, False]))


def test_median_along_an_empty_dim() -> None:
    with pytest.raises(IndexError, match=r"^median: .*whose dim 1 is empty"):
        tt.zeros(3, 0).median(1)


@pytest.mark.parametrize("name", ["max", "min"])
def test_one_dim_at_a_time(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}: got dim \(0, 1\), expected an int"):
        getattr(tt, name)(X, (0, 1))


def test_ties_share_the_gradient_without_dim_and_not_along_one() -> None:
    x = tt.tensor([2.0, 1.0, 2.0], requires_grad=True)
    x.max().backward()
    assert x.grad.tolist() == [0.5, 0, 0.5]
    x.grad = None
    x.max(0).values.backward()
    assert x.grad.tolist() == [1, 0, 0]


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin", "median"])
def test_integers_stay_integers(name: str) -> None:
    assert getattr(tt, name)(tt.tensor([3, 1, 2], dtype=tt.int32)).dtype == tt.int32
