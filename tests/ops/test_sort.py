"""Sorting and sets, beyond the op table: ties, errors, 0-d input."""

from __future__ import annotations

import pytest

import tinytensor as tt


@pytest.mark.parametrize(
    "descending, expected", [(False, [1, 3, 0, 2, 4]), (True, [0, 2, 4, 1, 3])]
)
def test_equal_elements_keep_their_order(descending: bool, expected: list) -> None:
    x = tt.tensor([2, 1, 2, 1, 2])
    assert x.argsort(descending=descending).tolist() == expected
    assert x.sort(descending=descending).indices.tolist() == expected


def test_topk_takes_the_first_of_equal_elements() -> None:
    assert tt.tensor([1.0, 3.0, 3.0, 3.0]).topk(2).indices.tolist() == [1, 2]
    assert tt.tensor([1.0, 1.0, 3.0, 1.0]).topk(2, largest=False).indices.tolist() == [0, 1]


@pytest.mark.parametrize("k", [-1, 4])
def test_topk_out_of_range(k: int) -> None:
    message = rf"^topk: got k = {k}, expected 0 to 3, the length of dim 1 of shape \(2, 3\)"
    with pytest.raises(RuntimeError, match=message):
        tt.zeros(2, 3).topk(k)


@pytest.mark.parametrize("k", [0, 4])
def test_kthvalue_out_of_range(k: int) -> None:
    with pytest.raises(RuntimeError, match=rf"^kthvalue: got k = {k}, expected 1 to 3"):
        tt.zeros(2, 3).kthvalue(k)


def test_kthvalue_of_no_elements() -> None:
    with pytest.raises(IndexError, match=r"^kthvalue: .*shape \(3, 0\), whose dim 1 is empty"):
        tt.zeros(3, 0).kthvalue(1)


@pytest.mark.parametrize("name, args", [("sort", ()), ("topk", (1,)), ("kthvalue", (1,))])
def test_0d_input_gives_0d_results(name: str, args: tuple) -> None:
    values, indices = getattr(tt.tensor(3.0), name)(*args)
    assert values.shape == indices.shape == ()
    assert (values.item(), indices.item()) == (3.0, 0)


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_slices_of_a_0d_tensor(name: str) -> None:
    with pytest.raises(IndexError, match=f"^{name}: got dim 0 for a 0-d tensor"):
        getattr(tt, name)(tt.tensor(1), dim=0)


def test_nan_is_never_equal_to_nan() -> None:
    nan = float("nan")
    assert len(tt.tensor([nan, 1.0, nan]).unique()) == 3


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: tt.searchsorted(tt.zeros(2, 3), tt.zeros(3, 1)), r"^searchsorted: the sequence"),
        (lambda: tt.searchsorted(tt.zeros(3), 1.0, side="up"), "^searchsorted: got side 'up'"),
        (lambda: tt.searchsorted(tt.zeros(3), 1.0, side="left", right=True), "^searchsorted: got"),
        (lambda: tt.bucketize(1.0, tt.zeros(2, 3)), r"^bucketize: boundaries has shape \(2, 3\)"),
    ],
)
def test_places_refused(call: object, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()  # type: ignore[operator]
