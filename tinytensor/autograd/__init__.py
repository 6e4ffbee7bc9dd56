"""Reverse-mode differentiation: recording ops, and walking back over them.

mode        what is recorded, per thread          op        how an op is written
variable    what the engine sees of a tensor      node      what the graph shows of itself
walk        the backward walk                     engine    the calls that start it
inplace     writes into tensors, and views        hooks     functions called with a gradient
function    ops written by users, and their ctx   site      the source line of a node
functional  Jacobians, Hessians, products         anomaly   errors that say where and why
"""

from . import function, functional
from .engine import backward, grad
from .function import Function
from .hooks import RemovableHandle
from .mode import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_anomaly_enabled,
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
from .trace import Contribution, Step, trace_backward

from ..gradcheck import gradcheck, gradgradcheck  # isort: skip  (it needs the names above)

__all__ = [
    "AccumulateGrad",
    "Contribution",
    "Function",
    "Node",
    "Op",
    "RemovableHandle",
    "Step",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "scope",
    "set_detect_anomaly",
    "set_grad_enabled",
    "site_of",
    "trace_backward",
]
