"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes that does less work for rare ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import tinytensor as tt
from tinytensor.tensor import Tensor

from . import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """log p(c) = head[c] for frequent classes, head[cluster] + tail[c] for the others

    Classes are ordered by frequency, the most frequent first. Those below cutoffs[0] have an output
    of the head each; those from one cutoff to the next are a cluster, which has one output of the
    head and a tail of its own. The head is Linear(in_features, cutoffs[0] + clusters), the tail i
    is Linear(in_features, in_features // div_value^(i+1)) and Linear(…, classes of the cluster).
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        bounds = [0, *cutoffs, n_classes]
        whole = all(int(c) == c for c in cutoffs)
        if not cutoffs or not whole or any(a >= b for a, b in zip(bounds, bounds[1:])):
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: got cutoffs {list(cutoffs)} for {n_classes} classes, "
                f"expected increasing integers from 1 to {n_classes - 1}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = bounds[1:]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (start, end) in enumerate(self._clusters()):
            width = int(in_features // div_value ** (i + 1))
            down = Linear(in_features, width, False, device, dtype)
            self.tail.append(Sequential(down, Linear(width, end - start, False, device, dtype)))

    def _clusters(self) -> list[tuple[int, int]]:
        """(first class, one past the last) of each cluster."""
        return list(zip(self.cutoffs, self.cutoffs[1:]))

    def reset_parameters(self) -> None:
        self.head.reset_parameters()
        for pair in self.tail:
            for layer in pair:
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """(log p(target) of each sample, the mean of −log p): input (N, in), target (N).

        Without a batch: input (in), target (), output ().
        """
        self._check(input_, target_)
        single = target_.ndim == 0
        input = input_.unsqueeze(0) if single else input_  # (in) → (1, in)
        target = target_.unsqueeze(0) if single else target_
        if target.numel() and not bool(((target >= 0) & (target < self.n_classes)).all()):
            raise RuntimeError(
                "AdaptiveLogSoftmaxWithLoss: got targets from "
                f"{int(target.min())} to {int(target.max())}, expected 0 to {self.n_classes - 1}"
            )
        column = target.clone()  # the output of the head: the class itself, or its cluster's
        extra = []  # (samples, log p within the cluster)
        for i, (start, end) in enumerate(self._clusters()):
            rows = ((target >= start) & (target < end)).nonzero().reshape(-1)
            if rows.numel():
                column[rows] = self.shortlist_size + i
                within = F.log_softmax(self.tail[i](input[rows]), dim=1)
                own = (target[rows] - start).unsqueeze(1)
                extra.append((rows, within.gather(1, own).squeeze(1)))
        head = F.log_softmax(self.head(input), dim=1)  # (N, head_size)
        output = head.gather(1, column.unsqueeze(1)).squeeze(1)
        for rows, log_p in extra:
            output = output.index_add(0, rows, log_p)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """log p of every class: (N, in) → (N, n_classes)."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            number = self.shortlist_size + i
            parts.append(F.log_softmax(tail(input), dim=1) + head[:, number : number + 1])
        return tt.cat(parts, dim=1)

    def predict(self, input: Tensor) -> Tensor:
        """The most likely class: (N, in) → (N).

        The head decides between the frequent classes and the clusters, as in PyTorch; only samples
        whose best output is a cluster's look at all classes.
        """
        best = self.head(input).argmax(dim=1)
        rare = (best >= self.shortlist_size).nonzero().reshape(-1)
        if rare.numel():
            best[rare] = self.log_prob(input[rare]).argmax(dim=1)
        return best

    def _check(self, input: Tensor, target: Tensor) -> None:
        shapes = f"got input {tuple(input.shape)} and target {tuple(target.shape)}"
        if target.ndim > 1 or input.ndim != target.ndim + 1:
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: {shapes}, expected (N, in) and (N), or (in) and ()"
            )
        if target.ndim and input.shape[0] != target.shape[0]:
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: {shapes}, expected as many targets as rows"
            )
