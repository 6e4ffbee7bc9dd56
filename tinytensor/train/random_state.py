"""Save and restore the states of all default random number generators."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ..create.generator import default_generator_of, default_generators


def random_state() -> dict[str, Any]:
    """The states of all default generators: tinytensor's for each device, NumPy's, Python's."""
    numpy = np.random.get_state(legacy=False)
    assert isinstance(numpy, dict)
    return {
        "tinytensor": {str(d): g.get_state() for d, g in default_generators().items()},
        "numpy": {**numpy, "state": {**numpy["state"], "key": numpy["state"]["key"].tolist()}},
        "python": random.getstate(),
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Restore the states of all default generators from `random_state`."""
    for device, position in state["tinytensor"].items():
        default_generator_of(device).set_state(position)
    key = np.array(state["numpy"]["state"]["key"], dtype=np.uint32)
    np.random.set_state({**state["numpy"], "state": {**state["numpy"]["state"], "key": key}})
    random.setstate(state["python"])
