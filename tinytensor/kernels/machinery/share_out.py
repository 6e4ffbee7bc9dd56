"""Divides the work of a kernel among threads.

Numba's own `parallel=True` compiles the body of a `prange` loop a second time, with much code
around it: the kernels of a training step took more than twice as long to compile. Here a kernel is
a function of (start, stop, …), compiled once, which Numba's thread pool calls for each part. The
pool is an argument of the kernel, as a forked child uses another pool than its parent.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.compiler import Flags
from numba.extending import intrinsic

_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()
_NO, _YES = ir.IntType(1)(0), ir.IntType(1)(1)
# The function that the pool calls: (arrays, sizes, steps, data). A thread handles sizes[0] parts.
# The pool passes arrays[0] + part·steps[0]; with arrays[0] = 0 and steps[0] = 1 that is the number
# of the thread's first part.
_TASK = ir.FunctionType(
    ir.VoidType(), [_BYTES.as_pointer(), _WORD.as_pointer(), _WORD.as_pointer(), _BYTES]
)
# (task, arrays, sizes, steps, data, inner dimensions, number of arrays, threads)
_POOL = ir.FunctionType(ir.VoidType(), [_BYTES] * 5 + [_WORD] * 3)
COUNT, PARTS, ARGUMENTS, FAILED = range(4)  # fields of the data that all parts share


@intrinsic
def share_out(typing, body, count, parts, pool, arguments):
    """Call body(start, stop, *arguments) for `parts` nearly equal parts of 0 … count.

    pool: the address of the function that runs them in threads (`numba_pool.py`).

    start and stop are unsigned: an index that may be negative would be checked at each element, and
    loops over it would not vectorise.
    """
    signature = types.none(types.uintp, types.uintp, *arguments.types)

    def generate(context, builder, _, values):
        compiled = context.compile_subroutine(
            builder, body.dispatcher.py_func, signature, flags=_flags(body.dispatcher)
        )
        _, count, parts, pool, packed = values
        data = _pack(builder, count, parts, packed)
        task = _task(context, builder.module, compiled, data.type)
        first, sizes, steps = (
            cgutils.alloca_once_value(builder, value) for value in (_BYTES(None), parts, _WORD(1))
        )
        with builder.if_else(builder.icmp_signed(">", parts, _WORD(1))) as (several, one):
            with several:
                run = builder.inttoptr(pool, _POOL.as_pointer())
                pointers = (builder.bitcast(p, _BYTES) for p in (task, first, sizes, steps, data))
                builder.call(run, [*pointers, _WORD(0), _WORD(1), parts])
            with one:
                builder.call(task, [first, sizes, steps, builder.bitcast(data, _BYTES)])
        with builder.if_then(_load(builder, data, FAILED), likely=False):
            context.call_conv.return_user_exc(builder, MemoryError, ("a kernel ran out of memory",))
        return context.get_dummy_value()

    return types.none(body, types.intp, types.intp, types.intp, arguments), generate


def _flags(dispatcher):
    """Return Numba's flags for an inlined function whose arrays do not overlap.

    Otherwise loops would check at run time whether what they write overlaps what they read, and
    the two versions of the loop may round differently.
    """
    flags = Flags()
    dispatcher.targetdescr.options.parse_as_flags(flags, dispatcher.targetoptions)
    flags.noalias = True
    return flags


def _pack(builder, count, parts, arguments):
    """Return the data that all parts share, as a struct on the stack."""
    values = count, parts, arguments, _NO
    data = cgutils.alloca_once(builder, ir.LiteralStructType([value.type for value in values]))
    for i, value in enumerate(values):
        builder.store(value, cgutils.gep_inbounds(builder, data, 0, i))
    return data


def _task(context, module, compiled, data_type):
    """Return a function for the pool: body(count·first // parts, count·last // parts, …)"""
    name = f"{compiled.fndesc.mangled_name}.task"
    task = ir.Function(module, _TASK, name)
    task.linkage = "internal"
    builder = ir.IRBuilder(task.append_basic_block())
    arrays, sizes, _, data = task.args
    data = builder.bitcast(data, data_type)
    count, parts = _load(builder, data, COUNT), _load(builder, data, PARTS)
    first = builder.ptrtoint(builder.load(arrays), _WORD)
    last = builder.add(first, builder.load(sizes))
    start, stop = (builder.udiv(builder.mul(count, i), parts) for i in (first, last))
    with builder.if_then(builder.icmp_unsigned("<", start, stop)):
        arguments = start, stop, *cgutils.unpack_tuple(builder, _load(builder, data, ARGUMENTS))
        status, _ = context.call_conv.call_function(
            builder, context.declare_function(module, compiled.fndesc),
            compiled.signature.return_type, compiled.signature.args, arguments,
        )  # fmt: skip
        with builder.if_then(status.is_error, likely=False):
            builder.store(_YES, cgutils.gep_inbounds(builder, data, 0, FAILED))
    builder.ret_void()
    return task


def _load(builder, data, i):
    return builder.load(cgutils.gep_inbounds(builder, data, 0, i))
