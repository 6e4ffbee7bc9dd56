"""PyTorch's names that are there for compatibility, many without effect, and its import paths.

amp.py            autocast: products in bfloat16, losses in float32, on a CPU
grad_scaler.py    GradScaler
cuda_amp.py       the same under their older names
backends/         flags of cuDNN, MKL …
distributed/      one process, of rank 0, and its collectives
checkpoint_wrapper.py, sharding.py  models split among processes (FSDP, DTensor): names that raise
functional.py     torch.functional
fx.py             wrap returns its argument; there is no symbolic tracing
jit.py            script and trace return their argument
mps.py, xpu.py    GPUs of other makers: there are none
multiprocessing.py  Python's multiprocessing, with spawn
no_effect.py      compile, the precision of products, deterministic algorithms
onnx.py           export, which does not exist
compiler.py       torch.compiler and torch._dynamo: nothing is compiled
quantization.py   names that raise: there are no quantised dtypes
foreach.py        torch._foreach_*: an op on each tensor of a list
private.py        torch._C, torch._ops and torch._utils, as far as programs use them
vf.py             torch._VF and torch._unique
autograd_functions.py  torch.autograd._functions
fake_tensor.py    torch._subclasses: tensors without memory do not exist
cpp_extension.py, hub.py, model_zoo.py, nested.py  do not exist: their functions raise
dlpack.py, types.py, overrides.py  annotations; no class overrides functions
old_forms.py      LongTensor, FloatTensor …, set_default_tensor_type
parallel_functions.py  Broadcast and ReduceAddCoalesced, which raise: there is one device
settings.py       questions and settings: get_device, is_storage, set_num_interop_threads
export.py, library.py  torch.export, which raises; torch.library: ops of one's own
cpu.py            torch.cpu: streams and events of a CPU
version.py        the version of PyTorch whose names are followed
distribution_files.py  import paths of torch.distributions
einops_backend.py einops on tensors
alias.py          the mechanism behind the table of paths below
"""

from .. import memory_format
from ..autograd.old_variable import Variable as Variable
from ..memory_format import *
from . import alias as alias
from . import amp, distribution_files, no_effect, old_forms, settings
from . import einops_backend as einops_backend
from .amp import *
from .no_effect import *
from .no_effect import _assert as _assert
from .no_effect import _check as _check
from .old_forms import *
from .settings import *

