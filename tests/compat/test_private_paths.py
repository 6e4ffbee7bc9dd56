"""Paths and private names of PyTorch that programs use: torch.compiler, torch._foreach_* …"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt

STATEMENTS = """
import tinytensor._dynamo.utils
import tinytensor.ao.quantization
from tinytensor._dynamo.utils import is_compile_supported
from tinytensor._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from tinytensor.ao.quantization import DeQuantStub, QuantStub, fuse_modules
from tinytensor.compiler import disable, is_compiling
from tinytensor.cuda import OutOfMemoryError
from tinytensor.distributed import nn as dist_nn
from tinytensor.functional import einsum, norm
from tinytensor.fx.graph_module import _CodeOnlyModule, _copy_attr
from tinytensor.fx.node import Node
from tinytensor.fx.proxy import Proxy
from tinytensor.hub import HASH_REGEX, download_url_to_file, urlparse
from tinytensor.jit.annotations import BroadcastingList2, List
from tinytensor.nn.parallel.distributed import DistributedDataParallel
from tinytensor.nn.quantized import FloatFunctional
from tinytensor.onnx.symbolic_helper import parse_args
from tinytensor.profiler import ProfilerActivity, profile, record_function
from tinytensor.serialization import load, save
from tinytensor.utils.data._utils.collate import default_collate
from tinytensor.utils.model_zoo import load_url
"""


@pytest.mark.parametrize("statement", STATEMENTS.strip().split("\n"))
def test_import(statement: str) -> None:
    exec(statement, {})


def test_nothing_is_compiled() -> None:
    assert not tt.compiler.is_compiling() and not tt.compiler.is_exporting()
    assert tt.compiler.disable(len) is len and tt.compiler.disable()(len) is len
    assert tt._dynamo.allow_in_graph(len) is len
    tt._dynamo.config.cache_size_limit = 64
    tt._dynamo.reset()
    assert not tt._dynamo.is_compile_supported("cuda")
    assert not tt.is_autocast_enabled() and not tt.is_autocast_cpu_enabled()
    assert tt.get_autocast_dtype("cuda") is tt.get_autocast_gpu_dtype() is tt.float16
    assert tt.get_autocast_dtype("cpu") is tt.get_autocast_cpu_dtype() is tt.bfloat16


def test_private_functions() -> None:
    tt._C._jit_set_profiling_mode(False)
    tt._C._log_api_usage_once("model")
    assert tt._C._get_tracing_state() is None
    with tt._C.DisableTorchFunctionSubclass():
        assert tt.ones(2).sum().item() == 2.0
    with pytest.raises(AttributeError, match="C\\+\\+"):
        tt._C._jit_pass_inline  # noqa: B018
    assert tt.fx.node.Node is tt.fx.proxy.Node is tt.fx.graph_module.Node
    tt._check(True)
    with pytest.raises(RuntimeError, match="too short"):
        tt._check(False, lambda: "too short")
    with pytest.raises(tt._C._LinAlgError):
        tt.linalg.cholesky(-tt.eye(2))
    tensors = [tt.arange(6.0).reshape(2, 3), tt.tensor(7.0), tt.zeros(0, 2)]
    flat = tt._utils._flatten_dense_tensors(tensors)
    assert flat.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0]
    for back, tensor in zip(tt._utils._unflatten_dense_tensors(flat, tensors), tensors):
        assert back.shape == tensor.shape and (back == tensor).all()
    with pytest.raises(RuntimeError, match="got 2 elements, expected at least 7"):
        tt._utils._unflatten_dense_tensors(flat[:2], tensors)


def test_model_zoo_has_the_progress_bar() -> None:
    from tinytensor.utils import model_zoo

    tqdm = pytest.importorskip("tqdm")
    assert model_zoo.tqdm is tqdm.tqdm
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        model_zoo.Nothing  # noqa: B018


def test_data_parallel_calls_the_module() -> None:
    layer, x = nn.Linear(3, 2), tt.ones(4, 3)
    assert (nn.parallel.data_parallel(layer, x) == layer(x)).all()
    assert (nn.parallel.data_parallel(layer, (), module_kwargs={"input": x}) == layer(x)).all()


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: tt.ao.quantization.QuantStub(), NotImplementedError, "QuantStub: quantised"),
        (lambda: tt.ao.quantization.fuse_modules(1), NotImplementedError, "fuse_modules: quant"),
        (lambda: nn.quantized.FloatFunctional(), NotImplementedError, "quantised tensors"),
        (lambda: tt.distributed.all_reduce(tt.ones(2)), ValueError, "not initialised"),
        (lambda: tt.utils.model_zoo.load_url("http://x"), NotImplementedError, "nothing is down"),
        (lambda: tt.fx.Graph(), NotImplementedError, "symbolic tracing"),
        (lambda: tt.cuda.Nothing, AttributeError, "no attribute 'Nothing'"),
    ],
)
def test_says_what_it_cannot_do(call: Any, error: type, message: str) -> None:
    import tinytensor.nn.quantized
    import tinytensor.utils.model_zoo  # noqa: F401

    with pytest.raises(error, match=message):
        call()


# (name, arguments after the tensors: a list per operand, or one number for all)
LISTS = ([[0.5, -1.5], [2.5]], [[1.5, 0.25], [-0.5]])
FOREACH = [
    ("neg", ()), ("sqrt", ()), ("sign", ()), ("reciprocal", ()), ("exp", ()), ("abs", ()),
    ("add", (2.0,)), ("add", ([1.0, 2.0],)), ("add", (LISTS[1],)), ("sub", (LISTS[1],)),
    ("mul", (0.5,)), ("mul", (LISTS[1],)), ("div", (LISTS[1],)), ("div", ([2.0, 4.0],)),
    ("maximum", (LISTS[1],)), ("maximum", (1.0,)), ("minimum", (LISTS[1],)), ("pow", (2.0,)),
    ("clamp_min", (0.75,)), ("clamp_max", (LISTS[1],)), ("lerp", (LISTS[1], 0.3)),
    ("lerp", (LISTS[1], LISTS[1])), ("addcmul", (LISTS[1], LISTS[0])),
    ("addcmul", (LISTS[1], LISTS[0], 2.0)), ("addcdiv", (LISTS[1], LISTS[0], [2.0, 3.0])),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, args", FOREACH)
def test_foreach(name: str, args: tuple, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    results = []
    for library in (tt, torch):
        kind = getattr(library, dtype)

        def tensors(value: Any, library: Any = library, kind: Any = kind) -> Any:
            if isinstance(value, list) and isinstance(value[0], list):
                return [library.tensor(row, dtype=kind) for row in value]
            return value

        start = tensors(LISTS[0])
        start = [x.abs() for x in start] if name == "sqrt" else start
        operands = [tensors(a) for a in args]
        out = getattr(library, f"_foreach_{name}")(start, *operands)
        written = getattr(library, f"_foreach_{name}_")(start, *operands)
        assert all(x is y for x, y in zip(written, start))
        results.append([x.numpy() for x in [*out, *start]])
    for ours, theirs in zip(*results):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_foreach_norm_zero_copy() -> None:
    xs = [tt.tensor([3.0, 4.0]), tt.ones(2, 2)]
    assert [x.item() for x in tt._foreach_norm(xs)] == [5.0, 2.0]
    tt._foreach_copy_(xs, [tt.zeros(2), tt.full((2, 2), 3.0)])
    assert xs[1].sum().item() == 12.0
    tt._foreach_zero_(xs)
    assert xs[1].sum().item() == 0.0
    assert tt._foreach_add([], 1.0) == []


def test_foreach_refuses() -> None:
    with pytest.raises(RuntimeError, match="_foreach_add: got lists of 1 and 2 items"):
        tt._foreach_add([tt.ones(1)], [tt.ones(1), tt.ones(1)])
    with pytest.raises(TypeError, match="_foreach_mul: got Tensor, expected a list"):
        tt._foreach_mul(tt.ones(2), 2.0)
    with pytest.raises(AttributeError):
        tt._foreach_nothing  # noqa: B018


def test_onnx_forms_of_ops_are_never_asked_for() -> None:
    from tinytensor.onnx import symbolic_helper, symbolic_opset11

    @symbolic_helper.parse_args("v", "f")
    def form(g: Any, x: Any, scale: float) -> Any:
        return symbolic_opset11.mul(g, x, scale)

    assert form.__name__ == "form"
    tt.onnx.register_custom_op_symbolic("mine::op", form, 11)
    assert tt.onnx.TrainingMode.EVAL.value == 0
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        tt.onnx.Nothing  # noqa: B018


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 4), tt.Size([5])], ids=str)
def test_standard_normal(dtype: str, shape: tuple) -> None:
    from tinytensor.distributions.utils import _standard_normal

    tt.manual_seed(0)
    drawn = _standard_normal(shape, getattr(tt, dtype), tt.device("cpu"))
    assert drawn.shape == tuple(shape) and drawn.dtype is getattr(tt, dtype)
    tt.manual_seed(0)
    assert drawn.equal(tt.randn(tuple(shape), dtype=drawn.dtype))
