"""Reverse-mode differentiation: record ops, then walk back over them.

The core. Read in this order, and stop here:

1  ../backend   the array library of an array: NumPy or CuPy
2  mode         per-thread settings; the core's calls to the files around it
3  variable     a tensor as the engine sees it
4  op           an operation: how it is written and recorded, and what it saves
5  walk         the backward walk, and the gradients it carries
6  engine       the calls that start a walk: backward and grad

Around it:

settings        no_grad, inference_mode, detect_anomaly …
inference       tensors made in inference mode
arguments       checks of an op's first argument
outputs         ops with several outputs
complex_rules   gradients of complex numbers
hooks           functions called with a gradient
next_functions  the links between nodes, under PyTorch's names; AccumulateGrad
site            the source line of a node
anomaly         errors that name the op, the line and the cause
inplace         writes into tensors
views           views after such writes
strided         views by strides
mixed_devices   arguments from two devices
nesting         backward inside backward; functions to call at its end
packed          saved values that hooks packed
node_names      PyTorch's other names of a node: metadata, _saved_self …
graph           edges of the graph, hooks for saved values (torch.autograd.graph)
traced_walk     trace_backward: the walk, one step at a time
forward_ad      forward mode: dual tensors (torch.autograd.forward_ad)
gradcheck       gradients against finite differences
jacobians       the Jacobians that it compares
gradcheck_batched  its comparison of a batch with single vectors
old_variable    Variable, PyTorch's old form of a leaf
function        Function: ops written by users (torch.autograd.function)
function_jvp    a Function in forward mode
function_ctx    the `ctx` of a Function, which is its node in the graph
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import anomaly, forward_ad, function, graph, mixed_devices, nesting, outputs, views  # noqa: F401
from . import settings as grad_mode
from .engine import backward, grad
from .function import Function
from .gradcheck import gradcheck, gradgradcheck
from .hooks import RemovableHandle
from .inference import is_inference
from .next_functions import AccumulateGrad
from .node_names import SavedTensor
from .old_variable import Variable
from .op import Node, Op
from .settings import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    scope,
    set_detect_anomaly,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .site import site_of
from .traced_walk import Contribution, Step, trace_backward

if TYPE_CHECKING:  # PyTorch's path; tinytensor/__init__.py sets it
    from ..func import functional as functional
    from ..profile import profiler as profiler

# fmt: off
__all__ = [
    "AccumulateGrad", "Contribution", "Function", "Node", "Op", "RemovableHandle",
    "SavedTensor", "Step", "Variable", "backward", "detect_anomaly", "enable_grad",
    "forward_ad", "function", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph",
    "inference_mode",
    "is_anomaly_enabled", "is_grad_enabled", "is_inference", "is_inference_mode_enabled",
    "is_multithreading_enabled", "no_grad", "scope", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled", "site_of", "trace_backward",
]
# fmt: on


def __getattr__(name: str) -> Any:
    """`autograd.profiler` and `autograd._functions`, PyTorch's paths, are loaded on first use."""
    if name in ("profiler", "_functions"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
