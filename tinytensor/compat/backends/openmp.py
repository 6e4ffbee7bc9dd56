"""OpenMP: kernels run in Numba's threads, which may use it or not."""


def is_available() -> bool:
    return False
