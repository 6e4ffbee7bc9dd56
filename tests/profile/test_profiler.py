"""torch.profiler's names: sums of times, schedules, named blocks."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from tinytensor.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

import tinytensor as tt


def step(model: tt.nn.Module, optimizer: tt.optim.Optimizer) -> None:
    optimizer.zero_grad()
    model(tt.ones(3, 4)).square().sum().backward()
    optimizer.step()


def model_and_optimizer() -> tuple[tt.nn.Module, tt.optim.Optimizer]:
    model = tt.nn.Sequential(tt.nn.Linear(4, 5), tt.nn.ReLU(), tt.nn.Linear(5, 2))
    return model, tt.optim.Adam(model.parameters())


def counts(prof: profile) -> dict[str, int]:
    return {event.key: event.count for event in prof.key_averages()}


def test_events_and_table() -> None:
    model, optimizer = model_and_optimizer()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True) as prof:
        for _ in range(3):
            with record_function("whole step"):
                step(model, optimizer)
    found = counts(prof)
    assert found["linear"] == found["linear backward"] == 6
    assert found["Adam.step"] == found["whole step"] == 3
    events = prof.key_averages(group_by_input_shape=True)
    whole = next(event for event in events if event.key == "whole step")
    assert whole.cpu_time_total >= max(e.cpu_time_total for e in events) > 0
    assert whole.cpu_time == pytest.approx(whole.cpu_time_total / 3)
    text = events.table(sort_by="self_cpu_time_total", row_limit=2)
    assert len(text.splitlines()) == 7 and "Self CPU time total" in text
    assert "whole step" in str(prof) and prof.total_average().count == sum(found.values())
    with pytest.raises(AttributeError, match="got sort_by='parrot', expected an event's attribute"):
        events.table(sort_by="parrot")


def test_nothing_is_measured_outside() -> None:
    model, optimizer = model_and_optimizer()
    prof = profile()
    step(model, optimizer)
    prof.start()
    prof.stop()
    step(model, optimizer)
    with record_function("outside"):
        pass
    assert counts(prof) == {}
    with tt.autograd.profiler.profile(enabled=False, use_cuda=False) as off:
        step(model, optimizer)
    assert counts(off) == {}


def test_a_decorated_function() -> None:
    @record_function("double")
    def double(x: tt.Tensor) -> tt.Tensor:
        return x * 2

    with profile() as prof:
        assert double(tt.ones(2)).sum().item() == 4.0
        double(tt.ones(2))
    assert counts(prof)["double"] == 2


ARGUMENTS = [
    {"wait": 1, "warmup": 1, "active": 2},
    {"wait": 0, "warmup": 0, "active": 1},
    {"wait": 1, "warmup": 1, "active": 3, "repeat": 2},
    {"wait": 2, "warmup": 1, "active": 1, "repeat": 1, "skip_first": 3},
    {"wait": 2, "warmup": 0, "active": 2, "repeat": 2, "skip_first": 1, "skip_first_wait": 1},
]


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_schedules_are_pytorchs(arguments: dict[str, int]) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, about warmup=0
        ours, theirs = schedule(**arguments), torch.profiler.schedule(**arguments)
    for i in range(30):
        assert ours(i).name == theirs(i).name, i


def test_a_schedule_says_which_steps_count() -> None:
    model, optimizer = model_and_optimizer()
    saved: list[dict[str, int]] = []
    plan = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=lambda prof: saved.append(counts(prof))) as prof:
        for _ in range(10):
            step(model, optimizer)
            prof.step()
    assert [found["linear"] for found in saved] == [4, 4]
    assert counts(prof)["linear"] == 4 and prof.step_num == 10


def test_on_trace_ready_without_a_schedule() -> None:
    calls: list[Any] = []
    with profile(on_trace_ready=calls.append) as prof:
        tt.ones(2) * 2
    assert calls == [prof]


def test_names_and_refusals() -> None:
    assert supported_activities() == {ProfilerActivity.CPU} and ProfilerAction.NONE.value == 0
    assert tt.autograd.profiler is tt.profiler
    for call in (
        lambda: tensorboard_trace_handler("x"),
        lambda: profile().export_chrome_trace("x"),
    ):
        with pytest.raises(NotImplementedError, match="no trace over time, only sums"):
            call()
    with pytest.raises(TypeError, match="unexpected argument 'parrot'"):
        profile(parrot=1)
    with pytest.raises(ValueError, match="schedule: got wait=0, warmup=0, active=0"):
        schedule(wait=0, warmup=0, active=0)
