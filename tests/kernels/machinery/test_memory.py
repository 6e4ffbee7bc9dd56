"""Memory on loan: used again, not before the last array on it is gone, and not without end."""

from __future__ import annotations

import threading

import numpy as np
import pytest

pytest.importorskip("numba")

from tinytensor.kernels.machinery import memory, thread_pool

SHAPE = (123, 457)  # of no other test


@pytest.fixture(autouse=True)
def empty_shelf() -> None:
    memory.release_memory()


def address(x: np.ndarray) -> int:
    return x.ctypes.data


def test_memory_is_used_again() -> None:
    x = memory.empty(SHAPE)
    before = address(x)
    del x
    assert address(memory.empty(SHAPE)) == before


def test_memory_is_kept_while_a_view_lives() -> None:
    x = memory.empty(SHAPE)
    x.fill(1)
    view = x[3:5].reshape(-1).T
    del x
    memory.empty(SHAPE).fill(2)
    assert (view == 1).all()


def test_arrays_are_as_others() -> None:
    x = memory.empty(SHAPE)
    assert type(x) is np.ndarray and x.dtype == np.float32 and x.shape == SHAPE
    assert x.flags.c_contiguous and x.flags.writeable
    assert memory.empty((2, 3)).base is None  # small ones come from NumPy


def test_the_shelf_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_KEPT", 3 * 4 * 123 * 457)
    arrays = [memory.empty(SHAPE) for _ in range(5)]
    del arrays
    assert memory._shelf.idle == 3 * 4 * 123 * 457
    memory.release_memory()
    assert memory._shelf.idle == 0 and not memory._shelf.blocks


def test_threads_never_share_an_array() -> None:
    wrong = []

    def work(number: int) -> None:
        for _ in range(200):
            x = memory.empty(SHAPE)
            x.fill(number)
            if not (x == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def blas_threads() -> int:
    return thread_pool._pool.get()


@pytest.mark.parametrize("fails", [False, True])
def test_blas_is_held_during_a_kernel_only(fails: bool) -> None:
    before = blas_threads()
    thread_pool._pool.set(2)
    try:
        seen = []

        def kernel() -> None:
            seen.append(blas_threads())
            if fails:
                raise ZeroDivisionError

        run = thread_pool.within_pool(kernel)
        if fails:
            with pytest.raises(ZeroDivisionError):
                run()
        else:
            run()
            thread = threading.Thread(target=run)  # not the first thread that sets it
            thread.start()
            thread.join()
        assert set(seen) == {1}
        assert blas_threads() == 2
    finally:
        thread_pool._pool.set(before)
