"""Out of memory: a MemoryError in one line, and right numbers afterwards."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import nn.functional as F
import tinytensor as tt
from tests.faults.test_interrupts import check_step, kernels
from tinytensor import distributions
from tinytensor.kernels.machinery import memory

HUGE = 10**13
FACTORIES: dict[str, Callable[[], Any]] = {
    "empty": lambda: tt.empty(HUGE),
    "zeros": lambda: tt.zeros(HUGE, 3),
    "full": lambda: tt.full((HUGE,), 2.0),
    "randn": lambda: tt.randn(HUGE),
    "arange": lambda: tt.arange(HUGE),
    "eye": lambda: tt.eye(10**7),
    "linspace": lambda: tt.linspace(0, 1, HUGE),
    "rand": lambda: tt.rand(HUGE),
    "randint": lambda: tt.randint(5, (HUGE,)),
    "randperm": lambda: tt.randperm(HUGE),
    "multinomial": lambda: tt.multinomial(tt.ones(3), HUGE, replacement=True),
    "Linear": lambda: tt.nn.Linear(10**7, 10**7),
}
NORMAL = distributions.Normal(0.0, 1.0)
SAMPLES: dict[str, Any] = {
    "normal": NORMAL,
    "normal with a gradient": distributions.Normal(tt.zeros(1, requires_grad=True), 1.0),
    "gamma": distributions.Gamma(1.0, 1.0),
    "poisson": distributions.Poisson(3.0),
    "binomial": distributions.Binomial(5, tt.tensor(0.3)),
    "categorical": distributions.Categorical(tt.ones(3)),
    "dirichlet": distributions.Dirichlet(tt.ones(3)),
    "multivariate normal": distributions.MultivariateNormal(tt.zeros(2), tt.eye(2)),
    "von Mises": distributions.VonMises(tt.tensor(0.0), tt.tensor(1.0)),
    "mixture": distributions.MixtureSameFamily(
        distributions.Categorical(tt.ones(2)), distributions.Normal(tt.zeros(2), tt.ones(2))
    ),
    "transformed": distributions.LogNormal(0.0, 1.0),
}
SPARSE = tt.sparse_coo_tensor([[0], [0]], [1.0], (10**7, 10**7))
OPS: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: x + 1,
    "relu": lambda x: x.relu(),
    "gelu": F.gelu,
    "softmax": lambda x: x.softmax(0),
    "log_softmax": lambda x: x.log_softmax(0),
    "layer_norm": lambda x: F.layer_norm(x.expand(HUGE).unflatten(0, (-1, 1000)), (1000,)),
    "matmul": lambda x: tt.ones(10**7, 1) @ tt.ones(1, 10**7),
    "linear": lambda x: F.linear(tt.ones(10**7, 1), tt.ones(10**7, 1)),
    "cat": lambda x: tt.cat([x, x]),
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "half": lambda x: x.half() + 1,
    "bfloat16": lambda x: x.bfloat16() + 1,
    "product in float16": lambda x: tt.ones(10**7, 1).half() @ tt.ones(1, 10**7).half(),
    "product in bfloat16": lambda x: tt.ones(10**7, 1).bfloat16() @ tt.ones(1, 10**7).bfloat16(),
    "fft": tt.fft.fft,
    "cumsum": lambda x: x.cumsum(0),
    "inverse": lambda x: tt.linalg.inv(x[0].expand(10**7, 10**7)),
    "igamma": lambda x: tt.special.gammainc(x, x),
    "log_prob": lambda x: distributions.Normal(x, 1.0, validate_args=False).log_prob(x),
    "sparse product": lambda x: SPARSE @ x[0].expand(10**7, 10**7),
}
# Those that draw numbers or places before the op.
BESIDE_OPS: dict[str, Callable[[Any], Any]] = {
    "dropout": F.dropout,
    "rrelu": lambda x: F.rrelu(x, training=True),
    "gumbel_softmax": F.gumbel_softmax,
    "bernoulli": lambda x: tt.bernoulli(x, p=0.5),
    "pad": lambda x: F.pad(x[None], (1, 1), mode="reflect"),
    "zeros": lambda x: SPARSE.to_dense(),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_nonsense_sizes(name: str) -> None:
    expected = (
        rf"^{'empty|rand' if name == 'Linear' else name}\w*: out of memory \(Unable to .* TiB"
    )
    with pytest.raises(tt.OutOfMemoryError, match=expected) as info:
        FACTORIES[name]()
    assert "\n" not in str(info.value)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_of_nonsense_sizes(name: str) -> None:
    """The generator goes on with the numbers that it would have drawn."""
    tt.manual_seed(0)
    expected = SAMPLES[name].sample((3,)).tolist()
    tt.manual_seed(0)
    with pytest.raises(tt.OutOfMemoryError, match="out of memory") as info:
        SAMPLES[name].sample((HUGE,))
    assert "\n" not in str(info.value)
    assert SAMPLES[name].sample((3,)).tolist() == expected


@pytest.mark.parametrize("name", BESIDE_OPS)
def test_arrays_that_no_op_makes(name: str) -> None:
    with pytest.raises(tt.OutOfMemoryError, match=f"{name}: out of memory") as info:
        BESIDE_OPS[name](tt.ones(1).expand(HUGE))
    assert "\n" not in str(info.value)


@pytest.mark.parametrize("library", ["numpy", "numba"])
@pytest.mark.parametrize("name", OPS)
def test_ops_on_nonsense_sizes(name: str, library: str) -> None:
    """Both kinds of error: Python programs expect MemoryError, PyTorch's RuntimeError."""
    if library == "numpy" and name in ("softmax", "log_softmax", "layer_norm"):
        pytest.skip("reads all of its argument before it asks for memory")
    x = tt.ones(1).expand(HUGE)
    with kernels(library), pytest.raises(tt.OutOfMemoryError, match="out of memory") as info:
        OPS[name](x)
    assert isinstance(info.value, MemoryError) and isinstance(info.value, RuntimeError)
    assert "Unable to allocate" in str(info.value) and "\n" not in str(info.value)
    assert "of shapes (" in str(info.value) and "smaller batches" in str(info.value)


