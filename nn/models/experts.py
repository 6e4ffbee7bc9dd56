"""Mixture of experts: many parallel networks, of which each token uses a few.

A gate, a linear layer and a softmax, assigns each token a probability for each expert. The tokens
are sorted by expert, each expert runs once on its own tokens, and the results return to the
original order. So the work for a token does not grow with the number of experts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor

from ..container import ModuleList
from ..linear import Linear
from ..module import Module


class Routing(NamedTuple):
    """The gate's decisions for the T tokens of a batch, in order, and E experts."""

    logits: Tensor  # (T, E)
    probabilities: Tensor  # softmax of the logits, (T, E)
    experts: Tensor  # indices of the chosen experts, most probable first, (T, k)
    weights: Tensor  # factors of their outputs, (T, k)


def load_balancing_loss(probabilities: Tensor, experts: Tensor) -> Tensor:
    """E·Σₑ fₑ·Pₑ:  fₑ is the fraction of choices of expert e, Pₑ its mean probability.

    probabilities (T, E), experts (T, k). It is 1 when all experts are chosen equally often, and E
    when one expert has probability 1 for all tokens. Only P carries a gradient: it lowers the
    probabilities of the experts that are chosen too often.
    """
    count = probabilities.shape[-1]
    chosen = tt.bincount(experts.flatten(), minlength=count).to(probabilities.dtype)
    fraction = chosen / max(1, experts.numel())
    return count * (fraction * probabilities.mean(dim=0)).sum()


def router_z_loss(logits: Tensor) -> Tensor:
    """The mean of (log Σₑ exp logitₑ)² over the tokens; keeps the logits (T, E) small."""
    return logits.logsumexp(dim=-1).square().mean()


