"""Which version runs: settings, sizes, threads, without Numba; and what kernels leave alone."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.kernels.machinery import route
from tinytensor.kernels.machinery.route import kernels_for_all_sizes

from ..spy import watched_kernels

needs_numba = pytest.mark.skipif(not route._installed(), reason="Numba is not installed")


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    threads = tt.get_num_threads()
    yield
    tt.set_kernels("auto")
    tt.set_num_threads(threads)


def python(code: str, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}
    )


# ------------------------------------------------------------------------------------------
# Settings
# ------------------------------------------------------------------------------------------


@needs_numba
def test_set_kernels() -> None:
    tt.set_kernels("auto")
    assert tt.get_kernels() == "numba"
    tt.set_kernels("numpy")
    assert tt.get_kernels() == "numpy"
    with watched_kernels() as counts:
        tt.relu(tt.ones(1 << 16))
        assert not counts
        tt.set_kernels("numba")
        tt.relu(tt.ones(1 << 16))
        assert counts == {"relu_forward": 1}


def test_unknown_kernels_are_refused() -> None:
    with pytest.raises(ValueError, match=r"set_kernels: got 'cuda', expected one of auto, numba"):
        tt.set_kernels("cuda")


@pytest.mark.parametrize("number", [0, -1, 1.5, "2"], ids=str)
def test_wrong_numbers_of_threads_are_refused(number: object) -> None:
    with pytest.raises(ValueError, match=r"set_num_threads: got .*, expected a number from 1 on"):
        tt.set_num_threads(number)  # type: ignore[arg-type]


def test_more_threads_than_cores_are_not_used() -> None:
    most = tt.get_num_threads()
    tt.set_num_threads(1)
    assert tt.get_num_threads() == 1
    tt.set_num_threads(10_000)
    assert tt.get_num_threads() == most


@needs_numba
@pytest.mark.parametrize("name", ["numpy", "numba", "auto", ""])
def test_environment(name: str) -> None:
    done = python("import tinytensor as t; print(t.get_kernels())", TINYTENSOR_KERNELS=name)
    assert done.stdout.strip() == ("numpy" if name == "numpy" else "numba")


def test_a_wrong_environment_is_refused() -> None:
    done = python("import tinytensor", TINYTENSOR_KERNELS="quux")
    assert "TINYTENSOR_KERNELS is 'quux', expected one of auto, numba, numpy" in done.stderr


@pytest.mark.parametrize("package", ["numba", "threadpoolctl"])
def test_without_one_of_the_packages_numpy_runs(package: str) -> None:
    code = f"""
import sys
sys.modules[{package!r}] = None  # importing it fails
import tinytensor as tt
x = tt.ones(1 << 16, requires_grad=True)
tt.gelu(x).sum().backward()
print(tt.get_kernels(), {package!r} in sys.modules and sys.modules[{package!r}])
try:
    tt.set_kernels("numba")
except ImportError as error:
    print(error)
"""
    done = python(code, TINYTENSOR_KERNELS="auto")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "numpy None"
    assert "needed for 'numba'; run `pip install numba threadpoolctl`" in second


# ------------------------------------------------------------------------------------------
# Which arrays
# ------------------------------------------------------------------------------------------


@needs_numba
@pytest.mark.parametrize(
    "size, dtype, runs",
    [(8, tt.float32, False), (1 << 16, tt.float32, True), (1 << 16, tt.float64, False)],
    ids=["small", "large", "float64"],
)
def test_kernels_run_for_large_float32_arrays(size: int, dtype: tt.dtype, runs: bool) -> None:
    with watched_kernels() as counts:
        tt.gelu(tt.ones(size, dtype=dtype))
    assert bool(counts) is runs


@needs_numba
def test_the_threshold_can_be_lowered_for_a_block() -> None:
    with watched_kernels() as counts:
        with kernels_for_all_sizes():
            tt.gelu(tt.ones(3))
        tt.gelu(tt.ones(3))
    assert counts == {"gelu_forward": 1}


@needs_numba
def test_empty_arrays() -> None:
    with kernels_for_all_sizes(0):
        for shape in ((0,), (0, 5), (3, 0)):
            x = tt.ones(*shape, requires_grad=True)
            tt.gelu(x).sum().backward()
            assert x.grad.shape == x.shape
        x, w = tt.ones(0, 5, requires_grad=True), tt.ones(3, 5, requires_grad=True)
        tt.linear(x, w).sum().backward()
        assert x.grad.shape == (0, 5) and w.grad.tolist() == tt.zeros(3, 5).tolist()


# ------------------------------------------------------------------------------------------
# The rest of the process
# ------------------------------------------------------------------------------------------

A_STEP = """
import nn, tinytensor as tt
model = nn.GPT(nn.GPTConfig(vocab_size=65, block_size=64, n_layer=1, n_head=4, n_embd=64))
optimizer = tt.optim.AdamW(model.parameters())
idx = tt.randint(0, 65, (4, 64))

