"""Normalisation: running statistics, errors, and what the result must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt

ZEROS, ONES = tt.zeros, tt.ones


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tt.layer_norm(ONES(2, 8), (8,), ONES(7)),
         r"layer_norm: weight has shape \(7,\), expected \(8,\), the last axis of x \(2, 8\)"),
        (lambda: tt.layer_norm(ONES(2, 8), (8,), None, ONES(3)),
         r"layer_norm: bias has shape \(3,\), expected \(8,\)"),
        (lambda: tt.layer_norm(ONES(2, 3, 4), (3, 4), ONES(4)),
         r"weight has shape \(4,\), expected \(3, 4\), the last 2 axes of x \(2, 3, 4\)"),
        (lambda: tt.layer_norm(ONES(2, 8), (7,)),
         r"layer_norm: x has shape \(2, 8\), expected \(…, 7\)"),
        (lambda: tt.rms_norm(ONES(2, 8), (8,), ONES(7)),
         r"rms_norm: weight has shape \(7,\), expected \(8,\)"),
        (lambda: tt.layer_norm(ONES(2, 8), (8,), ONES(8, dtype=tt.float64)),
         r"layer_norm: weight has dtype float64, expected float32"),
        (lambda: tt.layer_norm(ONES(2, 8, dtype=tt.int64), (8,)),
         r"layer_norm: got .*int64.*floating point"),
        (lambda: tt.group_norm(ONES(2, 6, 3), 4),
         r"group_norm: x \(2, 6, 3\) has 6 channels, .* num_groups=4"),
        (lambda: tt.group_norm(ONES(6), 2), r"group_norm: x has shape \(6,\), expected \(N, C"),
        (lambda: tt.group_norm(ONES(2, 6), 2, ONES(5)), r"group_norm: weight has shape \(5,\)"),
        (lambda: tt.batch_norm(ONES(2, 3), ZEROS(4), ONES(4)),
         r"batch_norm: running_mean has shape \(4,\), expected \(3,\), axis 1 of x \(2, 3\)"),
        (lambda: tt.batch_norm(ONES(2, 3), None, None), "batch_norm: running_mean and running_var"),
        (lambda: tt.instance_norm(ONES(2, 3, 4), use_input_stats=False), "instance_norm: running"),
    ],
)  # fmt: skip
def test_errors(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


@pytest.mark.parametrize("shape", [(1, 3), (1, 3, 1)])
def test_one_value_has_no_variance(shape: tuple) -> None:
    with pytest.raises(ValueError, match="batch_norm: expected more than 1 value per channel"):
        tt.batch_norm(ONES(*shape), None, None, training=True)


@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 2), (2, 3, 2, 2)])
@pytest.mark.parametrize("momentum", [0.1, 1.0])
def test_running_statistics(shape: tuple, momentum: float) -> None:
    tt.manual_seed(0)
    x = tt.randn(*shape, dtype=tt.float64)
    mean, var = tt.full((3,), 0.5, dtype=tt.float64), tt.full((3,), 2.0, dtype=tt.float64)
    tt.batch_norm(x, mean, var, training=True, momentum=momentum)
    axes = (0, *range(2, len(shape)))
    values = x.numpy()
    expected_mean = (1 - momentum) * 0.5 + momentum * values.mean(axes)
    expected_var = (1 - momentum) * 2.0 + momentum * values.var(axes, ddof=1)
    np.testing.assert_allclose(mean.numpy(), expected_mean)
    np.testing.assert_allclose(var.numpy(), expected_var)


def test_running_statistics_of_instance_norm() -> None:
    x = tt.randn(4, 3, 5, dtype=tt.float64)
    mean, var = tt.zeros(3, dtype=tt.float64), tt.zeros(3, dtype=tt.float64)
    tt.instance_norm(x, mean, var, momentum=0.5)
    np.testing.assert_allclose(mean.numpy(), 0.5 * x.numpy().mean(2).mean(0))
    np.testing.assert_allclose(var.numpy(), 0.5 * x.numpy().var(2, ddof=1).mean(0))


def test_running_statistics_are_written_in_place() -> None:
    mean, var = tt.zeros(3), tt.ones(3)
    memory, version = mean.data_ptr(), mean._version
    x = tt.randn(4, 3, requires_grad=True)
    y = tt.batch_norm(x, mean, var, training=True)
    assert mean.data_ptr() == memory and mean._version > version
    assert not mean.requires_grad and not var.requires_grad
    y.sum().backward()  # the batch's own statistics are what backward needs


def test_evaluation_changes_nothing() -> None:
    mean, var = tt.zeros(3), tt.ones(3)
    x = tt.randn(4, 3)
    y = tt.batch_norm(x, mean, var, eps=0.0)
    np.testing.assert_array_equal(y.numpy(), x.numpy())
    assert mean._version == 0 and var.tolist() == [1, 1, 1]


def test_result_has_mean_0_and_variance_1() -> None:
    x = tt.randn(4, 6, 5) * 3 + 2
    for y, axes in [
        (tt.layer_norm(x, (5,), eps=0.0), (2,)),
        (tt.layer_norm(x, (6, 5), eps=0.0), (1, 2)),
        (tt.batch_norm(x, None, None, training=True, eps=1e-9), (0, 2)),
        (tt.instance_norm(x, eps=0.0), (2,)),
    ]:
        np.testing.assert_allclose(y.numpy().mean(axes), 0, atol=1e-5)
        np.testing.assert_allclose(y.numpy().var(axes), 1, rtol=1e-4)


def test_group_norm_between_its_relatives() -> None:
    x = tt.randn(2, 6, 4)
    one_group, own_groups = tt.group_norm(x, 1).numpy(), tt.group_norm(x, 6).numpy()
    np.testing.assert_allclose(one_group, tt.layer_norm(x, (6, 4)).numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(own_groups, tt.instance_norm(x).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [tt.float32, tt.float64])
def test_rms_norm_default_eps_depends_on_dtype(dtype: tt.dtype) -> None:
    y = tt.rms_norm(tt.full((1, 4), 1e-6, dtype=dtype), (4,))
    expected = 1e-6 / np.sqrt(1e-12 + np.finfo(dtype.name).eps)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5)


def test_shapes_of_cdist_must_fit() -> None:
    with pytest.raises(RuntimeError, match=r"cdist: x1 has shape \(2, 3\) and x2 \(2, 4\)"):
        tt.cdist(ONES(2, 3), ONES(2, 4))


def test_distance_of_a_point_to_itself_has_gradient_zero() -> None:
    x = tt.ones(2, 3, requires_grad=True)
    tt.cdist(x, x.detach()).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0, 0, 0], [0, 0, 0]]
