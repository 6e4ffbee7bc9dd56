"""Formulas come from docstrings: every op has one, and a rule for each gradient that it gives."""

from __future__ import annotations

from typing import Any

import pytest

import tinytensor as tt
from tinytensor import graph
from tinytensor.autograd import Function
from tinytensor.graph.data.formula import argument_names, formula_of, name_argument, op_called

from ...ops.test_docstrings import OPS, has_rule
from ...ops.test_table import DIFFERENTIABLE, call, flatten, tensors_of

WRITTEN = [op for op in OPS if "forward" in op.__dict__ or has_rule(op)]


@pytest.mark.parametrize("op", WRITTEN, ids=lambda op: op.__name__)
def test_every_op_has_a_formula(op: type) -> None:
    formula = formula_of(op)
    assert " = " in formula.forward
    assert bool(formula.gradients) == has_rule(op)
    plain = {name.lstrip("*") for name in argument_names(op)}
    assert set(formula.gradients) <= plain


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=str)
def test_every_gradient_has_a_rule(row: Any) -> None:
    """An op that sends a gradient to an input says by which formula."""
    outputs = flatten(call(row, tensors_of(row, row.arrays())))
    for output in outputs:
        if not output.requires_grad or not output.numel():
            continue
        g = graph.trace(output, gradient=tt.ones_like(output))
        for step in g.steps or []:
            node = g.nodes[step.node]
            for c in step.contributions:
                name = node.argument_names[c.position]
                assert " = " in c.rule, f"{node.op}: no formula for the gradient of {name}"


@pytest.mark.parametrize(
    ("name", "forward", "gradients", "definitions"),
    [
        ("Matmul", "y = a·b", {"a": "da = g·bᵀ", "b": "db = aᵀ·g"}, []),
        (
            "Linear",
            "y = x·Wᵀ + b",
            {"x": "dx = g·W", "weight": "dW = gᵀ·x", "bias": "db = Σ g"},
            [],
        ),
        ("Silu", "y = x·s", {"x": "dx = g·s·(1 + x·(1 − s))"}, ["s = σ(x)"]),
        ("Cat", None, {"tensors": "dxᵢ = the stretch of g where xᵢ is"}, []),
        # In parts, as x is cut in two:
        ("Glu", "y = a·s", {"x": "da = g·s, db = g·a·s·(1 − s)"}, None),
        # "as in LayerNorm":
        ("BatchNorm", None, {"x": None, "weight": "dw = g·n", "bias": "db = g"}, None),
        # What g is in AttentionWeights is dA here:
        ("Attention", None, {"query": "dQ = dS·K·scale", "key": None, "bias": None,
                             "value": "dV = Aᵀ·g"}, None),
    ],
    ids=["matmul", "linear", "silu", "cat", "glu", "batch_norm", "attention"],
)  # fmt: skip
def test_parsing(
    name: str, forward: str | None, gradients: dict[str, str | None], definitions: list[str] | None
) -> None:
    op = op_called(name)
    assert op is not None
    formula = formula_of(op)
    assert forward is None or formula.forward == forward
    assert set(formula.gradients) == set(gradients)
    assert all(text is None or formula.gradients[key] == text for key, text in gradients.items())
    assert definitions is None or formula.definitions == definitions


def test_attention_goes_on_with_its_own_gradient() -> None:
    op = op_called("Attention")
    assert op is not None
    assert "dS = A·(dA − Σ dA·A)" in formula_of(op).definitions


def test_arguments_behind_a_star_are_numbered() -> None:
    op = op_called("Cat")
    assert op is not None
    names = argument_names(op)
    assert [name_argument(names, i) for i in range(3)] == ["dim", "tensors[0]", "tensors[1]"]


class Cubed(Function):
    """y = x³;  dx = 3·g·x²"""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * g * x * x


class Silent(Function):
    """Words without an equation."""

    @staticmethod
    def forward(x: Any, factor: float) -> Any:
        return x * factor

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.factor, None


def test_functions_of_users() -> None:
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    with graph.record():
        y = Silent.apply(Cubed.apply(x), 2.0).sum()
    g = graph.trace(y)
    cubed, silent = (node for node in g.nodes if node.op in ("Cubed", "Silent"))
    assert cubed.formula is not None and cubed.formula.gradients == {"x": "dx = 3·g·x²"}
    assert silent.formula is not None and silent.formula.forward == ""
    assert silent.argument_names == ["x", "factor"] and silent.arguments == {"factor": "2"}
    assert cubed.value is not None and cubed.value.data == [1.0, 8.0]
    assert g.nodes[0].grad is not None and g.nodes[0].grad.data == [6.0, 24.0]
