"""The docstring of an op is its equation: forward first, then the gradient of each input.

Readers meet these formulas in the source, and pages of graphs show them beside the numbers.
"""

import inspect
import re

import pytest

import tinytensor.ops as ops
from tinytensor.autograd import Op

FORWARD = re.compile(r"\w+(\[[^\]]*\])?(, [^=]*)? = ")  # y = …, y[…, c] = …, y₀, y₁, … = …
GRADIENT = re.compile(r"\bd\w+(\[[^\]]*\])? = ")  # dx = …, dweight[i] = …
NONE = "no gradient"


def op_classes(cls=Op):
    """Every op that is written in tinytensor.ops."""
    for sub in cls.__subclasses__():
        if sub.__module__.startswith(ops.__name__ + "."):
            yield sub
        yield from op_classes(sub)


OPS = sorted(set(op_classes()), key=lambda op: (op.__module__, op.__name__))


def has_rule(op):
    return op.differentiable and op.backward is not Op.backward


def test_ops_are_found():
    assert len(OPS) > 150


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_docstring_is_the_equation(op):
    text = inspect.cleandoc(op.__dict__.get("__doc__") or "")
    if "forward" not in op.__dict__ and not has_rule(op):
        return  # a base class of ops, without a rule of its own
    assert FORWARD.match(text), f"{op.__name__}: expected 'y = …' first, got {text!r}"
    if has_rule(op):
        assert GRADIENT.search(text), f"{op.__name__}: expected 'dx = …', got {text!r}"
    else:
        texts = [base.__doc__ or "" for base in op.__mro__]  # or of a family, as Question
        assert any(NONE in text for text in texts), f"{op.__name__}: expected the words {NONE!r}"


@pytest.mark.parametrize("op", [op for op in OPS if has_rule(op)], ids=lambda op: op.__name__)
def test_gradients_are_of_known_inputs(op):
    """Each `d… = ` names an argument of forward, or a value that the docstring defines."""
    text = inspect.cleandoc(op.__doc__ or "")
    arguments = inspect.signature(op.forward).parameters
    for name in re.findall(r"\bd(\w+?)[ₖᵢ]?(?:\[[^\]]*\])? = ", text):
        known = name in arguments or re.search(rf"(?<![\wd]){name}[ₖᵢ]?\b(?! =)", text)
        assert known, f"{op.__name__}: d{name} is the gradient of what? {text!r}"
