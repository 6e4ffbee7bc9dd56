"""All rules by name: products, sums, functions, powers."""

from __future__ import annotations

import math

import numpy as np

from ..tensor import Tensor
from .rules import SIGN, Choose, Cumulate, Each, Fold, Pairwise, Pick, Product, Relu

PRODUCT = Product()
AFFINE = Product(bias=True)  # [W | b]·[X; 1]
RELU = Relu()
CHOOSE = Choose()
CUMULATE = Cumulate()
PICK = Pick()
COLUMN_SUM, ROW_SUM = Fold(0), Fold(1)
COLUMN_MEAN, ROW_MEAN = Fold(0, mean=True), Fold(1, mean=True)

HALF = "Not accumulated: both parts have to be added."
ADD = Pairwise(
    "{} +", lambda a, b: a + b, "{left} + {top}", "{0}+{1}",
    lambda a, b: ((HALF, a), (HALF, b), (SIGN, a - b), (SIGN, b - a)),
)  # fmt: skip
SUBTRACT = Pairwise(
    "− {}", lambda a, b: b - a, "{top} − {left}", "{1}-{0}",
    lambda a, b: (
        ("Right but for its sign: the order of the two is swapped.", a - b),
        ("They are subtracted, not added.", a + b),
        ("Nothing is subtracted yet.", b),
    ),
)  # fmt: skip
TIMES = Pairwise(
    "{} ∘", lambda a, b: a * b, "{left} ∘ {top}", "{0}*{1}",
    lambda a, b: ((SIGN, -a * b), ("They are multiplied, not added.", a + b),
                  ("One factor is missing.", b), ("One factor is missing.", a)),
)  # fmt: skip
DIVIDE = Pairwise(
    "÷ {}", lambda a, b: b / a, "{top} ÷ {left}", "{1}/{0}",
    lambda a, b: (("It is not divided yet.", b), ("Upside down.", a / np.where(b == 0, np.nan, b)),
                  ("Divided by the sum of another row or column.", b / a[:, ::-1])),
)  # fmt: skip
MASK = Pairwise(
    "1[{} > 0] ∘", lambda a, b: (a > 0).to(b.dtype) * b, "{top} where {left} > 0, else 0",
    "IF({0}>0,{1},0)",
    lambda a, b: (
        ("The ReLU mask is forgotten: what ReLU struck out passes no gradient on.", b),
        ("The ReLU mask is the wrong way round.", np.where(a > 0, 0, b)),
        ("This is the value: pass the gradient on.", np.maximum(a, 0)),
    ),
)  # fmt: skip

SQUARE = Each(
    "square", lambda top: top.square(), "{}^2",
    lambda top: (("Doubled, not squared.", 2 * top), ("It is not squared yet.", top)), "{top}²",
)  # fmt: skip
ROOT = Each(
    "√", lambda top: top.sqrt(), "SQRT({})",
    lambda top: (("The root is missing.", top), ("Halved: take the root.", top / 2)), "√{top}",
)  # fmt: skip
MINUS_LOG = Each(
    "−ln", lambda top: -top.log(), "-LN({})",
    lambda top: (("The logarithm is missing.", top), ("This is the logarithm to 10.",
                 -np.log10(np.maximum(top, 1e-9)))), "−ln {top}",
)  # fmt: skip


def scale(by: float, sign: str, text: str) -> Each:
    """Each number times `by`; text has {top}."""
    slip = f"The factor is forgotten: {sign}."
    return Each(
        sign, lambda top: top * by, f"{{}}*{by!r}",
        lambda top: ((slip, top), ("Divided where it is multiplied, or the other way.", top / by)),
        text,
    )  # fmt: skip


def power(base: float) -> Each:
    """eˣ; another base, such as 3, stands for e, so its gradient is the power itself."""
    exact = base == math.e
    name = "e" if exact else f"{base:g}"

    def raised(top: Tensor) -> Tensor:
        if exact:
            return top.exp()
        # baseˣ = exp(x·ln base), but with the gradient of exp(x)
        return (top + (top * (math.log(base) - 1)).detach()).exp()

    return Each(
        f"{name} to the power", raised, "EXP({})" if exact else f"{name}^{{}}",
        lambda top: ((f"Times {name}: take the power.", top * base),
                     ("Upside down: the sign of the exponent.", base**-top),
                     ("A power is never 0 or negative; anything to the 0 is 1.", top)),
        f"{name} to the power of {{top}}",
    )  # fmt: skip


def keep(p: float) -> Each:
    """1/(1 − p) for a node whose random number is above p, 0 for one that is dropped"""
    factor = 1 / (1 - p)
    return Each(
        f"> {p:g}?", lambda top: (top > p).to(top.dtype) * factor,
        f"IF({{}}>{p!r},{factor!r},0)",
        lambda top: ((f"What is kept is scaled by 1/(1 − {p:g}) = {factor:g}.", (top > p) * 1.0),
                     ("The other way round: a node stays if its number is above p.",
                      (top <= p) * factor)),
        f"{factor:g} where {{top}} > {p:g}, else 0",
    )  # fmt: skip


# fmt: off
__all__ = [
    "ADD", "AFFINE", "CHOOSE", "COLUMN_MEAN", "COLUMN_SUM", "CUMULATE", "DIVIDE", "MASK",
    "MINUS_LOG", "PICK", "PRODUCT", "RELU", "ROOT", "ROW_MEAN", "ROW_SUM", "SQUARE", "SUBTRACT",
    "TIMES", "keep", "power", "scale",
]
# fmt: on
