"""Reverse-mode differentiation: recording ops, and walking back over them.

The core. Read in this order, and stop here:

1  ../backend   the array library of an array: NumPy or CuPy
2  mode         what the engine does now, per thread; the calls it makes to the files below
3  variable     a tensor as the engine sees it
4  op           an operation: how it is written, recorded, and finds its values again
5  walk         the backward walk, and the gradients on their way
6  engine       the calls that start a walk: backward and grad

Around it:

settings    no_grad, inference_mode, detect_anomaly …   inplace     writes into tensors
trace       the walk, one step at a time                views       views after such writes
hooks       functions called with a gradient            strided     views by strides
node        PyTorch's view of the graph                 site        the source line of a node
function    ops written by users, and their ctx         anomaly     errors that say where and why
functional  Jacobians, Hessians, products               nesting     walks inside of walks
mixed_devices  arguments from two devices               outputs     ops with several outputs
gradcheck   gradients against finite differences
"""

from . import anomaly, function, functional, mixed_devices, nesting, outputs, views  # noqa: F401
from .engine import backward, grad
from .function import Function
from .gradcheck import gradcheck, gradgradcheck
from .hooks import RemovableHandle
from .node import AccumulateGrad
from .op import Node, Op
from .settings import (
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
from .site import site_of
from .trace import Contribution, Step, trace_backward

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
