"""Where the random numbers of a training come from, kept and restored."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ..create.generator import default_generator_of, default_generators


def random_state() -> dict[str, Any]:
    """Where all default generators are: tinytensor's for each device, NumPy's and Python's."""
    numpy = np.random.get_state(legacy=False)
    assert isinstance(numpy, dict)
    return {
        "tinytensor": {str(d): g.get_state() for d, g in default_generators().items()},
        "numpy": {**numpy, "state": {**numpy["state"], "key": numpy["state"]["key"].tolist()}},
        "python": random.getstate(),
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Put all default generators back to where `random_state` found them."""
    for device, position in state["tinytensor"].items():
        default_generator_of(device).set_state(position)
    key = np.array(state["numpy"]["state"]["key"], dtype=np.uint32)
    np.random.set_state({**state["numpy"], "state": {**state["numpy"]["state"], "key": key}})
    random.setstate(state["python"])
