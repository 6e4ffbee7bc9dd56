"""Settings that an optimiser cannot work with are refused when it is made."""

from __future__ import annotations

from collections.abc import Sequence


def require_non_negative(name: str, **settings: float) -> None:
    """Each of the settings must be a number >= 0."""
    for label, value in settings.items():
        if not value >= 0:
            raise ValueError(f"{name}: got {label}={value}, expected a number >= 0")


def require_betas(name: str, betas: Sequence[float]) -> None:
    """The shares of the past in running means: 0 <= beta < 1."""
    for i, beta in enumerate(betas):
        if not 0 <= beta < 1:
            raise ValueError(f"{name}: got betas[{i}]={beta}, expected 0 <= beta < 1")
