"""How kernels are chosen, compiled, cached, threaded and given memory.

Choosing:
    route.py             `@accelerated` and `fast_version`: whether a kernel runs, and loading it
    loading.py           the lock around loading kernels
    threads.py           the number of threads

Compiling:
    compile.py           the decorators `parallel`, `serial` and `part`, and Numba's options
    cache.py             compiled kernels on disk
    fingerprint.py       what a compiled kernel depends on
    hold_signals.py      delays Ctrl-C while Numba is imported or compiles

Threads and BLAS:
    share_out.py         splits the work of a kernel among threads
    numba_pool.py        Numba's thread pool, and the one of a forked child
    thread_pool.py       limits BLAS to one thread inside kernels; forks wait for kernels
    find_blas.py         the BLAS that NumPy has loaded
    blas_at_fork.py      BLAS while a process forks
    blas.py              BLAS's matrix product, for kernels

Building blocks of kernels:
    packed_product.py    a matrix product for a matrix that is used many times
    tile.py              its inner loop, in LLVM
    table_product.py     a matrix product that reads its operands by tables, for convolutions
    vector_math.py       exp, tanh and others in a form that vectorises
    contiguous.py        arrays in the memory layout that kernels take
    many_arrays.py       many arrays in one kernel, by their addresses

Memory:
    memory.py            reuses the memory of large results
    allocator.py         lets the C library keep the memory of freed arrays
"""
