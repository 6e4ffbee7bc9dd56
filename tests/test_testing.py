"""testing.assert_close agrees with PyTorch's about what is close."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.testing import assert_allclose, assert_close

nan, inf = float("nan"), float("inf")

# name: (actual, expected, options), built with either library
CASES: dict[str, Any] = {
    "equal": lambda t: (t.ones(2), t.ones(2), {}),
    "within float32's": lambda t: (t.tensor([1.0, 100.0]), t.tensor([1.000009, 100.0001]), {}),
    "outside float32's": lambda t: (t.tensor([1.0]), t.tensor([1.0001]), {}),
    "float64 is stricter": lambda t: (
        t.tensor([1.0], dtype=t.float64), t.tensor([1.000001], dtype=t.float64), {}),
    "float16": lambda t: (
        t.tensor([1.0], dtype=t.float16), t.tensor([1.0009], dtype=t.float16), {}),
    "bfloat16": lambda t: (
        t.tensor([1.0], dtype=t.bfloat16), t.tensor([1.01], dtype=t.bfloat16), {}),
    "complex": lambda t: (t.tensor([1 + 1j]), t.tensor([1 + 1.00001j]), {}),
    "integers": lambda t: (t.tensor([1, 2]), t.tensor([1, 3]), {}),
    "integers with atol": lambda t: (t.tensor([1, 2]), t.tensor([1, 3]), {"rtol": 0, "atol": 1}),
    "booleans": lambda t: (t.tensor([True]), t.tensor([True]), {}),
    "shapes": lambda t: (t.ones(2), t.ones(3), {}),
    "no broadcasting": lambda t: (t.ones(1), t.ones(3), {}),
    "dtypes": lambda t: (t.ones(2), t.ones(2, dtype=t.float64), {}),
    "dtypes ignored": lambda t: (t.ones(2), t.ones(2, dtype=t.float64), {"check_dtype": False}),
    "strides": lambda t: (t.ones(2, 3), t.ones(3, 2).T, {"check_stride": True}),
    "strides ignored": lambda t: (t.ones(2, 3), t.ones(3, 2).T, {}),
    "nan": lambda t: (t.tensor([nan]), t.tensor([nan]), {}),
    "nan equal": lambda t: (t.tensor([nan, 1.0]), t.tensor([nan, 1.0]), {"equal_nan": True}),
    "nan and a number": lambda t: (t.tensor([nan]), t.tensor([1.0]), {"equal_nan": True}),
    "inf": lambda t: (t.tensor([inf, -inf]), t.tensor([inf, -inf]), {}),
    "inf and -inf": lambda t: (t.tensor([inf]), t.tensor([-inf]), {}),
    "a number and inf": lambda t: (t.tensor([1.0]), t.tensor([inf]), {}),
    "scalars": lambda t: (t.tensor(1.0), t.tensor(2.0), {}),
    "empty": lambda t: (t.ones(0, 2), t.ones(0, 2), {}),
    "floats": lambda t: (1.0, 1.0 + 1e-8, {}),
    "floats apart": lambda t: (1.0, 1.0 + 1e-6, {}),
    "ints": lambda t: (1, 2, {}),
    "int and float": lambda t: (1, 1.0, {}),
    "arrays": lambda t: (np.ones(2), np.ones(2), {}),
    "lists": lambda t: ([t.ones(2), 1.0], [t.ones(2), 2.0], {}),
    "list and tuple": lambda t: ([t.ones(2)], (t.ones(2),), {}),
    "lengths": lambda t: ([1.0], [1.0, 2.0], {}),
    "dicts": lambda t: ({"a": t.ones(1)}, {"a": t.ones(1)}, {}),
    "keys": lambda t: ({"a": t.ones(1)}, {"b": t.ones(1)}, {}),
    "tensor and list": lambda t: (t.ones(2), [1.0, 1.0], {}),
    "strings": lambda t: ("a", "a", {}),
    "rtol alone": lambda t: (t.ones(1), t.ones(1), {"rtol": 1e-3}),
    "given tolerances": lambda t: (t.tensor([1.0]), t.tensor([1.05]), {"rtol": 0.1, "atol": 0.0}),
    "requires grad": lambda t: (t.ones(2, requires_grad=True), t.ones(2), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_same_verdict_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")
    verdicts = []
    for library, function in ((tt, assert_close), (torch, torch.testing.assert_close)):
        actual, expected, options = CASES[name](library)
        try:
            function(actual, expected, **options)
            verdicts.append(None)
        except (AssertionError, TypeError, ValueError) as error:
            verdicts.append(type(error))
    assert verdicts[0] is verdicts[1]


MESSAGES = {
    "outside float32's": "1 of 1 elements differ, most at (0,): got 1.0, expected 1.00",
    "scalars": "got 1.0, expected 2.0 (allowed 1e-05 + 1.3e-06·|expected|)",
    "shapes": "got shape tinytensor.Size([2]), expected tinytensor.Size([3])",
    "dtypes": "got dtype tinytensor.float32, expected tinytensor.float64",
    "lists": "got 1.0, expected 2.0 (allowed 1e-07 + 1e-07·|expected|) (at item [1])",
    "keys": "got keys ['a'] too many, ['b'] are missing",
    "lengths": "got 1 items, expected 2",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name: str) -> None:
    actual, expected, options = CASES[name](tt)
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected, **options)
    assert str(caught.value).startswith("assert_close: " + MESSAGES[name])


def test_own_message() -> None:
    with pytest.raises(AssertionError, match="^parrot$"):
        assert_close(tt.ones(1), tt.zeros(1), msg="parrot")
    with pytest.raises(AssertionError, match="^parrot assert_close: 1 of 1"):
        assert_close(tt.ones(1), tt.zeros(1), msg=lambda text: f"parrot {text}")


def test_allclose() -> None:
    assert_allclose(tt.tensor([1.0, nan]), [1.0, nan])
    assert_allclose([1.0, 2.0], tt.tensor([1.0, 2.0], dtype=tt.float64))
    with pytest.raises(AssertionError, match="1 of 2 elements differ"):
        tt.testing.assert_allclose(tt.tensor([1.0, 2.0]), [1.0, 2.5], rtol=1e-3, atol=1e-3)
