"""The settings of an optimiser, checked when it is made."""

from __future__ import annotations

from typing import Any

NON_NEGATIVE = (
    "lr", "eps", "weight_decay", "momentum", "lr_decay", "momentum_decay",
    "initial_accumulator_value",
)  # fmt: skip


def settings(name: str, **values: Any) -> dict[str, Any]:
    """The settings of optimiser `name` as a dict, the defaults of its groups; ValueError for one
    that it cannot work with.
    """
    require_non_negative(name, **{key: values[key] for key in NON_NEGATIVE if key in values})
    for i, beta in enumerate(values.get("betas", ())):  # the share of the past in a running mean
        if not 0 <= beta < 1:
            raise ValueError(f"{name}: got betas[{i}]={beta}, expected 0 <= beta < 1")
    return values


def require_non_negative(name: str, **values: float) -> None:
    """Each of the values must be a number >= 0."""
    for label, value in values.items():
        if not value >= 0:
            raise ValueError(f"{name}: got {label}={value}, expected a number >= 0")
