"""record: values as they were, in this thread only, even when the block raises."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from tinytensor import graph
from tinytensor.autograd import detect_anomaly, is_anomaly_enabled
from tinytensor.autograd.mode import state
from tinytensor.errors import AnomalyError


def leaf(values: Any) -> tt.Tensor:
    return tt.tensor(values, dtype=tt.float64, requires_grad=True)


def test_values_do_not_change_with_later_writes() -> None:
    x = leaf([1.0, 2.0])
    c = tt.tensor([3.0, 4.0], dtype=tt.float64)
    with graph.record():
        h = x + c
        loss = (h * 1).sum()
        with tt.no_grad():
            c.zero_()
            x.zero_()
    g = graph.trace(loss)
    values = {n.variable or n.name: n.value.data for n in g.nodes if n.value}
    assert values["x"] == [1.0, 2.0] and values["c"] == [3.0, 4.0] and values["h"] == [4.0, 6.0]


def test_writes_in_place_are_ops_of_their_own() -> None:
    x = leaf([1.0, 2.0])
    with graph.record():
        y = x * 1
        y[0] = 5.0
        loss = y.sum()
    g = graph.trace(loss)
    assert [n.op for n in g.nodes if n.kind == "op"] == ["Mul", "IndexWrite", "Sum"]
    mul, write = (n for n in g.nodes if n.op in ("Mul", "IndexWrite"))
    assert mul.value is not None and mul.value.data == [1.0, 2.0]
    assert write.value is not None and write.value.data == [5.0, 2.0]


def test_the_mode_is_restored_and_leaves_no_trace() -> None:
    assert not state.mode.watched
    x = leaf(2.0)
    with graph.record() as outer:
        with graph.record() as inner:
            x * 2
        y = x * 3
    assert not state.mode.watched and state.mode.recording is None
    assert len(inner.nodes) == 1 and outer.nodes == [y.grad_fn]
    assert not hasattr((x * 4).grad_fn, "recorded")
    with pytest.raises(ZeroDivisionError), graph.record():
        _ = 1 / 0
    assert not state.mode.watched


def test_recording_and_anomaly_detection_go_together() -> None:
    x = leaf(-1.0)
    with graph.record() as recording:
        with pytest.raises(AnomalyError), detect_anomaly():
            x.log()
        assert state.mode.watched and not is_anomaly_enabled()
        x.exp()
    assert [n.op_name for n in recording.nodes] == ["log", "exp"]
    with detect_anomaly():
        with graph.record():
            pass
        assert is_anomaly_enabled() and state.mode.watched
    assert not state.mode.watched


def test_other_threads_are_not_recorded() -> None:
    x = leaf(2.0)
    with graph.record() as recording:
        thread = threading.Thread(target=lambda: x * 2)
        thread.start()
        thread.join()
    assert recording.nodes == []


def test_untracked_ops_are_left_out() -> None:
    with graph.record() as recording:
        tt.ones(2) * 2
        with tt.no_grad():
            leaf(1.0) * 2
    assert recording.nodes == []


def test_a_recorded_graph_is_freed_without_the_collector() -> None:
    x = leaf(np.ones(3))
    gc.collect()
    gc.disable()
    try:
        with graph.record() as recording:
            loss = (x * 2).tanh().sum()
        graph.trace(loss)
        del loss, recording
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_constants_have_names_and_places() -> None:
    class Scaled(nn.Module):
        def forward(self, x: tt.Tensor) -> tt.Tensor:
            factor = tt.tensor([2.0, 3.0])
            return x * factor

    inputs = tt.ones(2, requires_grad=True)
    target = tt.zeros(2)
    module = Scaled()
    with graph.record():
        loss = (module(inputs) - target).sum()
    g = graph.trace(loss)
    constants = {n.name: n.module for n in g.nodes if n.kind == "constant"}
    assert constants == {"factor": "Scaled", "target": ""}


# ------------------------------------------------------------------------------------------
# Forwards that fail
# ------------------------------------------------------------------------------------------


def failing(run: Any) -> graph.Recording:
    with pytest.raises(Exception) as caught, graph.record() as recording:
        run()
    assert caught.value is not None
    return recording


def test_a_failing_forward_leaves_the_graph_up_to_there() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(4, 1))
    data = tt.ones(5, 2)
    recording = failing(lambda: model(data).sum())
    assert repr(recording) == "Recording(2 ops, failed in linear)"
    g = graph.trace(recording)
    assert [n.name for n in g.nodes if n.kind == "op"] == ["linear", "tanh", "linear"]
    failed = g.nodes[-1]
    assert failed.failed and g.loss == failed.id and not any(n.failed for n in g.nodes[:-1])
    assert failed.module == "Sequential.2" and failed.op == "Linear"
    assert [g.nodes[i].name for i in failed.parents] == ["tanh", "2.weight", "2.bias"]
    assert g.error.startswith("linear: ") and g.error in repr(g)
    assert failed.source is not None and "model(data).sum()" in failed.source.text
    assert g.steps is None
    assert graph.Graph.from_json(g.to_json()).nodes[-1].failed


def test_a_failure_inside_an_op() -> None:
    a, b = leaf(np.ones((2, 3))), leaf(np.ones((4, 5)))
    g = graph.trace(failing(lambda: a.exp() + b))
    failed = g.nodes[-1]
    assert failed.name == "add" and [g.nodes[i].name for i in failed.parents] == ["exp", "b"]


class Recorder(nn.Module):
    """A module that records its own forward."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        with graph.record() as self.recording:
            return self.linear(x)


def test_modules_around_the_block_are_known() -> None:
    recorder = Recorder()
    nn.Sequential(nn.Tanh(), recorder)(tt.ones(3, 2))
    g = graph.trace(recorder.recording)
    assert list(g.modules) == ["Sequential", "Sequential.1", "Sequential.1.linear"]
    assert [n.name for n in g.nodes] == ["x", "1.linear.weight", "1.linear.bias", "linear"]
    assert state.mode.call is None


@pytest.mark.parametrize("width", [3, 2], ids=["in the inner block", "after it"])
def test_nested_blocks_both_know_the_module_that_raised(width: int) -> None:
    recorder = Recorder()
    model = nn.Sequential(recorder, nn.Linear(3, 1))
    g = graph.trace(failing(lambda: model(tt.ones(5, width))))
    assert g.nodes[-1].failed
    assert g.nodes[-1].module == ("Sequential.0.linear" if width == 3 else "Sequential.1")
    inner = recorder.recording.failure
    assert (inner.scope if inner else "") == ("Sequential.0.linear" if width == 3 else "")
    assert state.mode.call is None


def test_an_error_outside_of_all_ops() -> None:
    x = leaf(1.0)

    def run() -> None:
        raise RuntimeError("no luck: the user's own") if (x * 2).item() else None  # type: ignore

    g = graph.trace(failing(run))
    assert [n.name for n in g.nodes] == ["x", "mul", "RuntimeError"]
    assert g.nodes[-1].failed and g.error == "no luck: the user's own"


def test_a_whole_recording_is_a_graph_too() -> None:
    x = leaf(2.0)
    with graph.record() as recording:
        x.exp()
        x * 2
    g = graph.trace(recording)
    assert [n.name for n in g.nodes] == ["x", "exp", "mul"] and g.loss == 2
