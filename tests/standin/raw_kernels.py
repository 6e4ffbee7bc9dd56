"""cupy's ElementwiseKernel and ReductionKernel: their CUDA C is read and run on NumPy.

Of C there is what one line of arithmetic needs: "T n = …; y = …", "a ? b : c" as a whole right
side, and a few functions. Types are checked as cupy does: all arrays called T have one dtype.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .ndarray import SCALARS, ndarray, wrap

TYPES = {"T": None, "int64": np.int64, "int32": np.int32, "float32": np.float32,
         "float64": np.float64, "bool": np.bool_}  # fmt: skip


def _erf(x: Any) -> Any:
    from math import erf

    return np.vectorize(erf, otypes=[np.float64])(x).astype(np.asarray(x).dtype)


FUNCTIONS: dict[str, Callable] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh, "erf": _erf,
    "rsqrt": lambda x: 1 / np.sqrt(x), "max": np.fmax, "min": np.fmin,
}  # fmt: skip


def parameters(text: str) -> list[tuple[str, str]]:
    """ "T x, int64 i" → [("T", "x"), ("int64", "i")]; anything else is refused."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\w+)\s+([A-Za-z_]\w*)\s*", part)
        if match is None or match[1] not in TYPES:
            raise RuntimeError(f"Invalid kernel parameter {part!r}")
        refuse_reserved(match[2])
        found.append((match[1], match[2]))
    return found


def refuse_reserved(name: str) -> None:
    if name in ("n", "i") or name.startswith("_"):
        raise ValueError(f"{name!r} is reserved: it stands in the loop around the code")


def run(code: str, values: dict[str, Any], dtype: np.dtype) -> None:
    """Run the statements of `code`; results are put into `values`."""
    names = {**FUNCTIONS, "T": dtype.type}
    for statement in filter(None, map(str.strip, code.split(";"))):
        match = re.fullmatch(r"(?:T\s+)?(\w+)\s*=\s*([^=].*)", statement)
        if match is None:
            raise SyntaxError(f"the stand-in does not read {statement!r}")
        refuse_reserved(match[1])
        declared = statement.startswith("T ")
        if declared == (match[1] in values):
            raise SyntaxError(f"{match[1]!r} is {'declared twice' if declared else 'not declared'}")
        values[match[1]] = evaluate(match[2], {**names, **values})


def evaluate(expression: str, names: dict[str, Any]) -> Any:
    match = re.fullmatch(r"(.+?)\?(.+):(.+)", expression)
    if match is not None:
        return np.where(*(evaluate(part.strip(), names) for part in match.groups()))
    with np.errstate(all="ignore"):
        return eval(expression, {"__builtins__": {}}, names)


class _Kernel:
    inputs: list[tuple[str, str]]

    def _arguments(self, args: tuple, declared: list[tuple[str, str]]) -> tuple[list, np.dtype]:
        """What NumPy computes with, and the dtype that T stands for."""
        if len(args) != len(declared):
            raise TypeError(f"Wrong number of arguments: {len(args)}, expected {len(declared)}")
        found = set()
        for arg, (type_name, name) in zip(args, declared):
            if not isinstance(arg, (ndarray, *SCALARS)):
                raise TypeError(f"Unsupported type {type(arg)}")
            if isinstance(arg, ndarray):
                if type_name == "T":
                    found.add(arg.dtype)
                elif arg.dtype != TYPES[type_name]:
                    raise TypeError(f"Type is mismatched. {name} {arg.dtype} {type_name}")
        if len(found) != 1:
            raise TypeError(f"Type is mismatched. T {sorted(map(str, found))}")
        dtype = found.pop()
        arrays = [a._array if isinstance(a, ndarray) else dtype.type(a) for a in args]
        return arrays, dtype


class ElementwiseKernel(_Kernel):
    def __init__(
        self, in_params: str, out_params: str, operation: str, name: str = "kernel",
        reduce_dims: bool = True, preamble: str = "", **kwargs: Any,
    ):  # fmt: skip
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ValueError(f"Invalid kernel name: {name!r}")
        self.inputs, self.outputs = parameters(in_params), parameters(out_params)
        self.operation, self.name = operation, name

    def __call__(self, *args: Any) -> Any:
        declared = [*self.inputs, *self.outputs]
        given = len(args) == len(declared)
        arrays, dtype = self._arguments(args, declared if given else self.inputs)
        shape = np.broadcast_shapes(*(np.shape(a) for a in arrays[: len(self.inputs)]))
        if given:
            outs = arrays[len(self.inputs) :]
        else:
            outs = [np.empty(shape, dtype) for _ in self.outputs]
        names = [name for _, name in declared]
        values = dict(zip(names, [*arrays[: len(self.inputs)], *outs]))
        run(self.operation, values, dtype)
        for (_, name), out in zip(self.outputs, outs):
            out[...] = values[name]
        if given:
            return args[len(self.inputs)] if len(outs) == 1 else args[len(self.inputs) :]
        return wrap(outs[0]) if len(outs) == 1 else tuple(map(wrap, outs))


class ReductionKernel(_Kernel):
    def __init__(
        self, in_params: str, out_params: str, map_expr: str, reduce_expr: str,
        post_map_expr: str, identity: Any, name: str = "reduce_kernel", reduce_type: Any = None,
        reduce_dims: bool = True, preamble: str = "", options: tuple = (),
    ):  # fmt: skip
        self.inputs, self.outputs = parameters(in_params), parameters(out_params)
        if (reduce_expr, post_map_expr, str(identity)) != (
            "a + b",
            f"{self.outputs[0][1]} = a",
            "0",
        ):
            raise NotImplementedError("the stand-in models sums only")
        self.map_expr, self.name = map_expr, name

    def __call__(
        self, *args: Any, out: Any = None, axis: Any = None, keepdims: bool = False,
        stream: Any = None,
    ) -> Any:  # fmt: skip
        arrays, dtype = self._arguments(args, self.inputs)
        values = dict(zip([name for _, name in self.inputs], arrays))
        mapped = evaluate(self.map_expr, {**FUNCTIONS, "T": dtype.type, **values})
        return wrap(np.sum(mapped, axis=axis, keepdims=keepdims, dtype=dtype))
