"""RNNBase: the loop of a recurrent layer over time; subclasses define the step.

It multiplies all inputs by W_ih at once. Then, step by step, it multiplies the state by W_hh and
applies the gates. All of this works on packed sequences (nn/utils/rnn.py): a padded batch is packed
as sequences of the same length.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import tinytensor as tt
from tinytensor.autograd.site import warn
from tinytensor.errors import ShapeError
from tinytensor.ops.autocast import lower
from tinytensor.ops.autocast_setting import setting
from tinytensor.tensor import Tensor

from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence

State = tuple[Tensor, ...]  # (h,), or (h, c) for an LSTM

# Gate values over all steps. Smaller layers run step by step, so that a graph shows every step.
LONG = 2**13


class Weights(NamedTuple):
    """The parameters of one layer in one direction."""

    ih: Tensor
    hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None
    hr: Tensor | None

    @property
    def bias(self) -> Tensor | None:
        """The sum of both biases, for layers that simply add them."""
        if self.bias_ih is None or self.bias_hh is None:
            return None
        return self.bias_ih + self.bias_hh


def _parts(hx: Any) -> list[Tensor]:
    """The state as a list, from the h or (h, c) that a caller passes."""
    return list(hx) if isinstance(hx, (tuple, list)) else [hx]


def _rows_when_padded(sizes: list[int], backwards: bool) -> np.ndarray:
    """The rows of a padded batch, (T·N, …), of the rows of a packed one with these batch sizes.

    backwards: with the steps of each sequence in reverse order.
    """
    counts = np.array(sizes)
    times = np.repeat(np.arange(len(sizes)), counts)
    sequences = np.concatenate([np.arange(count) for count in sizes])
    if backwards:
        times = np.bincount(sequences)[sequences] - 1 - times  # from the end of each
    return times * sizes[0] + sequences


class RNNBase(Module):
    """Base class of RNN, LSTM and GRU.

    input_size     features of each step of the input
    hidden_size    H, features of the state
    num_layers     L; each layer reads the outputs of the one before
    batch_first    input and output are (N, T, …) instead of (T, N, …)
    dropout        probability, on the outputs of all layers but the last
    bidirectional  D = 2: a second set of weights reads the sequence in reverse
    proj_size      (LSTM) multiply the state h by a matrix (proj_size, H)

    Input (T, N, in), (T, in) without a batch, or a PackedSequence. Output (T, N, D·H), the states
    h of the last layer at all steps, and the last state of each layer and direction (L·D, N, H).
    The initial state hx has that shape too; it is zeros by default.

    Parameters of layer k: weight_ih_lk (G·H, in), weight_hh_lk (G·H, H), bias_ih_lk and bias_hh_lk
    (G·H), for G gates, weight_hr_lk (proj_size, H); with the suffix _reverse for the second
    direction. All start uniform in ±1/√H.
    """

    gates = 1  # G

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        name = type(self).__name__
        for label, size in {"input_size": input_size, "hidden_size": hidden_size,
                            "num_layers": num_layers}.items():  # fmt: skip
            if not isinstance(size, int):
                raise TypeError(f"{name}: got {label}={size!r}, expected an integer")
            if size <= 0:
                raise ValueError(f"{name}: got {label}={size}, expected more than 0")
        for label, flag in {"bias": bias, "batch_first": batch_first}.items():
            if not isinstance(flag, bool):
                raise TypeError(f"{name}: got {label}={flag!r}, expected True or False")
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(f"{name}: got dropout={dropout}, expected a number from 0 to 1")
        if not 0 <= proj_size < hidden_size:
            raise ValueError(
                f"{name}: got proj_size={proj_size}, expected less than hidden_size={hidden_size}"
            )
        if dropout > 0 and num_layers == 1:
            warn(
                f"{name}: dropout={dropout} has no effect with num_layers=1: it is applied between "
                "layers"
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        rows = self.gates * hidden_size
        for number in range(self._runs):
            first = number < self._directions
            features = input_size if first else self._directions * self._output_size
            shapes: dict[str, tuple] = {
                "weight_ih": (rows, features),
                "weight_hh": (rows, self._output_size),
            }
            if bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for kind, shape in shapes.items():
                parameter = Parameter(tt.empty(shape, device=device, dtype=dtype))
                self.register_parameter(kind + self._ending(number), parameter)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _runs(self) -> int:
        """L·D: the number of passes over the sequence."""
        return self.num_layers * self._directions

    @property
    def _output_size(self) -> int:
        return self.proj_size or self.hidden_size

    def _ending(self, number: int) -> str:
        """The suffix of the parameters' names: _l0, _l0_reverse, _l1, …"""
        layer, direction = divmod(number, self._directions)
        return f"_l{layer}_reverse" if direction else f"_l{layer}"

    def _weights(self, number: int) -> Weights:
        ending = self._ending(number)
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        return Weights(*(self._parameters.get(kind + ending) for kind in kinds))  # type: ignore

    @property
    def _all_weights(self) -> list[list[str]]:
        """The parameters' names, one list for each layer and direction."""
        kinds = ["weight_ih", "weight_hh"] + ["bias_ih", "bias_hh"] * self.bias
        kinds += ["weight_hr"] * (self.proj_size > 0)
        return [[kind + self._ending(number) for kind in kinds] for number in range(self._runs)]

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters, one list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing; PyTorch arranges the weights for cuDNN here."""

    # --------------------------------------------------------------------------------------
    # Defined by subclasses: the part of the gates that needs no state, and one step
    # --------------------------------------------------------------------------------------

    def from_inputs(self, x: Tensor, weights: Weights) -> Tensor:
        """The input part of the gates, for all steps at once: (Σ sizes, in) → (Σ sizes, G·H)."""
        return F.linear(x, weights.ih, weights.bias)

    def step(self, x: Tensor, state: State, weights: Weights) -> State:
        """The next state, from x (N, G·H), the input part of the gates, and the state before."""
        raise NotImplementedError(f"{type(self).__name__}: step is not implemented")

    def sequence(
        self, x: Tensor, state: State, weights: Weights, sizes: list[int]
    ) -> tuple[Tensor, State] | None:
        """All steps in one op: (T, N, in) → (T, N, H) and the last state; None if there is none.

        sizes[t] sequences run at step t, the first ones.
        """
        return None

    # --------------------------------------------------------------------------------------
    # Through time
    # --------------------------------------------------------------------------------------

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            x, sizes = self._autocast(input.data), input.batch_sizes.tolist()
            self._check_input(x, 2)
            initial = self._initial(hx, x, sizes[0], input.sorted_indices)
            output, state = self._layers(x, sizes, initial)
            if input.unsorted_indices is not None:
                state = tuple(s.index_select(1, input.unsorted_indices) for s in state)
            return input._replace(data=output), self._as_hx(state)

        if input.dim() not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: got input of shape {tuple(input.shape)}, expected 2 "
                "dimensions, (T, in), or 3, (T, N, in)"
            )
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first and batched else 1
        x = input if batched else input.unsqueeze(1)  # (T, in) → (T, 1, in)
        x = x.transpose(0, 1).contiguous() if batch_dim == 0 else x  # (N, T, in) → (T, N, in)
        x = self._autocast(x)
        self._check_input(x, 3)
        length, count, _ = x.shape
        if hx is not None and not batched:
            hx = [s.unsqueeze(1) for s in _parts(hx)]  # (L·D, H) → (L·D, 1, H)
        initial = self._initial(hx, x, count)
        output, state = self._layers(x.flatten(0, 1), [count] * length, initial)
        output = output.unflatten(0, (length, count))  # (T·N, D·H) → (T, N, D·H)
        if batch_dim == 0:
            output = output.transpose(0, 1)  # (T, N, D·H) → (N, T, D·H)
        if not batched:
            output, state = output.squeeze(1), tuple(s.squeeze(1) for s in state)
        return output, self._as_hx(state)

    def _layers(self, x: Tensor, sizes: list[int], initial: list[State]) -> tuple[Tensor, State]:
        """All layers, both directions: outputs (Σ sizes, D·H) and last states (L·D, N, H)."""
        last: list[State] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(self._directions):
                number = layer * self._directions + direction
                weights = self._weights(number)
                y, state = self._through_time(x, sizes, initial[number], weights, direction == 1)
                outputs.append(y)
                last.append(state)
            x = tt.cat(outputs, -1) if self.bidirectional else outputs[0]
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        return x, tuple(tt.stack(parts) for parts in zip(*last))

    def _through_time(
        self, x: Tensor, sizes: list[int], initial: State, weights: Weights, backwards: bool
    ) -> tuple[Tensor, State]:
        """One layer in one direction; at step t, the first sizes[t] sequences are running."""
        if len(x) * self.gates * self.hidden_size >= LONG:
            whole = self._as_one(x, sizes, initial, weights, backwards)
            if whole is not None:
                return whole
        steps = tt.split(self.from_inputs(x, weights), sizes)
        times = range(len(sizes))[::-1] if backwards else range(len(sizes))
        running = sizes[times[0]]
        state = tuple(s[:running] for s in initial)
        outputs: list[Any] = [None] * len(sizes)
        ended: list[State] = []  # the last states of sequences that have ended
        for t in times:
            if sizes[t] < running:
                ended.append(tuple(s[sizes[t] :] for s in state))
                state = tuple(s[: sizes[t]] for s in state)
            elif sizes[t] > running:  # backwards, shorter sequences start later
                new = [s[running : sizes[t]] for s in initial]
                state = tuple(tt.cat(rows) for rows in zip(state, new))
            running = sizes[t]
            state = self.step(steps[t], state, weights)
            outputs[t] = state[0]
        if ended:
            state = tuple(tt.cat(rows) for rows in zip(state, *reversed(ended)))
        return tt.cat(outputs), state

    def _as_one(
        self, x: Tensor, sizes: list[int], initial: State, weights: Weights, backwards: bool
    ) -> tuple[Tensor, State] | None:
        """`_through_time` as one op, `sequence`, on sequences padded to one length."""
        length, count = len(sizes), sizes[0]
        all_run = sizes[-1] == count
        if all_run:
            padded = x.unflatten(0, (length, count))  # (T·N, in) → (T, N, in)
            padded = padded.flip(0) if backwards else padded
        else:
            rows = tt.tensor(_rows_when_padded(sizes, backwards), device=x.device)
            padded = x.new_zeros(length * count, x.shape[1]).index_copy(0, rows, x)
            padded = padded.unflatten(0, (length, count))  # (T·N, in) → (T, N, in)
        whole = self.sequence(padded, initial, weights, sizes)
        if whole is None:
            return None
        y, state = whole
        if not all_run:
            return y.flatten(0, 1).index_select(0, rows), state  # (T, N, H) → (Σ sizes, H)
        return (y.flip(0) if backwards else y).flatten(0, 1), state  # (T, N, H) → (T·N, H)

    # --------------------------------------------------------------------------------------
    # The state, as callers pass and receive it
    # --------------------------------------------------------------------------------------

    def _state_sizes(self) -> list[int]:
        return [self.hidden_size]

    def _as_hx(self, state: State) -> Any:
        return state[0]

    def _initial(
        self, hx: Any, like: Tensor, count: int, order: Tensor | None = None
    ) -> list[State]:
        """The initial state of each layer and direction."""
        sizes = self._state_sizes()
        if hx is None:
            zeros = tuple(like.new_zeros(count, size) for size in sizes)
            return [zeros] * self._runs
        given = [self._autocast(part) for part in _parts(hx)]
        expected = [(self._runs, count, size) for size in sizes]
        shapes = [tuple(s.shape) for s in given]
        if shapes != expected:
            raise ShapeError(
                f"{type(self).__name__}: the initial state has shape "
                f"{', '.join(map(str, shapes))}, expected {', '.join(map(str, expected))}, "
                "(layers·directions, N, H)"
            )
        if order is not None:
            given = [s.index_select(1, order) for s in given]
        return list(zip(*(s.unbind(0) for s in given)))

    def _autocast(self, x: Tensor) -> Tensor:
        """x as autocast converts it; GRU computes in the dtype of x."""
        lowers = setting.active is not None and self.gates != 3
        return lower((x,))[0] if lowers else x

    def _check_input(self, x: Tensor, dims: int) -> None:
        name = type(self).__name__
        if x.dim() != dims or x.shape[-1] != self.input_size:
            raise ShapeError(
                f"{name}: input has {x.shape[-1]} features at each step, expected "
                f"input_size={self.input_size}"
            )
        if not x.shape[0]:
            raise RuntimeError(f"{name}: the sequence has no steps, expected at least one")
        if x.dtype != self.weight_ih_l0.dtype and setting.active is None:
            raise ValueError(
                f"{name}: input is {x.dtype}, the weights are {self.weight_ih_l0.dtype}; convert "
                "one of them with .to(dtype)"
            )

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False,
                 "dropout": 0.0, "bidirectional": False}  # fmt: skip
        for name, value in usual.items():
            if getattr(self, name) != value:
                text += f", {name}={getattr(self, name)}"
        return text
