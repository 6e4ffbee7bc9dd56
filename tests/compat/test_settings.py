"""Questions and settings at the top of torch; torch.cuda without a GPU; torch.cpu; benchmarks."""

from __future__ import annotations

import multiprocessing
from typing import Any

import numpy as np
import pytest
import tinytensor.cpu

import nn
import tinytensor as tt
import tinytensor.utils.benchmark
from tinytensor.utils.benchmark import Compare, Measurement, Timer

SAME: list[Any] = [
    lambda t: t.get_device(t.ones(1)),
    lambda t: t.is_storage(t.ones(1).untyped_storage()),
    lambda t: t.is_storage(t.ones(1)),
    lambda t: [t.is_signed(t.ones(1)), t.is_signed(t.ones(1).byte())],
    lambda t: [t.is_same_size(t.ones(2), t.ones(2)), t.is_same_size(t.ones(1), t.ones(2))],
    lambda t: [t.is_conj(t.ones(1)), t.is_neg(t.ones(1)), t.is_distributed(t.ones(1))],
    lambda t: [t.typename(t.ones(1)), t.typename(3), t.typename(t.ones(1).long())],
    lambda t: [t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()],
    lambda t: [t.get_deterministic_debug_mode(), t.is_warn_always_enabled()],
    lambda t: t.cond(t.tensor(True), t.exp, t.sin, (t.zeros(1),)).tolist(),
    lambda t: t.while_loop(lambda x: x.sum() < 9, lambda x: (x * 2,), (t.ones(2),))[0].tolist(),
    lambda t: [
        t.sym_int(3.7),
        t.sym_max(2, 3),
        t.sym_min(2, 3),
        t.sym_not(True),
        t.sym_ite(False, 1, 2),
    ],
    lambda t: t.norm_except_dim(t.ones(3, 2), 2, 0).tolist(),
    lambda t: [t.cuda.max_memory_reserved(), t.cuda.get_rng_state_all(), t.cuda.get_arch_list()],
    lambda t: [t.cuda.is_initialized(), t.cuda.seed_all(), dict(t.cuda.memory_stats())],
    lambda t: [t.cpu.is_available(), t.cpu.device_count(), t.cpu.synchronize()],
    lambda t: [t.cpu.current_stream().query() if t is tt else True],
    lambda t: [t.ones(2).is_shared(), t.ones(2).share_memory_().is_shared()],
    lambda t: t.nn.Linear(2, 2).share_memory().weight.is_shared(),
]


@pytest.mark.parametrize("index", range(len(SAME)))
def test_as_pytorch(index: int) -> None:
    torch = pytest.importorskip("torch")
    assert SAME[index](tt) == SAME[index](torch)


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_removed_functions_name_their_successor(name: str) -> None:
    with pytest.raises(RuntimeError, match=f"{name}: PyTorch has removed .* linalg."):
        getattr(tt, name)(tt.ones(2, 2))


def test_settings_are_stored() -> None:
    before = tt.get_num_interop_threads()
    tt.set_num_interop_threads(3)
    assert tt.get_num_interop_threads() == 3
    tt.set_num_interop_threads(before)
    tt.set_deterministic_debug_mode("warn")
    assert tt.get_deterministic_debug_mode() == 1
    tt.set_deterministic_debug_mode(0)
    tt.set_warn_always(False)
    assert tt.set_flush_denormal(True) is False
    tt.set_anomaly_enabled(True)
    assert tt.is_anomaly_enabled()
    tt.set_anomaly_enabled(False)
    assert not tt.is_anomaly_enabled()
    for wrong in (
        lambda: tt.set_num_interop_threads(0),
        lambda: tt.set_deterministic_debug_mode(7),
    ):
        with pytest.raises(RuntimeError, match="expected"):
            wrong()


def test_no_gpu() -> None:
    if tt.cuda.is_available():
        pytest.skip("there is a GPU")
    for make in (tt.cuda.Stream, tt.cuda.Event, tt.cuda.current_stream):
        with pytest.raises(RuntimeError, match="there is no GPU"):
            make()
    with tt.cuda.stream(None):
        pass
    with tt.cuda.nvtx.range("part"):
        tt.cuda.nvtx.range_push("a")
        tt.cuda.nvtx.range_pop()
    assert tt.cuda.memory_summary() == "no GPU"
    tt.cuda.ipc_collect()


def test_events_of_the_cpu() -> None:
    start, end = tt.cpu.Event(enable_timing=True), tt.cpu.Event(enable_timing=True)
    with pytest.raises(RuntimeError, match="record"):
        start.elapsed_time(end)
    start.record()
    with tt.cpu.stream(tt.cpu.Stream()):
        end = tt.cpu.current_stream().record_event(end)
    assert start.elapsed_time(end) >= 0 and end.query()


# ------------------------------------------------------------------------------------------
# Shared memory
# ------------------------------------------------------------------------------------------


def _write(x: Any) -> None:
    x += 1


def test_a_forked_process_writes_into_shared_memory() -> None:
    layer = nn.Linear(2, 1)
    x, alone = tt.zeros(3).share_memory_(), tt.zeros(3)
    layer.share_memory()
    weight = layer.weight.detach().clone()

    def child() -> None:
        _write(x)
        _write(alone)
        with tt.no_grad():
            _write(layer.weight)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == 0
    assert x.tolist() == [1, 1, 1] and alone.tolist() == [0, 0, 0]
    assert (layer.weight == weight + 1).all()


def test_a_spawned_process_is_refused() -> None:
    context = multiprocessing.get_context("spawn")
    with pytest.raises(RuntimeError, match="set_start_method"):
        context.Process(target=_write, args=(tt.zeros(3).share_memory_(),)).start()


def test_shared_memory_computes_and_trains() -> None:
    layer = nn.Linear(3, 1).share_memory()
    loss = layer(tt.ones(2, 3)).square().sum()
    loss.backward()
    before = layer.weight.tolist()
    tt.optim.SGD(layer.parameters(), lr=0.1).step()
    assert layer.weight.is_shared() and layer.weight.tolist() != before
    x = tt.ones(2, 2)
    assert x.share_memory_() is x and x.clone().is_shared() is False
    with pytest.raises(RuntimeError, match="got a view"):
        tt.ones(3)[:2].share_memory_()


# ------------------------------------------------------------------------------------------
# Benchmarks
# ------------------------------------------------------------------------------------------


def test_timer() -> None:
    timer = Timer("f(x)", setup="x = torch.ones(2)", globals={"f": tt.exp}, description="exp")
    once = timer.timeit(10)
    assert once.number_per_run == 10 and len(once.times) == 1 and once.median > 0
    for many in (
        timer.blocked_autorange(min_run_time=0.01),
        timer.adaptive_autorange(min_run_time=0.001, max_run_time=0.05),
    ):
        assert len(many.raw_times) > 1 and many.mean > 0 and many.iqr >= 0
    assert "per call" in repr(once) and "exp" in str(Compare([once]))
    with pytest.raises(ValueError, match="expected a string"):
        Timer(print)  # type: ignore[arg-type]


def test_statistics_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    from torch.utils import benchmark

    times = [0.3, 0.1, 0.2, 0.5]
    spec = tt.utils.benchmark.TaskSpec("x", "pass")
    ours = Measurement(2, times, spec)
    theirs = benchmark.Measurement(2, times, benchmark.utils.common.TaskSpec("x", "pass"))
    assert torch is not None
    for name in ("median", "mean", "iqr"):
        assert np.isclose(getattr(ours, name), getattr(theirs, name))
    (merged,) = Measurement.merge([ours, ours])
    assert len(merged.raw_times) == 8
