"""Reverse-mode differentiation: recording ops, and walking back over them.

mode      what is recorded, per thread        op        how an op is written
variable  what the engine sees of a tensor    engine    the backward walk
inplace   writes into tensors, and views      function  ops written by users
site      the source line of a node           anomaly   errors that say where and why
"""

from .engine import backward, grad, trace_backward
from .hooks import RemovableHandle
from .mode import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    scope,
    set_detect_anomaly,
    set_grad_enabled,
)
from .node import AccumulateGrad, Node
from .op import Op
from .site import site_of
from .walk import Contribution, Step

__all__ = [
    "Contribution",
    "Op",
    "RemovableHandle",
    "Step",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "scope",
    "set_detect_anomaly",
    "set_grad_enabled",
    "site_of",
    "trace_backward",
]
