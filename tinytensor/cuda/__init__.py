"""GPU queries and settings with PyTorch's names, on CuPy: `tinytensor.cuda.is_available()` …

streams.py       Stream and Event: all work is on one stream
memory.py        statistics of memory
nvtx.py          marks for a profiler, without effect
accelerator.py   torch.accelerator

`tinytensor.cuda.amp` is `compat/cuda_amp.py`.
"""

from __future__ import annotations

from typing import Any

from .. import devices
from ..compat import cuda_amp as amp  # noqa: F401
from ..compat.old_forms import ON_GPU
from ..create.generator import default_generator_of
from ..devices import device
from ..errors import OutOfMemoryError as OutOfMemoryError
from . import nvtx as nvtx
from .memory import ipc_collect as ipc_collect
from .memory import max_memory_cached as max_memory_cached
from .memory import max_memory_reserved as max_memory_reserved
from .memory import mem_get_info as mem_get_info
from .memory import memory_cached as memory_cached
from .memory import memory_stats as memory_stats
from .memory import memory_summary as memory_summary
from .memory import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from .memory import reset_max_memory_allocated as reset_max_memory_allocated
from .memory import reset_max_memory_cached as reset_max_memory_cached
from .memory import set_per_process_memory_fraction as set_per_process_memory_fraction
from .streams import Event as Event
from .streams import Stream as Stream
from .streams import StreamContext as StreamContext
from .streams import current_stream as current_stream
from .streams import default_stream as default_stream
from .streams import set_stream as set_stream
from .streams import stream as stream


def is_available() -> bool:
    """Whether CuPy is installed and finds a GPU."""
    return device_count() > 0


def device_count() -> int:
    """The number of GPUs."""
    return devices.gpu_count()


def current_device() -> int:
    """The index of the GPU that new arrays are put on."""
    return int(devices.gpu().cuda.Device().id)


def set_device(where: Any) -> None:
    """Put new arrays on this GPU from now on."""
    devices.gpu().cuda.Device(_index(where)).use()


def get_device_name(where: Any = None) -> str:
    """The GPU's name, as its driver reports it."""
    name = devices.gpu().cuda.runtime.getDeviceProperties(_index(where))["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def synchronize(where: Any = None) -> None:
    """Wait until the GPU has finished all its work."""
    with devices.gpu().cuda.Device(_index(where)):
        devices.gpu().cuda.Stream.null.synchronize()


def empty_cache() -> None:
    """Return memory that CuPy holds but does not use to the driver; no effect without a GPU."""
    if is_available():
        devices.gpu().get_default_memory_pool().free_all_blocks()


def memory_allocated(where: Any = None) -> int:
    """Bytes in use by arrays on the GPU; 0 without one."""
    return int(devices.gpu().get_default_memory_pool().used_bytes()) if is_available() else 0


def memory_reserved(where: Any = None) -> int:
    """Bytes that CuPy holds, in use or not; 0 without a GPU."""
    return int(devices.gpu().get_default_memory_pool().total_bytes()) if is_available() else 0


def manual_seed(seed: int) -> None:
    """Seed the current GPU's default generator; no effect without a GPU, as in PyTorch."""
    if is_available():
        default_generator_of(device("cuda", current_device())).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the default generators of all GPUs."""
    for index in range(device_count()):
        default_generator_of(device("cuda", index)).manual_seed(seed)


def seed() -> None:
    """Seed the current GPU's default generator with a random number; no effect without a GPU."""
    if is_available():
        default_generator_of(device("cuda", current_device())).seed()


def seed_all() -> None:
    """Seed the default generators of all GPUs with random numbers."""
    for index in range(device_count()):
        default_generator_of(device("cuda", index)).seed()


def initial_seed() -> int:
    """The seed of the current GPU's default generator."""
    return default_generator_of(device("cuda", current_device())).initial_seed()


def get_rng_state(where: Any = "cuda") -> Any:
    """The state of a GPU's default generator."""
    devices.gpu()
    return default_generator_of(device(where)).get_state()


def set_rng_state(new_state: Any, where: Any = "cuda") -> None:
    """Set the state of a GPU's default generator."""
    devices.gpu()
    default_generator_of(device(where)).set_state(new_state)


def get_rng_state_all() -> list:
    """The states of all GPUs' default generators; [] without a GPU."""
    return [get_rng_state(device("cuda", index)) for index in range(device_count())]


def set_rng_state_all(new_states: Any) -> None:
    """Set the states of all GPUs' default generators."""
    for index, state in enumerate(new_states):
        set_rng_state(state, device("cuda", index))


def is_initialized() -> bool:
    """Whether there is a GPU: work needs no initialisation here."""
    return is_available()


def init() -> None:
    """No effect, but an error without a GPU."""
    devices.gpu()


def get_arch_list() -> list[str]:
    """[]: nothing is compiled for a certain GPU beforehand."""
    return []


def is_current_stream_capturing() -> bool:
    """False: there are no CUDA graphs."""
    return False


def _index(where: Any) -> int:
    return 0 if where is None else device(where).index or 0


def get_device_capability(where: Any = None) -> tuple[int, int]:
    """The compute capability of the GPU, (major, minor)."""
    properties = devices.gpu().cuda.runtime.getDeviceProperties(_index(where))
    return int(properties["major"]), int(properties["minor"])


def __getattr__(name: str) -> Any:
    """_initialized: whether there is a GPU. Work needs no initialisation here.

    FloatTensor …: PyTorch's old constructors, of tensors on the GPU.
    """
    if name == "_initialized":
        return is_available()
    if name in ON_GPU:
        return ON_GPU[name]
    raise AttributeError(f"module 'tinytensor.cuda' has no attribute {name!r}")


def is_bf16_supported() -> bool:
    return False


def reset_peak_memory_stats(where: Any = None) -> None:
    """No effect: CuPy keeps no such statistics."""


def max_memory_allocated(where: Any = None) -> int:
    """Bytes that CuPy holds: the peak in use since `empty_cache`; 0 without a GPU."""
    return memory_reserved(where)
