"""Write cupy_names.json: what the real cupy offers, to which the stand-in is held.

    pip install cupy-cuda13x && python tests/standin/make_names.py

cupy imports without a GPU, so this runs anywhere. A function's parameters are kept as text such as
"a, axis=, *, dtype=": a name with "=" may be left out.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import cupy
import numpy
from cupy._core.flags import Flags

HERE = Path(__file__).parent


def parameters(function: Any) -> str | None:
    """The parameters of a function, also of one compiled by Cython, or None if it does not say."""
    try:
        return _from_signature(inspect.signature(function))
    except (TypeError, ValueError):
        return _from_docstring(function.__doc__ or "", getattr(function, "__name__", ""))


def _from_signature(signature: inspect.Signature) -> str:
    texts, star, slash = [], False, False
    for p in signature.parameters.values():
        if slash and p.kind is not p.POSITIONAL_ONLY:
            texts.append("/")
            slash = False
        if p.kind is p.KEYWORD_ONLY and not star:
            texts.append("*")
            star = True
        star = star or p.kind is p.VAR_POSITIONAL
        slash = p.kind is p.POSITIONAL_ONLY
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        texts.append(f"{mark}{p.name}" + ("" if p.default is p.empty else "="))
    return ", ".join(t for t in texts + ["/"] * slash if t != "self")


def _from_docstring(doc: str, name: str) -> str | None:
    """Cython puts the signature, with C types, on the first line: "f(self, int axis=-1) -> x"."""
    first = doc.strip().partition("\n")[0]
    if f"{name}(" not in first:
        return None
    inside = first.partition("(")[2].rpartition(")")[0]
    texts = []
    for part in inside.split(",") if inside else ():
        left, equals, _ = part.strip().partition("=")
        texts.append(left.split()[-1] + equals)
    return ", ".join(t for t in texts if t not in ("self", "/"))


def public(owner: Any) -> list[str]:
    return sorted(name for name in dir(owner) if not name.startswith("_"))


def describe(value: Any, twin: Any) -> Any:
    """ "numpy" for what cupy takes over from NumPy as it is, else what kind of thing it is."""
    if value is twin or (isinstance(value, float) and value == twin):
        return "numpy"
    if isinstance(value, cupy.ufunc):
        return {"ufunc": [value.nin, value.nout]}
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value):
        return "class"
    if callable(value):
        return {"function": parameters(value)}
    return type(value).__name__


def members(cls: type) -> dict[str, Any]:
    """{name: parameters, or None for an attribute} of the public members of a class."""
    return {
        name: parameters(getattr(cls, name)) if callable(getattr(cls, name)) else None
        for name in public(cls)
    }


def main() -> None:
    names = {
        "version": cupy.__version__,
        "module": {
            name: describe(getattr(cupy, name), getattr(numpy, name, None)) for name in public(cupy)
        },
        "ndarray": members(cupy.ndarray),
        "ndarray special": sorted(
            name
            for name in dir(cupy.ndarray)
            if name.startswith("__") and name not in dir(object) and "pyx" not in name
        ),
        "flags": public(Flags),
        "ufunc": members(cupy.ufunc),
        "lib.stride_tricks": {
            name: parameters(getattr(cupy.lib.stride_tricks, name))
            for name in ("as_strided", "sliding_window_view")
        },
        "fft": {
            name: parameters(getattr(cupy.fft, name))
            for name in public(cupy.fft)
            if inspect.isfunction(getattr(cupy.fft, name))
        },
        "linalg": {
            name: parameters(getattr(cupy.linalg, name))
            for name in public(cupy.linalg)
            if inspect.isfunction(getattr(cupy.linalg, name))
        },
        "random": sorted({*public(cupy.random), "Generator"}),  # which is loaded on first use
        "random.Generator": members(cupy.random.Generator),
        "cuda": public(cupy.cuda),
        "cuda.Device": members(cupy.cuda.Device),
        "cuda.Stream": members(cupy.cuda.Stream),
        "cuda.MemoryPool": members(cupy.cuda.MemoryPool),
        "cuda.runtime": public(cupy.cuda.runtime),
    }
    text = json.dumps(names, indent=1, sort_keys=True)
    (HERE / "cupy_names.json").write_text(text + "\n")
    print(f"cupy {cupy.__version__}: {len(names['module'])} names at the top level")


if __name__ == "__main__":
    main()