# {import path: the module it stands for}. A row also holds for the modules inside a package.
# Nothing is imported before its path is used, as a module or as an attribute of tinytensor.
PATHS = {
    "nn.attention.flex_attention": "nn.flex_attention",
    "nn.parallel._functions": "tinytensor.compat.parallel_functions",
    "nn.parallel.data_parallel": "nn.parallel",
    "nn.parallel.distributed": "nn.parallel",
    "nn.parallel.parallel_apply": "nn.parallel_parts",
    "nn.parallel.replicate": "nn.parallel_parts",
    "nn.parallel.scatter_gather": "nn.parallel_parts",
    "nn.quantized": "tinytensor.compat.quantization",
    "nn.utils.clip_grad": "tinytensor.optim.clip_grad",
    "nn.utils.convert_parameters": "nn.utils.vector",
    "nn.utils.stateless": "tinytensor.func.stateless",
    "tinytensor.autograd.functional": "tinytensor.func.functional",
    "tinytensor.autograd.profiler": "tinytensor.profile.profiler",
    "tinytensor.functional": "tinytensor.compat.functional",
    "tinytensor.autograd.grad_mode": "tinytensor.autograd.settings",
    "tinytensor.amp": "tinytensor.compat.amp",
    "tinytensor.backends": "tinytensor.compat.backends",
    "tinytensor.cuda.amp": "tinytensor.compat.cuda_amp",
    "tinytensor.distributed": "tinytensor.compat.distributed",
    "tinytensor.distributed.nn": "tinytensor.compat.distributed",
    "tinytensor.distributed.distributed_c10d": "tinytensor.compat.distributed",
    "tinytensor.distributed._composable": "tinytensor.compat.sharding",
    "tinytensor.distributed._composable.fsdp": "tinytensor.compat.sharding",
    "tinytensor.distributed._tensor": "tinytensor.compat.sharding",
    "tinytensor.distributed._tensor.placement_types": "tinytensor.compat.sharding",
    "tinytensor.distributed.algorithms": "tinytensor.compat.sharding",
    "tinytensor.distributed.algorithms._checkpoint": "tinytensor.compat.sharding",
    "tinytensor.distributed.algorithms._checkpoint.checkpoint_wrapper": (
        "tinytensor.compat.checkpoint_wrapper"
    ),
    "tinytensor.distributed.checkpoint": "tinytensor.compat.sharding",
    "tinytensor.distributed.checkpoint.state_dict": "tinytensor.compat.sharding",
    "tinytensor.distributed.device_mesh": "tinytensor.compat.sharding",
    "tinytensor.distributed.fsdp": "tinytensor.compat.sharding",
    "tinytensor.distributed.fsdp.api": "tinytensor.compat.sharding",
    "tinytensor.distributed.fsdp.wrap": "tinytensor.compat.sharding",
    "tinytensor.distributed.tensor": "tinytensor.compat.sharding",
    "tinytensor.distributed.tensor.parallel": "tinytensor.compat.sharding",
    "tinytensor.distributed.tensor.parallel.style": "tinytensor.compat.sharding",
    "tinytensor.accelerator": "tinytensor.cuda.accelerator",
    "tinytensor._C": "tinytensor.compat.private",
    "tinytensor._VF": "tinytensor.compat.vf",
    "tinytensor._vmap_internals": "tinytensor.func.batch_map",
    "tinytensor.autograd._functions": "tinytensor.compat.autograd_functions",
    "tinytensor._dynamo": "tinytensor.compat.compiler",
    "tinytensor._dynamo.config": "tinytensor.compat.compiler",
    "tinytensor._dynamo.utils": "tinytensor.compat.compiler",
    "tinytensor._ops": "tinytensor.compat.private",
    "tinytensor._subclasses": "tinytensor.compat.fake_tensor",
    "tinytensor._subclasses.fake_tensor": "tinytensor.compat.fake_tensor",
    "tinytensor._utils": "tinytensor.compat.private",
    "tinytensor.ao": "tinytensor.compat.quantization",
    "tinytensor.ao.quantization": "tinytensor.compat.quantization",
    "tinytensor.compiler": "tinytensor.compat.compiler",
    "tinytensor.cpu": "tinytensor.compat.cpu",
    "tinytensor.export": "tinytensor.compat.export",
    "tinytensor.fx": "tinytensor.compat.fx",
    "tinytensor.fx.graph_module": "tinytensor.compat.fx",
    "tinytensor.fx.node": "tinytensor.compat.fx",
    "tinytensor.fx.proxy": "tinytensor.compat.fx",
    "tinytensor.jit": "tinytensor.compat.jit",
    "tinytensor.jit.annotations": "tinytensor.compat.jit",
    "tinytensor.mps": "tinytensor.compat.mps",
    "tinytensor.multiprocessing": "tinytensor.compat.multiprocessing",
    "tinytensor.library": "tinytensor.compat.library",
    "tinytensor.nn": "nn",
    "tinytensor.hub": "tinytensor.compat.hub",
    "tinytensor.nested": "tinytensor.compat.nested",
    "tinytensor.onnx": "tinytensor.compat.onnx",
    "tinytensor.onnx.symbolic_helper": "tinytensor.compat.onnx",
    "tinytensor.onnx.symbolic_opset11": "tinytensor.compat.onnx",
    "tinytensor.serialization": "tinytensor.serialize",
    "tinytensor.utils._device": "tinytensor.compat.overrides",
    "tinytensor.utils.model_zoo": "tinytensor.compat.model_zoo",
    "tinytensor.utils.data._utils": "tinytensor.utils.data",
    "tinytensor.overrides": "tinytensor.compat.overrides",
    "tinytensor.optim.swa_utils": "nn.swa_utils",
    "tinytensor.profiler": "tinytensor.profile.profiler",
    "tinytensor.random": "tinytensor.create.random",
    "tinytensor.utils.data.dataloader": "tinytensor.utils.data.loader",
    "tinytensor.utils._pytree": "tinytensor.utils.tree",
    "tinytensor.types": "tinytensor.compat.types",
    "tinytensor.utils.cpp_extension": "tinytensor.compat.cpp_extension",
    "tinytensor.utils.dlpack": "tinytensor.compat.dlpack",
    "tinytensor.utils.hooks": "tinytensor.autograd.hooks",
    "tinytensor.torch_version": "tinytensor.compat.version",
    "tinytensor.version": "tinytensor.compat.version",
    "tinytensor.xpu": "tinytensor.compat.xpu",
    # Module paths of earlier versions, which programs and pickles may contain
    "tinytensor.generator": "tinytensor.create.generator",
    "tinytensor.gradcheck": "tinytensor.autograd.gradcheck",
    "tinytensor.layout": "tinytensor.memory_format",
    "tinytensor.ops.columns": "tinytensor.ops.unfold",
    "tinytensor.ops.count": "tinytensor.ops",
    "tinytensor.ops.linalg": "tinytensor.ops.matmul",
    "tinytensor.ops.part": "tinytensor.ops.partial_views",
    "tinytensor.ops.recurrent": "tinytensor.ops.recurrent_cell",
    "tinytensor.ranges": "tinytensor.create.ranges",
    **distribution_files.PATHS,
}

__all__: list[str] = []
__all__ += amp.__all__
__all__ += memory_format.__all__
__all__ += no_effect.__all__
__all__ += old_forms.__all__
__all__ += settings.__all__
