"""Questions about a GPU's memory beside `memory_allocated`; without a GPU, zeros and nothing."""

from __future__ import annotations

from typing import Any

from .. import devices


def _pool() -> Any:
    return devices.gpu().get_default_memory_pool() if devices.gpu_count() else None


def max_memory_reserved(device: Any = None) -> int:
    """Bytes that CuPy holds; 0 without a GPU."""
    pool = _pool()
    return int(pool.total_bytes()) if pool else 0


def memory_cached(device: Any = None) -> int:
    """Bytes that CuPy holds; 0 without a GPU. `memory_reserved` is its successor."""
    return max_memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """Bytes that CuPy holds; 0 without a GPU. `max_memory_reserved` is its successor."""
    return max_memory_reserved(device)


def memory_stats(device: Any = None) -> dict[str, int]:
    """{"allocated_bytes.all.current": …, "reserved_bytes.all.current": …}; {} without a GPU."""
    pool = _pool()
    if not pool:
        return {}
    used, held = int(pool.used_bytes()), int(pool.total_bytes())
    return {"allocated_bytes.all.current": used, "reserved_bytes.all.current": held}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """`memory_stats` as lines of text."""
    lines = [f"{name}: {count}" for name, count in memory_stats(device).items()]
    return "\n".join(lines or ["no GPU"])


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(free, total) bytes of the GPU's memory."""
    free, total = devices.gpu().cuda.runtime.memGetInfo()
    return int(free), int(total)


def ipc_collect() -> None:
    """No effect: processes share no memory of the GPU."""


def reset_max_memory_allocated(device: Any = None) -> None:
    """No effect: CuPy keeps no such statistics."""


def reset_max_memory_cached(device: Any = None) -> None:
    """No effect: CuPy keeps no such statistics."""


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """No effect: CuPy keeps no such statistics."""


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Limit CuPy's memory to this share of the GPU's."""
    devices.gpu().get_default_memory_pool().set_limit(fraction=fraction)


__all__ = [
    "ipc_collect", "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_cached",
    "memory_stats", "memory_summary", "reset_accumulated_memory_stats",
    "reset_max_memory_allocated", "reset_max_memory_cached", "set_per_process_memory_fraction",
]  # fmt: skip
