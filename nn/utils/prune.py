"""Pruning: set some of a layer's weights to zero, and keep them there while it trains.

    weight = weight_mask·weight_orig

`weight_orig` is the parameter that trains, `weight_mask` a buffer of zeros and ones, and `weight`
is computed by a hook before every forward. Masks of several methods are multiplied.

A method is a class with `compute_mask`; `apply` puts it into a module. The functions at the end,
such as `l1_unstructured`, do that for the common methods.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import tinytensor as tt
from tinytensor.tensor import Tensor

from ..module import Module

# ------------------------------------------------------------------------------------------
# The mechanism
# ------------------------------------------------------------------------------------------


class BasePruningMethod:
    """A way to choose which weights become zero.

    PRUNING_TYPE says which weights a further method chooses among: "unstructured": those that are
    not zero yet; "structured": the channels that are not zero yet; "global": all.
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name: str

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for scores t: default_mask with further zeros."""
        raise NotImplementedError(f"{type(self).__name__}: compute_mask is not implemented")

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Module) -> Tensor:
        """weight_mask·weight_orig"""
        name = self._tensor_name
        mask, original = getattr(module, name + "_mask"), getattr(module, name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None,
              **kwargs: Any) -> BasePruningMethod:  # fmt: skip
        """Prune module.name, on top of what is pruned already; the scores default to the weight."""
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        key, earlier = _hook_of(module, name)
        original = getattr(module, name + "_orig" if earlier else name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise ValueError(
                f"prune: got importance_scores of shape {tuple(scores.shape)}, expected "
                f"{tuple(original.shape)}, the shape of {name}"
            )
        default = getattr(module, name + "_mask") if earlier else tt.ones_like(original)
        hook = method
        if earlier is not None:
            hook = earlier if isinstance(earlier, PruningContainer) else PruningContainer(earlier)
            hook.add_pruning_method(method)
        mask = hook.compute_mask(scores.detach(), default.detach())
        if earlier is None:
            delattr(module, name)
            module.register_parameter(name + "_orig", original)
        else:
            del module._forward_pre_hooks[key]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, hook.apply_mask(module))
        module.register_forward_pre_hook(hook)
        return hook

    def prune(self, t: Tensor, default_mask: Tensor | None = None,
              importance_scores: Tensor | None = None) -> Tensor:  # fmt: skip
        """t with the chosen weights set to zero, outside of any module."""
        scores = t if importance_scores is None else importance_scores
        default = tt.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default).to(dtype=t.dtype)

    def remove(self, module: Module) -> None:
        """Make the pruned weight a parameter again; its zeros stay, but train."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        original = getattr(module, name + "_orig")
        delattr(module, name)
        delattr(module, name + "_orig")
        delattr(module, name + "_mask")
        original.data = weight.data
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods on one weight: each adds its zeros to those of the earlier ones."""

    def __init__(self, *args: BasePruningMethod):
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        if not isinstance(method, BasePruningMethod):
            raise TypeError(
                f"prune: got {type(method).__name__}, expected a subclass of BasePruningMethod"
            )
        name = method._tensor_name
        if self._pruning_methods and name != self._tensor_name:
            raise ValueError(f"prune: got a method for {name}, expected {self._tensor_name}")
        self._tensor_name = name
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask with the zeros of the newest method, which sees only what is left."""
        method, mask = self._pruning_methods[-1], default_mask.clone().to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.ndim  # type: ignore[attr-defined]
            others = tuple(d for d in range(t.ndim) if d != dim)
            left = [slice(None)] * t.ndim
            left[dim] = mask.sum(dim=others) != 0
            left = tuple(left)
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * t.ndim
        else:
            raise ValueError(
                f"prune: got PRUNING_TYPE {method.PRUNING_TYPE!r}, expected 'unstructured', "
                "'structured' or 'global'"
            )
        mask[left] = method.compute_mask(t[left], mask[left])
        return mask


def _hook_of(module: Module, name: str) -> tuple[Any, BasePruningMethod | None]:
    """The key and the hook that computes module.name, or None."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None, None


# ------------------------------------------------------------------------------------------
# The methods
# ------------------------------------------------------------------------------------------


def _how_many(amount: float, size: int) -> int:
    """The number to prune of `size`: amount itself if it is an int, or a fraction of size."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"prune: got amount of type {type(amount).__name__}, expected a number")
    whole = isinstance(amount, numbers.Integral)
    if amount < 0 or (not whole and amount > 1):
        raise ValueError(f"prune: got amount {amount}, expected an int ≥ 0 or a float from 0 to 1")
    if whole and amount > size:
        raise ValueError(f"prune: got amount {amount}, expected at most {size}, all there are")
    return int(amount) if whole else round(amount * size)