def step():
    optimizer.zero_grad()
    loss = model(idx, idx)[1]
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()
"""


@needs_numba
def test_the_threads_of_other_libraries_are_as_they_were() -> None:
    code = f"""
{A_STEP}
import numba, threadpoolctl
def state():
    pools = [(p["filepath"], p["num_threads"]) for p in threadpoolctl.threadpool_info()]
    return dict(p for p in pools if "blas" in p[0].lower()), numba.get_num_threads()
before, threads = state()
tt.set_num_threads(1)
step()
after, same_threads = state()  # where there is SciPy, Numba has loaded its BLAS meanwhile
print(before.items() <= after.items() and threads == same_threads)
"""
    done = python(code)
    assert done.stdout.strip() == "True", done.stdout + done.stderr


@needs_numba
def test_nothing_is_printed_but_compilations() -> None:
    """No warnings of BLAS, OpenMP or Numba, also with kernels in several threads at once."""
    code = f"""
{A_STEP}
import threading
step()
x = tt.randn(64, 4096, requires_grad=True)
def work():
    for _ in range(5):
        tt.gelu(x.detach().requires_grad_()).sum().backward()
workers = [threading.Thread(target=work) for _ in range(3)]
for worker in workers: worker.start()
for worker in workers: worker.join()
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "compiling" not in line]
    assert lines == [] and done.stdout == ""


@needs_numba
def test_threads_of_the_program_may_run_kernels_at_once() -> None:
    x = np.random.default_rng(0).normal(size=(64, 512)).astype(np.float32)
    expected = tt.gelu(tt.from_numpy(x)).numpy()
    found: list[np.ndarray] = []

    def work() -> None:
        for _ in range(20):
            found.append(tt.gelu(tt.from_numpy(x)).numpy())

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 80 and all(np.array_equal(y, expected) for y in found)


@needs_numba
def test_importing_compiles_nothing_and_loads_no_numba() -> None:
    done = python("import sys, tinytensor, nn; print('numba' in sys.modules)")
    assert done.stdout.strip() == "False" and done.stderr == ""


@needs_numba
def test_a_kernel_is_compiled_once_and_kept(tmp_path: Path) -> None:
    code = "import tinytensor as tt; tt.relu(tt.ones(1 << 16))"
    notes = [python(code, NUMBA_CACHE_DIR=str(tmp_path)).stderr for _ in range(2)]
    assert "tinytensor: compiling the kernel relu, once" in notes[0] and notes[1] == ""


@needs_numba
def test_a_kept_kernel_is_loaded_without_what_compiles(tmp_path: Path) -> None:
    code = """
        import sys, tinytensor as tt
        from tinytensor.nn import functional as F
        x = (tt.arange(4 * 64 * 32).reshape(1, 4, 64, 32) % 7 - 3) / 5.0
        x.requires_grad = True
        F.scaled_dot_product_attention(x, x, F.linear(x, x[0, 0, :32])).sum().backward()
        print("numba.np.npyimpl" in sys.modules, x.grad.numpy().tobytes().hex())
        """
    first, second = (
        python(textwrap.dedent(code), NUMBA_CACHE_DIR=str(tmp_path)).stdout.split()
        for _ in range(2)
    )
    assert (first[0], second[0]) == ("True", "False")
    assert first[1] == second[1]


@needs_numba
def test_kept_kernels_give_the_same_bits(tmp_path: Path) -> None:
    code = f"""
{A_STEP}
import hashlib
print([step() for _ in range(3)])
for p in model.parameters():
    print(hashlib.sha256(p.detach().numpy().tobytes()).hexdigest())
"""
    code = code.replace("model =", "tt.manual_seed(0); model =")
    first, second = (python(code, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert "compiling" in first.stderr and "compiling" not in second.stderr
    assert first.stdout == second.stdout and first.stdout


@needs_numba
def test_kernels_run_where_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    from tinytensor.kernels.machinery import cache, compile

    monkeypatch.setattr(cache, "_folders", lambda *places: ())
    assert compile.serial(twice)(4) == 8
    nothing = compile.compile_for_kernels(do_nothing, "tinytensor_nothing", compile.types.int64)
    assert compile.serial(lambda x: nothing(x))(4) is None


def do_nothing(x: int) -> None:
    pass


def twice(x: int) -> int:
    return 2 * x


@needs_numba
def test_fast_version_is_there_for_enough_contiguous_float32_numbers() -> None:
    half = np.zeros(4096, dtype=np.float32)
    read_only = np.zeros(8192, dtype=np.float32)
    read_only.flags.writeable = False
    assert route.fast_version("clip_grad", "total_norm", [half, half]) is not None
    for arrays in ([half], [half, half[::2], half], [half, half.astype(float)], [read_only]):
        assert route.fast_version("clip_grad", "total_norm", arrays) is None
    assert route.fast_version("clip_grad", "total_norm", [read_only], written=False) is not None
    tt.set_kernels("numpy")
    assert route.fast_version("clip_grad", "total_norm", [half, half]) is None
