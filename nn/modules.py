"""nn.modules: the classes under PyTorch's paths, as in `from nn.modules.loss import MSELoss`.

Each path is a module made here; it holds the very classes of the files in `nn`, and the names that
other code imports from PyTorch's file: base classes with a leading underscore, and `_pair` and its
relatives, which repeat a number.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from itertools import repeat
from types import ModuleType
from typing import Any

from . import (
    activation,
    adaptive_softmax,
    attention,
    container,
    convolution,
    distance,
    dropout,
    embedding_bag,
    fractional_pooling,
    global_hooks,
    lazy,
    linear,
    loss,
    margin_loss,
    module,
    norm,
    padding,
    parameter_container,
    pooling,
    recurrent,
    recurrent_base,
    resample,
    response_norm,
    rrelu,
    state_dict,
    sync_batch_norm,
    transformer,
    transformer_layers,
    unpooling,
)


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple]:
    def parse(x: Any) -> tuple:
        return tuple(x) if hasattr(x, "__iter__") else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


def _reverse_repeat_tuple(t: Any, n: int) -> tuple:
    """(1, 2), 2 → (2, 2, 1, 1): the argument of F.pad for a padding of each dimension."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: list, defaults: list) -> list:
    """out_size with the last sizes of `defaults` in place of None."""
    if len(defaults) <= len(out_size):
        raise ValueError(f"got {len(defaults)} defaults, expected more than {len(out_size)}")
    pairs = zip(out_size, defaults[-len(out_size) :], strict=True)
    return [default if size is None else size for size, default in pairs]


def consume_prefix_in_state_dict_if_present(state_dict: dict, prefix: str) -> None:
    """Remove `prefix`, such as "module.", from the keys that begin with it, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if (key and key in (prefix.removesuffix("."), prefix)) or key.startswith(prefix):
            metadata[key.removeprefix(prefix) if key.startswith(prefix) else ""] = metadata.pop(key)


_BASES = {
    "_BatchNorm": norm._BatchNorm, "_NormBase": norm._RunningNorm,
    "_InstanceNorm": norm._InstanceNorm, "_ConvNd": convolution._Convolution,
    "_ConvTransposeNd": convolution._ConvTranspose, "_DropoutNd": dropout._Dropout,
    "_Loss": loss.Loss, "_WeightedLoss": loss.WeightedLoss, "LazyModuleMixin": lazy.LazyModuleMixin,
    "_MaxPoolNd": pooling._MaxPool, "_AvgPoolNd": pooling._AvgPool,
    "_AdaptiveAvgPoolNd": pooling._Adaptive, "_AdaptiveMaxPoolNd": pooling._AdaptiveMax,
    "_LPPoolNd": fractional_pooling._LPPool, "_MaxUnpoolNd": unpooling._MaxUnpool,
    "RNNBase": recurrent_base.RNNBase, "Module": module.Module,
    "_IncompatibleKeys": state_dict.IncompatibleKeys, "_EXTRA_STATE_KEY_SUFFIX": state_dict.EXTRA,
    **{n: hooks for n, hooks in vars(global_hooks).items() if n.startswith("_global_")},
}  # fmt: skip
_UTILS = {
    "_ntuple": _ntuple, "_single": _ntuple(1, "_single"), "_pair": _ntuple(2, "_pair"),
    "_triple": _ntuple(3, "_triple"), "_quadruple": _ntuple(4, "_quadruple"),
    "_reverse_repeat_tuple": _reverse_repeat_tuple, "_list_with_default": _list_with_default,
    "consume_prefix_in_state_dict_if_present": consume_prefix_in_state_dict_if_present,
}  # fmt: skip

# {PyTorch's file: (the files here that its classes are in, further names)}
_PATHS: dict[str, tuple[tuple, tuple]] = {
    "activation": ((activation, rrelu, attention), ()),
    "adaptive": ((adaptive_softmax,), ()),
    "batchnorm": ((norm, sync_batch_norm, lazy), ("_BatchNorm", "_NormBase")),
    "channelshuffle": ((resample,), ()),
    "container": ((container, parameter_container), ()),
    "conv": ((convolution, lazy), ("_ConvNd", "_ConvTransposeNd")),
    "distance": ((distance,), ()),
    "dropout": ((dropout,), ("_DropoutNd",)),
    "flatten": ((container,), ()),
    "fold": ((resample,), ()),
    "instancenorm": ((norm, lazy), ("_InstanceNorm", "_NormBase")),
    "lazy": ((), ("LazyModuleMixin",)),
    "linear": ((linear, lazy, container), ()),
    "loss": ((loss, margin_loss), ("_Loss", "_WeightedLoss")),
    "module": (
        (global_hooks,),
        ("Module", "_IncompatibleKeys", "_EXTRA_STATE_KEY_SUFFIX",
         *(n for n in _BASES if n.startswith("_global_"))),
    ),
    "normalization": ((norm, response_norm), ()),
    "padding": ((padding,), ()),
    "pixelshuffle": ((resample,), ()),
    "pooling": (
        (pooling, fractional_pooling, unpooling),
        ("_MaxPoolNd", "_AvgPoolNd", "_AdaptiveAvgPoolNd", "_AdaptiveMaxPoolNd", "_LPPoolNd",
         "_MaxUnpoolNd"),
    ),
    "rnn": ((recurrent,), ("RNNBase",)),
    "sparse": ((linear, embedding_bag), ()),
    "transformer": ((transformer, transformer_layers), ()),
    "upsampling": ((resample,), ()),
    "utils": ((), ()),
}  # fmt: skip


def _make(name: str, sources: tuple, further: tuple) -> ModuleType:
    """A module with the public names of `sources`, and others of _BASES."""
    made = ModuleType(f"{__name__}.{name}", f"The names of torch.nn.modules.{name}.")
    made.__spec__ = ModuleSpec(made.__name__, None)
    public = {n: getattr(source, n) for source in sources for n in source.__all__}
    vars(made).update(public, **{n: _BASES[n] for n in further}, **_UTILS)
    made.__all__ = sorted(public)  # type: ignore[attr-defined]
    sys.modules[made.__name__] = made
    return made


__path__: list[str] = []  # makes it a package, for `import nn.modules.loss`
__all__ = []
for _name, (_sources, _further) in _PATHS.items():
    globals()[_name] = _made = _make(_name, _sources, _further)
    for _n in _made.__all__:
        globals().setdefault(_n, getattr(_made, _n))
        __all__.append(_n)
