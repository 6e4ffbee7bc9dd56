"""Checks the settings of an optimiser when it is made."""

from __future__ import annotations

from typing import Any

from ..autograd.variable import Variable

NON_NEGATIVE = (
    "lr", "eps", "weight_decay", "momentum", "lr_decay", "momentum_decay",
    "initial_accumulator_value",
)  # fmt: skip


def settings(name: str, **values: Any) -> dict[str, Any]:
    """Check the settings of optimiser `name`; return them as the defaults of its groups."""
    lr = values.get("lr")
    if isinstance(lr, Variable) and lr.numel() != 1:
        raise ValueError(f"{name}: got lr of shape {tuple(lr.shape)}, expected one element")
    if values.get("fused"):
        for other in ("differentiable", "foreach"):
            if values.get(other):
                raise RuntimeError(f"{name}: got fused=True and {other}=True, expected one of them")
    require_non_negative(name, **{key: values[key] for key in NON_NEGATIVE if key in values})
    for i, beta in enumerate(values.get("betas", ())):  # the weight of the past in a running mean
        if not 0 <= beta < 1:
            raise ValueError(f"{name}: got betas[{i}]={beta}, expected 0 <= beta < 1")
    return values


def require_non_negative(name: str, **values: float) -> None:
    """Raise ValueError for a value that is not a number >= 0."""
    for label, value in values.items():
        if not value >= 0:
            raise ValueError(f"{name}: got {label}={value}, expected a number >= 0")


def require_both_tensors(name: str, betas: tuple) -> None:
    """Raise ValueError unless both betas are tensors of one element."""
    if not all(isinstance(b, Variable) and b.numel() == 1 for b in betas):
        raise ValueError(
            f"{name}: got betas={betas}, expected two floats, or two tensors of one element"
        )