class MixtureOfExperts(Module):
    """y = Σ wₑ·expertₑ(x) over the top_k experts with the highest p = softmax(gate(x))

    The weights wₑ are pₑ, or pₑ / Σ p over the chosen experts with normalize. Input (…, d_model);
    output (…, output width of the experts). Ties go to the expert with the lower index. An expert
    without tokens does not run.

    experts:      a list of modules, or a function that makes one and is called num_experts times
    top_k:        number of experts for each token
    normalize:    whether the weights of a token sum to 1. By default if top_k > 1: a single expert
                  would always have weight 1, and the gate would learn nothing from the output
    gate_bias:    whether the gate has a bias

    After a call, `routing` holds the gate's decisions, and two auxiliary losses can be added to the
    model's, with small factors: `load_balancing_loss()` and `z_loss()`. They belong to the graph of
    that call, which is kept until the next one.
    """

    routing: Routing | None

    def __init__(
        self,
        d_model: int,
        experts: Iterable[Module] | Callable[[], Module],
        num_experts: int | None = None,
        top_k: int = 1,
        normalize: bool | None = None,
        gate_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.experts = ModuleList(_make(type(self).__name__, experts, num_experts))
        self.d_model, self.num_experts, self.top_k = d_model, len(self.experts), top_k
        if not 1 <= top_k <= self.num_experts:
            raise ValueError(
                f"{type(self).__name__}: got top_k={top_k}, expected from 1 to the number of "
                f"experts, {self.num_experts}"
            )
        self.normalize = top_k > 1 if normalize is None else normalize
        self.gate = Linear(d_model, self.num_experts, bias=gate_bias, device=device, dtype=dtype)
        self.routing = None

    def forward(self, input: Tensor) -> Tensor:
        tokens = self._tokens(input)  # (T, C)
        routing = self.routing = self.route(tokens)
        pairs, counts = self._by_expert(routing.experts)  # pair i is token i // k, choice i % k
        outputs = self._run(tokens[pairs // self.top_k].split(counts))  # (T·k, out)
        back = pairs.argsort()
        if self.top_k == 1 and self.normalize:
            mixed = outputs[back]  # every weight is 1
        else:
            chosen = outputs[back].unflatten(0, (-1, self.top_k))  # (T·k, out) → (T, k, out)
            mixed = (chosen * routing.weights.unsqueeze(-1)).sum(dim=1)  # (T, k, out) → (T, out)
        return mixed.reshape(*input.shape[:-1], mixed.shape[-1])  # (T, out) → (…, out)

    def route(self, tokens: Tensor) -> Routing:
        """The gate's decisions for tokens (T, C)."""
        logits = self.gate(tokens)
        probabilities = logits.softmax(dim=-1)
        # stable: ties go to the lower index on every machine
        order = probabilities.detach().argsort(dim=-1, descending=True, stable=True)
        experts = order[:, : self.top_k]
        weights = probabilities.gather(1, experts)
        if self.normalize:
            weights = weights / weights.sum(dim=-1, keepdim=True)
        return Routing(logits, probabilities, experts, weights)

    def load_balancing_loss(self) -> Tensor:
        """E·Σₑ fₑ·Pₑ of the last call: 1 if the experts have equal shares, at most E."""
        routing = self._last_routing()
        return load_balancing_loss(routing.probabilities, routing.experts)

    def z_loss(self) -> Tensor:
        """The mean of (log Σ exp logit)² of the last call."""
        return router_z_loss(self._last_routing().logits)

    def _last_routing(self) -> Routing:
        if self.routing is None:
            raise RuntimeError(
                f"{type(self).__name__}: its losses are those of the last call, but there was "
                "none; call the layer first"
            )
        return self.routing

    def _tokens(self, input: Tensor) -> Tensor:
        if not input.ndim or input.shape[-1] != self.d_model:
            raise ShapeError(
                f"{type(self).__name__}: got shape {tuple(input.shape)}, expected (…, d_model="
                f"{self.d_model})"
            )
        return input.reshape(-1, self.d_model)  # (…, C) → (T, C)

    def _by_expert(self, experts: Tensor) -> tuple[Tensor, list[int]]:
        """Return the indices into experts.flatten(), sorted by expert, and each expert's count.

        The sort is stable: the tokens of an expert stay in order.
        """
        flat = experts.flatten()  # (T, k) → (T·k)
        counts = tt.bincount(flat, minlength=self.num_experts)
        return flat.argsort(stable=True), counts.tolist()

    def _run(self, parts: Iterable[Tensor]) -> Tensor:
        """Run each expert on its part of the tokens; return the outputs, concatenated."""
        pairs = list(zip(self.experts, parts))
        outputs = [expert(part) for expert, part in pairs if len(part)]
        if not outputs:  # no tokens: run one expert for the width of the output
            expert, part = pairs[0]
            return expert(part)
        return tt.cat(outputs)

    def __getstate__(self) -> dict[str, Any]:
        """For deepcopy and pickle: the graph of the last call is not part of the layer."""
        return super().__getstate__() | {"routing": None}

    def extra_repr(self) -> str:
        return f"top_k={self.top_k}, normalize={self.normalize}"


class SwitchLayer(MixtureOfExperts):
    """y = p·expert(x) for the expert with the highest p = softmax(gate(x)), or x if it is full

    The layer of the Switch Transformer: one expert for each token, and each expert takes at most
    `capacity` tokens of a batch. Earlier tokens have priority. A token beyond the capacity passes
    through unchanged. Input and output (…, d_model).

    capacity_factor:  the capacity is capacity_factor·T / E for T tokens, rounded up; None: no limit
    capacity:         a fixed capacity instead
    scale:            whether outputs are multiplied by p; if not, the gate gets no gradient from
                      them

    After a call, `overflowed` (…) is True for the tokens that passed through.
    """

    overflowed: Tensor | None

    def __init__(
        self,
        d_model: int,
        experts: Iterable[Module] | Callable[[], Module],
        num_experts: int | None = None,
        capacity_factor: float | None = 1.25,
        capacity: int | None = None,
        scale: bool = True,
        gate_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(d_model, experts, num_experts, normalize=not scale, gate_bias=gate_bias,
                         device=device, dtype=dtype)  # fmt: skip
        for name, value in {"capacity_factor": capacity_factor, "capacity": capacity}.items():
            if value is not None and value < 0:
                raise ValueError(f"SwitchLayer: got {name}={value}, expected 0 or more")
        self.capacity_factor, self.capacity, self.scale = capacity_factor, capacity, scale
        self.overflowed = None

    def room(self, tokens: int) -> int:
        """The capacity of each expert for a batch of `tokens` tokens."""
        if self.capacity is not None:
            return self.capacity
        if self.capacity_factor is None:
            return tokens
        return math.ceil(self.capacity_factor * tokens / self.num_experts)

    def forward(self, input: Tensor) -> Tensor:
        tokens = self._tokens(input)  # (T, C)
        routing = self.routing = self.route(tokens)
        order, counts = self._by_expert(routing.experts)
        room = self.room(len(tokens))
        queues = order.split(counts)  # the tokens of each expert, in order
        taken, left = tt.cat([q[:room] for q in queues]), tt.cat([q[room:] for q in queues])

        outputs = self._run(tokens[taken].split([min(count, room) for count in counts]))
        if outputs.shape[1:] != tokens.shape[1:]:
            raise ShapeError(
                f"SwitchLayer: the experts give tokens of width {tuple(outputs.shape[1:])}, "
                f"expected d_model={self.d_model}, as some tokens pass through unchanged"
            )
        if self.scale:
            outputs = outputs * routing.weights[taken]  # (tokens, C)·(tokens, 1)
        back = tt.cat([taken, left]).argsort()
        self.overflowed = (back >= len(taken)).reshape(input.shape[:-1])  # (T) → (…)
        return tt.cat([outputs, tokens[left]])[back].reshape(input.shape)  # (T, C) → (…, C)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"overflowed": None}

    def extra_repr(self) -> str:
        if self.capacity is not None:
            return f"capacity={self.capacity}, scale={self.scale}"
        return f"capacity_factor={self.capacity_factor}, scale={self.scale}"


def _make(name: str, experts: Any, num_experts: int | None) -> list[Module]:
    """The list of experts: the given modules, or num_experts calls of the given function."""
    if callable(experts) and not isinstance(experts, Iterable):
        if num_experts is None:
            raise TypeError(f"{name}: got a function that makes experts, expected num_experts too")
        return [experts() for _ in range(num_experts)]
    made = list(experts)
    if not made or num_experts not in (None, len(made)):
        raise ValueError(
            f"{name}: got {len(made)} experts and num_experts={num_experts}, expected at least one "
            "and, if it is given, that many"
        )
    return made


__all__ = ["MixtureOfExperts", "Routing", "SwitchLayer", "load_balancing_loss", "router_z_loss"]
