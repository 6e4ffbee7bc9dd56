"""Optimisers change parameters by their gradients; `lr_scheduler` changes their learning rates.

optimizer.py    Optimizer: groups, `step`, state_dict; what the optimisers share
hooks.py        hooks around `step`, `state_dict` and `load_state_dict`
state.py        what is kept for a parameter, shown as tensors
settings.py     the settings of an optimiser, checked
complex_parameters.py  steps of complex parameters
steps.py        in-place arithmetic, in PyTorch's order of operations
line_search.py  step lengths for LBFGS
clip_grad.py    clip gradients by norm or value (torch.nn.utils.clip_grad_norm_ …)
lr_scheduler/   learning rate schedules
swa_utils       averaged models: nn/swa_utils.py, imported on first use

Each other file is one optimiser, or two that differ in a setting. CONTRIBUTING.md says how to add
one.
"""

import importlib
from types import ModuleType

from . import lr_scheduler
from .adadelta import Adadelta
from .adafactor import Adafactor
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .adamax import Adamax
from .asgd import ASGD
from .lbfgs import LBFGS
from .lion import Lion
from .muon import Muon
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .sparse_adam import SparseAdam

# fmt: off
__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Lion",
    "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler",
]
# fmt: on


def __getattr__(name: str) -> ModuleType:
    """`swa_utils` is found on first use: it needs nn, which needs this package."""
    if name == "swa_utils":
        return importlib.import_module(f"{__name__}.swa_utils")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
