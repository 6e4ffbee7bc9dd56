"""Modules that PyTorch code imports: each does its work, or says in one line that it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tinytensor.multiprocessing as mp

import nn
import tinytensor as tt

STATEMENTS = """
import tinytensor.accelerator
import tinytensor.fx
import tinytensor.jit as jit
import tinytensor.multiprocessing as mp
import tinytensor.onnx
import tinytensor.optim.swa_utils
import tinytensor.utils._pytree as pytree
import tinytensor.utils.data.distributed
import tinytensor.backends.cudnn as cudnn
from tinytensor import _assert, fx, onnx, xpu, mps, accelerator
from tinytensor.fx import GraphModule, Proxy, Tracer, symbolic_trace, wrap
from tinytensor.jit import Final, annotate, _overload_method
from tinytensor.multiprocessing import Process, Queue, Pool, get_context, set_start_method, spawn
from tinytensor.nn.attention import SDPBackend, sdpa_kernel
from tinytensor.optim.swa_utils import AveragedModel, SWALR, get_ema_multi_avg_fn, update_bn
from tinytensor.utils._pytree import tree_flatten, tree_map, tree_map_only, tree_unflatten
from tinytensor.utils.checkpoint import get_device_states, set_device_states
from tinytensor.utils.data.distributed import DistributedSampler
"""


ATTRIBUTES = """
t.optim.swa_utils.AveragedModel, t.optim.lr_scheduler
t.utils.data.distributed.DistributedSampler, t.fx.wrap, t.multiprocessing
t.nn.attention.sdpa_kernel, t.accelerator.is_available, t.utils._pytree
t.backends.cuda.matmul, t.backends.mps, t.backends.mkldnn, t.onnx.export
"""


@pytest.mark.parametrize("code", [STATEMENTS, f"import tinytensor as t{ATTRIBUTES}"])
def test_imports_in_a_fresh_process(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ------------------------------------------------------------------------------------------
# Names without a meaning here
# ------------------------------------------------------------------------------------------

MISSING: dict[str, tuple[Callable, str]] = {
    "fx.symbolic_trace": (
        lambda: tt.fx.symbolic_trace(nn.Linear(1, 1)),
        "fx.symbolic_trace: symbolic tracing does not exist here",
    ),
    "fx.Tracer": (lambda: tt.fx.Tracer(), "fx.Tracer: symbolic tracing does not exist here"),
    "fx.GraphModule": (lambda: tt.fx.GraphModule(None, None), "fx.GraphModule: symbolic tracing"),
    "onnx.export": (
        lambda: tt.onnx.export(nn.Linear(1, 1), (), "m.onnx"),
        "onnx.export: got Linear, but export to ONNX does not exist here",
    ),
    "jit.save": (lambda: tt.jit.save(nn.Linear(1, 1), "m.pt"), "jit.save: there are no TorchSc"),
    "jit.load": (lambda: tt.jit.load("m.pt"), "jit.load: TorchScript files are not read"),
}


@pytest.mark.parametrize("name", MISSING)
def test_what_does_not_exist_says_so(name: str) -> None:
    call, text = MISSING[name]
    with pytest.raises(NotImplementedError, match=text) as error:
        call()
    assert "\n" not in str(error.value)


def test_fx_wrap_returns_its_argument() -> None:
    assert tt.fx.wrap("len") == "len" and tt.fx.wrap(len) is len
    with pytest.raises(RuntimeError, match="fx.wrap: got 3, expected a function or its name"):
        tt.fx.wrap(3)
    assert not isinstance(tt.ones(2), tt.fx.Proxy)


def test_jit_decorators() -> None:
    class Net(tt.jit.ScriptModule):
        scale: tt.jit.Final[int]

        @tt.jit._overload_method
        def twice(self, x: Any) -> Any: ...

        @tt.jit.unused
        def twice(self, x: Any) -> Any:  # noqa: F811
            return 2 * x

        @tt.jit.ignore
        def one(self) -> int:
            return 1

        @tt.jit.ignore(drop=True)
        def two(self) -> int:
            return 2

        @tt.jit.script_method
        def forward(self, x: Any) -> Any:
            return self.twice(x) + self.one() + self.two()

    assert Net()(tt.ones(1)).item() == 5 and isinstance(Net(), nn.Module)
    assert tt.jit.annotate(list[int], [1]) == [1]
    with pytest.raises(AttributeError, match="module 'tinytensor.jit' has no attribute 'quux'"):
        tt.jit.quux  # noqa: B018


@pytest.mark.parametrize("condition", [True, 1, tt.tensor(True)])
def test_assert_passes(condition: Any) -> None:
    tt._assert(condition, "no")


@pytest.mark.parametrize("condition", [False, 0, None, tt.tensor([False])])
def test_assert_raises(condition: Any) -> None:
    with pytest.raises(AssertionError, match="^the shapes differ$"):
        tt._assert(condition, "the shapes differ")


def test_flags_of_backends() -> None:
    cuda, cudnn = tt.backends.cuda, tt.backends.cudnn
    cudnn.benchmark, cuda.matmul.allow_tf32 = True, True
    assert cudnn.benchmark and cuda.matmul.allow_tf32
    with cudnn.flags(enabled=True, benchmark=False):
        assert cudnn.enabled and not cudnn.benchmark
    assert not cudnn.enabled and cudnn.benchmark
    with cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    assert cuda.flash_sdp_enabled() and cuda.mem_efficient_sdp_enabled()
    cuda.enable_math_sdp(False)
    assert not cuda.math_sdp_enabled()
    cuda.enable_math_sdp(True)
    for module in (tt.backends.mps, tt.backends.mkldnn, tt.backends.openmp, tt.mps, tt.xpu):
        assert module.is_available() is False


def test_sdpa_kernel() -> None:
    from tinytensor.nn.attention import SDPBackend, sdpa_kernel

    q = tt.randn(1, 2, 3, 4)
    plain = nn.functional.scaled_dot_product_attention(q, q, q)
    for backends in (SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], []):
        with sdpa_kernel(backends):  # type: ignore[arg-type]
            assert nn.functional.scaled_dot_product_attention(q, q, q).equal(plain)
    for wrong in ("math", [1], None):
        with pytest.raises(AssertionError, match="sdpa_kernel: got .* expected an SDPBackend"):
            sdpa_kernel(wrong).__enter__()  # type: ignore[arg-type]
    torch = pytest.importorskip("torch")
    theirs = torch.nn.attention.SDPBackend.__members__
    assert {k: int(v) for k, v in theirs.items()} == {k: int(v) for k, v in
                                                     SDPBackend.__members__.items()}  # fmt: skip


# ------------------------------------------------------------------------------------------
# Accelerator
# ------------------------------------------------------------------------------------------


def test_accelerator() -> None:
    if tt.cuda.is_available():
        pytest.skip("there is a GPU")
    accelerator = tt.accelerator
    assert not accelerator.is_available() and accelerator.current_accelerator() is None
    assert accelerator.device_count() == 0 and accelerator.memory_allocated() == 0
    accelerator.empty_cache()
    for call in (accelerator.synchronize, accelerator.current_device_index):
        with pytest.raises(RuntimeError, match=f"accelerator.{call.__name__}: there is no GPU"):
            call()
    device = accelerator.current_accelerator() if accelerator.is_available() else "cpu"
    assert tt.ones(1, device=device).device.type == "cpu"


# ------------------------------------------------------------------------------------------
# Processes
# ------------------------------------------------------------------------------------------


def write_index(index: int, folder: str, x: Any) -> None:
    (Path(folder) / str(index)).write_text(str((x * index).sum().item()))


def fail_in_the_second(index: int) -> None:
    if index == 1:
        raise ValueError("this one fails")
    time.sleep(60)


def exit_with(index: int, code: int) -> None:
    os._exit(code)


def put_sum(queue: Any, x: Any) -> None:
    queue.put(x.sum() + 1)


def test_names_are_pythons() -> None:
    import multiprocessing

    for name in ("Process", "Queue", "Pool", "get_context", "set_start_method", "cpu_count"):
        assert getattr(mp, name) == getattr(multiprocessing, name)


def test_spawn(tmp_path: Path) -> None:
    x = tt.arange(3.0)
    assert mp.spawn(write_index, (str(tmp_path), x), nprocs=2) is None
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"0": "0.0", "1": "3.0"}


def test_tensors_go_through_a_queue() -> None:
    context = mp.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=put_sum, args=(queue, tt.ones(4)))
    process.start()
    assert queue.get(timeout=120).item() == 5.0
    process.join()


def test_a_failing_process_is_named_and_stops_the_others() -> None:
    start = time.monotonic()
    with pytest.raises(mp.ProcessRaisedException, match="Process 1 terminated.*") as error:
        mp.start_processes(fail_in_the_second, nprocs=2, start_method="fork")
    assert "ValueError: this one fails" in str(error.value) and error.value.error_index == 1
    assert time.monotonic() - start < 50


def test_an_exit_code() -> None:
    context = mp.start_processes(exit_with, (3,), join=False, start_method="fork")
    assert context is not None and len(context.pids()) == 1
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 3"):
        while not context.join(timeout=60):
            pass
