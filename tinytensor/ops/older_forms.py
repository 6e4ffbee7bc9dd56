"""Forms of add, addcmul, addmm … that PyTorch deprecates and still accepts: a number comes first.

    x.add_(alpha, other)            now x.add_(other, alpha=alpha)
    x.addcdiv_(value, a, b)         now x.addcdiv_(a, b, value=value)
    addmm(beta, x, alpha, a, b)     now addmm(x, a, b, beta=beta, alpha=alpha)

A function takes what is too much as `*older` and passes all its arguments on to `older_form`.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from ..autograd.site import warn
from ..autograd.variable import Variable

# {the numbers: the orders of tensors (t) and numbers (n)}; addmm's last two are the method's
ORDERS = {
    ("alpha",): {"add": "tnt tnn", "sub": "tnt tnn"},
    ("value",): {"addcdiv": "tntt", "addcmul": "tntt"},
    ("beta", "alpha"): dict.fromkeys(
        ("addbmm", "addmm", "addmv", "addr", "baddbmm"), "ntntt nttt tnntt tntt"
    ),
}


def older_form(function: Callable, *args: Any) -> Any:
    """The result of a function called in its older form, with a warning.

    A TypeError unless the tensors and numbers come in one of the orders that PyTorch accepts.
    """
    name = function.__name__
    keywords, orders = next((k, rows[name]) for k, rows in ORDERS.items() if name in rows)
    tensors: list[Any] = [arg for arg in args if isinstance(arg, Variable)]
    values = [arg for arg in args if isinstance(arg, numbers.Number)]
    order = "".join("t" if isinstance(arg, Variable) else "n" for arg in args)
    if order not in orders.split() or len(tensors) + len(values) < len(args):
        wanted = "input, " + ("other" if keywords == ("alpha",) else "two tensors")
        raise TypeError(
            f"{name}: got {len(args)} positional arguments, expected {wanted} and "
            f"{' and '.join(keywords)} by keyword"
        )
    if order == "tnn":  # x.add(alpha, 3)
        tensors.append(values.pop())
    given = dict(zip(keywords, values))
    shown = ", ".join(f"{key}={value}" for key, value in given.items())
    warn(f"{name}: the form with a number first is deprecated, write {shown} at the end")
    return function(*tensors, **given)
