"""One contender of a benchmark, in its own process: it reads requests from standard input.

    python benchmarks/contender.py CASE CONTENDER

The request "3" runs three steps and prints the seconds of each. "memory" prints peak bytes: of one
step, above what was in use before it, and of the whole process.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

# Name in the table: (required package, environment of the process)
CONTENDERS: dict[str, tuple[str, dict[str, str]]] = {
    "PyTorch": ("torch", {}),
    "tinytensor": ("numba", {"TINYTENSOR_KERNELS": "numba"}),
    "tinytensor NumPy only": ("tinytensor", {"TINYTENSOR_KERNELS": "numpy"}),
    "NumPy only + keep_memory": ("tinytensor", {"TINYTENSOR_KERNELS": "numpy"}),
    "NumPy by hand": ("numpy", {}),
    "autograd": ("autograd", {}),
    "MyGrad": ("mygrad", {}),
}
FRAMEWORKS = ("PyTorch", "tinytensor", "tinytensor NumPy only")
WITHOUT_LAYERS = ("NumPy by hand", "autograd", "MyGrad")


def is_there(contender: str) -> bool:
    """Whether the contender's package is installed."""
    return importlib.util.find_spec(CONTENDERS[contender][0]) is not None


def library(contender: str) -> Any:
    """The framework, with a thread for each core."""
    if contender == "PyTorch":
        import torch

        torch.set_num_threads(CORES)
        return torch
    import tinytensor

    if contender == "NumPy only + keep_memory":
        tinytensor.keep_memory()
    return tinytensor


def step_for(case: str, contender: str) -> Callable[[], Any]:
    """A function of no arguments that runs one step of a case."""
    if contender in WITHOUT_LAYERS:
        return _gpt_step_without_layers(case, contender)
    lib = library(contender)
    import gpt
    import learners
    import models

    if case in learners.PROGRAMS:
        lib.manual_seed(0)
        return learners.PROGRAMS[case](lib)
    if case == "generation":
        return gpt.generation(lib, gpt.Setting(context=GENERATED), GENERATED)
    if case in gpt.SETTINGS:
        return gpt.training_step(lib, gpt.SETTINGS[case])
    return models.MODELS[case](lib)


GENERATED = 256  # tokens


def _gpt_step_without_layers(case: str, contender: str) -> Callable[[], Any]:
    import gpt
    import gpt_numpy
    import gpt_tape

    setting = gpt.SETTINGS[case]
    if contender == "NumPy by hand":
        return gpt_numpy.training_step(setting)
    by = gpt_tape.with_autograd if contender == "autograd" else gpt_tape.with_mygrad
    return gpt_tape.training_step(by, setting)


# ------------------------------------------------------------------------------------------
# Measuring
# ------------------------------------------------------------------------------------------


def seconds_of(step: Callable[[], Any]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def memory_of(step: Callable[[], Any]) -> dict[str, int] | None:
    """Bytes at the peak of one step, as Linux counts them; None elsewhere."""
    if not Path("/proc/self/clear_refs").exists():
        return None
    whole = _status("VmHWM")
    gc.collect()
    tinytensor = sys.modules.get("tinytensor")
    if tinytensor is not None:
        tinytensor.release_memory()
    ctypes.CDLL(None).malloc_trim(0)  # returns freed memory, so that reusing it counts
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the current use
    before = _status("VmRSS")
    step()
    return {"step": _status("VmHWM") - before, "process": max(whole, _status("VmHWM"))}


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    raise LookupError(f"/proc/self/status: no line {field}")


def main() -> None:
    case, contender = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keeps what libraries print out of the answers
    step = step_for(case, contender)
    for line in sys.stdin:
        if line.strip() == "memory":
            answer: Any = memory_of(step)
        else:
            answer = [seconds_of(step) for _ in range(int(line))]
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
