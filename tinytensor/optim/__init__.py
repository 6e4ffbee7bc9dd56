"""Optimisers change parameters by their gradients; `lr_scheduler` changes their learning rates.

optimizer.py    Optimizer: groups, `step`, state_dict; what the optimisers share
settings.py     the settings of an optimiser, checked
steps.py        in-place arithmetic, in PyTorch's order of operations
clip_grad.py    clip gradients by norm or value (torch.nn.utils.clip_grad_norm_ …)
lr_scheduler/   learning rate schedules

Each other file is one optimiser, or two that differ in a setting. CONTRIBUTING.md says how to add
one.
"""

from . import lr_scheduler
from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .adamax import Adamax
from .asgd import ASGD
from .lion import Lion
from .muon import Muon
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD

# fmt: off
__all__ = [
    "ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Lion", "Muon", "NAdam",
    "Optimizer", "RAdam", "RMSprop", "Rprop", "lr_scheduler",
]
# fmt: on