def test_backward_names_the_line() -> None:
    x = tt.ones(10**7, 1, requires_grad=True)
    y = (x * 2).expand(10**7, 10**7)[:, 0].sum()  # backward of the index fills all of it
    with pytest.raises(tt.OutOfMemoryError, match=r"backward of \w+: .*test_out_of_memory.py"):
        y.backward()
    x.grad = None
    (x * 2).sum().backward()
    assert (x.grad == 2).all()


def test_kept_memory_is_given_up_before_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = memory._Shelf()
    shelf.put_back(memory._new_block(1 << 20), 1 << 20)
    make, tries = memory._new_block, []

    def only_if_empty(size: int) -> Any:
        tries.append(size)
        if shelf.idle:
            raise MemoryError("no room")
        return make(size)

    monkeypatch.setattr(memory, "_new_block", only_if_empty)
    assert len(shelf.take(1 << 16)) == 1 << 16
    assert tries == [1 << 16] * 2 and not shelf.blocks


@pytest.mark.parametrize(
    "library",
    ["numpy", pytest.param("numba", marks=pytest.mark.slow)],  # compiles all kernels
)
def test_the_next_step_is_right(library: str) -> None:
    """A MemoryError at any place of a step."""
    check_step(library, 15, MemoryError, seed=2)


PROGRAM = """
import resource, sys
import numpy as np
import nn, nn.functional as F
import tinytensor as tt
from tinytensor import optim
from tinytensor.kernels.machinery.route import kernels_for_all_sizes

tt.set_kernels(sys.argv[1])
tt.set_num_threads(1)

def run(rows):
    tt.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 8))
    optimizer = optim.Adam(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(model(tt.randn(rows, 64)), tt.zeros(rows).long()).backward()
        optimizer.step()
    return [p.detach().numpy().tobytes() for p in model.parameters()]

with kernels_for_all_sizes():
    expected = run(32)
    run(512)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    failed = 0
    for spare in (1 << 20, 5 << 20, 20 << 20, 50 << 20, 90 << 20):
        tt.release_memory()
        resource.setrlimit(resource.RLIMIT_AS, (used + spare, -1))
        rows = 1024
        try:
            while rows < 1 << 20:
                run(rows)
                rows *= 2
        except MemoryError as error:
            failed += 1
            assert str(error) and "\\n" not in str(error), error
        assert tt.is_grad_enabled() and np.geterr()["over"] == "warn"
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
        assert run(32) == expected
    print(failed)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
@pytest.mark.parametrize("library", ["numpy", "numba"])
def test_steps_too_large_for_the_address_space(library: str) -> None:
    with kernels(library):
        pass  # or skip
    command = [sys.executable, "-c", PROGRAM, library]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["5"], done.stdout
