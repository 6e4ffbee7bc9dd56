"""Optimisers change parameters by their gradients; `lr_scheduler` changes their learning rates."""

from . import lr_scheduler
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .lion import Lion
from .muon import Muon
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Lion",
    "Muon",
    "Optimizer",
    "RMSprop",
    "lr_scheduler",
]
