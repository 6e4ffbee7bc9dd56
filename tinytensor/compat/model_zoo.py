"""torch.utils.model_zoo, the older name of torch.hub's download: it raises, too."""

import importlib
from typing import Any

from .hub import load_state_dict_from_url as load_url


def __getattr__(name: str) -> Any:
    """tqdm, the progress bar, if it is installed."""
    if name == "tqdm":
        return importlib.import_module("tqdm").tqdm
    raise AttributeError(f"module 'tinytensor.utils.model_zoo' has no attribute {name!r}")


__all__ = ["load_url"]