class _Unstructured(BasePruningMethod):
    """Prune the single weights with the lowest scores; `scores` gives them."""

    def __init__(self, amount: float):
        _how_many(amount, 2**62)
        self.amount = amount

    def scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        mask = default_mask.clone()
        count = _how_many(self.amount, t.nelement())
        if count:
            lowest = tt.topk(self.scores(t).reshape(-1), k=count, largest=False).indices
            mask.view(-1)[lowest] = 0
        return mask


class L1Unstructured(_Unstructured):
    """Prune the weights with the smallest |w|."""

    def scores(self, t: Tensor) -> Tensor:
        return tt.abs(t)


class RandomUnstructured(_Unstructured):
    """Prune random weights."""

    def scores(self, t: Tensor) -> Tensor:
        return tt.rand_like(t)


class LnStructured(BasePruningMethod):
    """Prune the channels along `dim` with the smallest n-norm."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: float | str, dim: int = -1):
        _how_many(amount, 2**62)
        self.amount, self.n, self.dim = amount, n, dim

    def scores(self, t: Tensor) -> Tensor:
        others = tuple(d for d in range(t.ndim) if d != self.dim % t.ndim)
        return tt.norm(t, p=self.n, dim=others)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.ndim < 2:
            raise ValueError(f"prune: got a weight of shape {tuple(t.shape)}, expected ≥ 2 dims")
        if not -t.ndim <= self.dim < t.ndim:
            raise IndexError(f"prune: got dim {self.dim} for a weight of {t.ndim} dimensions")
        channels = t.shape[self.dim]
        count = _how_many(self.amount, channels)
        if not count:
            return default_mask
        kept = tt.topk(self.scores(t), k=channels - count, largest=True).indices
        mask, index = tt.zeros_like(t), [slice(None)] * t.ndim
        index[self.dim] = kept
        mask[tuple(index)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(LnStructured):
    """Prune random channels along `dim`."""

    def __init__(self, amount: float, dim: int = -1):
        super().__init__(amount, n=2, dim=dim)

    def scores(self, t: Tensor) -> Tensor:
        return tt.rand(t.shape[self.dim])


class CustomFromMask(BasePruningMethod):
    """Prune where a given mask is 0."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor):
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask * self.mask.to(dtype=default_mask.dtype)


class Identity(BasePruningMethod):
    """Prune nothing, but make the mask and the hook."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


# ------------------------------------------------------------------------------------------
# The functions
# ------------------------------------------------------------------------------------------


def identity(module: Module, name: str) -> Module:
    """A mask of ones for module.name."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune `amount` random weights (an int), or this fraction of them (a float)."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float,
                    importance_scores: Tensor | None = None) -> Module:  # fmt: skip
    """Prune the `amount` weights with the smallest |w|, or the lowest scores."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune `amount` random channels along `dim`."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: float, n: float | str, dim: int,
                  importance_scores: Tensor | None = None) -> Module:  # fmt: skip
    """Prune the `amount` channels along `dim` with the smallest n-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune module.name where `mask` is 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Iterable[tuple[Module, str]], pruning_method: type,
                        importance_scores: dict | None = None, **kwargs: Any) -> None:  # fmt: skip
    """Prune the lowest of all weights of several (module, name) together.

    importance_scores: {(module, name): scores}, for others than the weights.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError(
            f"global_unstructured: got {type(parameters).__name__}, expected (module, name) pairs"
        )
    pairs, given = list(parameters), importance_scores or {}
    if not isinstance(given, dict):
        raise TypeError("global_unstructured: importance_scores: got no dict, expected one")
    weights = [getattr(module, name) for module, name in pairs]
    scores = tt.cat([given.get(p, w).detach().reshape(-1) for p, w in zip(pairs, weights)])
    masks = [getattr(m, n + "_mask", tt.ones_like(w)) for (m, n), w in zip(pairs, weights)]
    method = PruningContainer()
    method._tensor_name = "temp"
    single = pruning_method(**kwargs)
    single._tensor_name = "temp"
    if single.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f"global_unstructured: got a method of type {single.PRUNING_TYPE!r}, expected "
            "'unstructured'"
        )
    method.add_pruning_method(single)
    final = method.compute_mask(scores, tt.cat([mask.reshape(-1) for mask in masks]))
    start = 0
    for (module, name), weight in zip(pairs, weights):
        end = start + weight.numel()
        custom_from_mask(module, name, final[start:end].view_as(weight))
        start = end


def remove(module: Module, name: str) -> Module:
    """Keep the zeros in module.name, and remove the mask and the hook."""
    key, hook = _hook_of(module, name)
    if hook is None:
        raise ValueError(
            f"remove: parameter {name!r} of {type(module).__name__} is not pruned, expected one "
            "that is"
        )
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a weight in the module, or in one inside it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for inner in module.modules()
        for hook in inner._forward_pre_hooks.values()
    )


__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured",
    "PruningContainer", "RandomStructured", "RandomUnstructured", "custom_from_mask",
    "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]  # fmt: skip
