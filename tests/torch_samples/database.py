"""The ops of PyTorch's database that exist here under the same name."""

from __future__ import annotations

import functools
import importlib
import operator
import types
import warnings
from collections.abc import Callable
from typing import Any

import torch

import tinytensor

from .expecttest_base import provide_expecttest

# Ops whose results are random, or memory that nobody has written to: shape and dtype only.
RANDOM = {
    "bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential",
    "geometric", "log_normal", "multinomial", "new_empty", "new_empty_strided", "normal", "rand",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "uniform",
    "nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout",
    "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "nn.functional.rrelu", "nn.functional.scaled_dot_product_attention dropout", "pca_lowrank",
    "svd_lowrank",
}  # fmt: skip


def load_database() -> list:
    """PyTorch's op_db. Loading it must leave other tests as they were."""
    provide_expecttest()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module("torch.testing._internal.common_methods_invocations")
        try:
            import hypothesis
        except ImportError:
            pass
        else:
            hypothesis.settings.load_profile("default")  # the import has chosen PyTorch's
    return module.op_db


def our_function(info: Any) -> Callable | None:
    """What to call for info.op: tinytensor's function of that name, or None."""
    ours = rebound(info.op)
    if ours is not None:
        return ours
    for home in (tinytensor, tinytensor.Tensor):
        try:
            found = operator.attrgetter(info.name)(home)
        except AttributeError:
            continue
        if not isinstance(found, tinytensor.dtype):  # tinytensor.half is one, Tensor.half a method
            return found
    return None


def rebound(function: Any) -> Callable | None:
    """A Python function of the database, such as `lambda x: x.byte()`, with our `torch`."""
    if isinstance(function, functools.partial):
        inner = rebound(function.func)
        return inner and functools.partial(inner, *function.args, **function.keywords)
    if not isinstance(function, types.FunctionType):
        return None
    if not function.__module__.startswith("torch.testing._internal"):
        return None
    names = set(function.__code__.co_names) | set(function.__code__.co_freevars)
    if names & {"ops", "aten", "op", "_C", "fn", "partial"}:
        return None  # a wrapper around something else, or PyTorch's internals
    scope = {**function.__globals__, "torch": tinytensor}
    return types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )


def exists(info: Any) -> bool:
    """Whether tinytensor has a function or method of that name, or the in-place method."""
    name = info.name
    if hasattr(tinytensor.Tensor, f"{name}_") and hasattr(torch.Tensor, f"{name}_"):
        return True  # "geometric", which exists only as geometric_
    for home in (tinytensor, tinytensor.Tensor):
        try:
            operator.attrgetter(name)(home)
            return True
        except AttributeError:
            pass
    return False


def title(info: Any) -> str:
    """The name of an op with its variant: "norm fro"."""
    return f"{info.name} {info.variant_test_name}".strip()


@functools.cache
def known_ops() -> dict[str, Any]:
    """Every op of the database that exists here, by title."""
    return {title(info): info for info in load_database() if exists(info)}
