"""Mamba: a block that mixes a sequence with a selective state space (S6) instead of attention.

Its state has a fixed size: the time for a sequence is linear in its length, and each further token
costs the same small amount (`step`). Selective means that the token itself controls what is written
to the state, what is read from it and how fast it decays.
"""

from __future__ import annotations

import math
from typing import Any

import tinytensor as tt
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor

from .. import functional as F
from .. import init
from ..convolution import Conv1d
from ..linear import Linear
from ..module import Module
from ..parameter import Parameter


class Mamba(Module):
    """x, z = in_proj(input);  x ← silu(conv1d(x));  δ, B, C = x_proj(x);  Δ = softplus(dt_proj(δ));
    hₜ = exp(Δₜ·A)·hₜ₋₁ + Δₜ·Bₜ·xₜ;  yₜ = Cₜ·hₜ + D·xₜ;  output = out_proj(y·silu(z))

    A = −exp(A_log). conv1d works per channel and sees a token and the d_conv − 1 before it.
    Input and output (N, L, d_model).

    d_model:  width of the tokens
    d_state:  S, size of the state of each channel
    d_conv:   width of the convolution
    expand:   the block works in E = expand·d_model channels
    dt_rank:  width of δ; "auto": ⌈d_model / 16⌉
    dt_min, dt_max, dt_init_floor:  Δ starts log-uniform between dt_min and dt_max, clamped to at
              least dt_init_floor
    dt_init, dt_scale:  dt_proj.weight starts "random", uniform in ±dt_scale/√dt_rank, or "constant"
    conv_bias, bias:  of conv1d; of in_proj and out_proj
    use_fast_path:  the fast scan; False: the plain loop (see tinytensor/ops/selective_scan.py)
    layer_idx:  ignored; here because arguments and names are those of `mamba_ssm`
    """

    def __init__(
        self,
        d_model: int,
        d_state: int = 16,
        d_conv: int = 4,
        expand: int = 2,
        dt_rank: int | str = "auto",
        dt_min: float = 0.001,
        dt_max: float = 0.1,
        dt_init: str = "random",
        dt_scale: float = 1.0,
        dt_init_floor: float = 1e-4,
        conv_bias: bool = True,
        bias: bool = False,
        use_fast_path: bool = True,
        layer_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        if dt_init not in ("random", "constant"):
            raise ValueError(f"Mamba: got dt_init={dt_init!r}, expected 'random' or 'constant'")
        self.d_model, self.d_state, self.d_conv, self.expand = d_model, d_state, d_conv, expand
        self.d_inner = int(expand * d_model)
        self.dt_rank = math.ceil(d_model / 16) if isinstance(dt_rank, str) else dt_rank
        self.dt_min, self.dt_max, self.dt_init_floor = dt_min, dt_max, dt_init_floor
        self.dt_init, self.dt_scale = dt_init, dt_scale
        self.use_fast_path, self.layer_idx = use_fast_path, layer_idx

        channels = self.d_inner
        self.in_proj = Linear(d_model, 2 * channels, bias=bias, **options)
        self.conv1d = Conv1d(channels, channels, d_conv, padding=d_conv - 1, groups=channels,
                             bias=conv_bias, **options)  # fmt: skip
        self.x_proj = Linear(channels, self.dt_rank + 2 * d_state, bias=False, **options)
        self.dt_proj = Linear(self.dt_rank, channels, bias=True, **options)
        self.A_log = Parameter(tt.empty(channels, d_state, **options))
        self.D = Parameter(tt.empty(channels, **options))
        self.out_proj = Linear(channels, d_model, bias=bias, **options)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set A to −1, …, −S in each channel, D to ones, and dt_proj so that Δ starts in range.

        dt_proj.bias is softplus⁻¹ of the initial Δ. The other layers have initialized themselves.
        """
        with tt.no_grad():
            numbers = tt.arange(1, self.d_state + 1, dtype=self.D.dtype, device=self.D.device)
            self.A_log.copy_(numbers.log().expand(self.d_inner, self.d_state))
            init.ones_(self.D)
            bound = self.dt_rank**-0.5 * self.dt_scale
            if self.dt_init == "constant":
                init.constant_(self.dt_proj.weight, bound)
            else:
                init.uniform_(self.dt_proj.weight, -bound, bound)
            low, high = math.log(self.dt_min), math.log(self.dt_max)
            dt = tt.rand(self.d_inner, dtype=self.D.dtype, device=self.D.device)
            dt = (dt * (high - low) + low).exp().clamp(min=self.dt_init_floor)
            self.dt_proj.bias.copy_(dt + (-tt.expm1(-dt)).log())  # softplus of this is dt

    def forward(self, hidden_states: Tensor) -> Tensor:
        """(N, L, d_model) → (N, L, d_model)"""
        return self._run(hidden_states)[0]

    def prefill(self, hidden_states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return forward's output, and conv_state and ssm_state, from which `step` continues."""
        output, x, ssm_state = self._run(hidden_states)
        missing = max(0, self.d_conv - x.shape[2])
        conv_state = F.pad(x, (missing, 0))[..., -self.d_conv :]  # (N, E, L) → (N, E, d_conv)
        return output, conv_state, ssm_state

    def _run(self, hidden_states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The output (N, L, C), the convolution's input (N, E, L), the last state (N, E, S)."""
        shape = tuple(hidden_states.shape)
        if len(shape) != 3 or shape[2] != self.d_model:
            raise ShapeError(f"Mamba: got shape {shape}, expected (N, L, d_model={self.d_model})")
        # (N, L, 2·E) → (N, 2·E, L) → 2 × (N, E, L)
        x, z = self.in_proj(hidden_states).transpose(1, 2).chunk(2, dim=1)
        u = F.silu(self.conv1d(x)[..., : shape[1]])  # causal: drop the outputs past the end
        delta, B, C = (part.transpose(1, 2) for part in self._selection(u.transpose(1, 2)))
        scan = tt.selective_scan if self.use_fast_path else tt.selective_scan_ref
        y, state = scan(u, delta, self._A(), B, C, self.D, z=z, return_last_state=True)
        return self.out_proj(y.transpose(1, 2)), x, state

    def _selection(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Δ (…, E), B and C (…, S) for x (…, E)."""
        sizes = [self.dt_rank, self.d_state, self.d_state]
        dt, B, C = self.x_proj(x).split(sizes, dim=-1)
        return F.softplus(self.dt_proj(dt)), B, C

    def _A(self) -> Tensor:
        return -self.A_log.exp()

    def step(
        self, hidden_states: Tensor, conv_state: Tensor, ssm_state: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Process one more token (N, 1, d_model); return its output and the new states.

        conv_state (N, E, d_conv): the last inputs of the convolution. ssm_state (N, E, S). Both
        come from `prefill`, the previous step, or `allocate_inference_cache` at the start.
        """
        shape = tuple(hidden_states.shape)
        if len(shape) != 3 or shape[1:] != (1, self.d_model):
            raise ShapeError(
                f"Mamba.step: got shape {shape}, expected one token, (N, 1, d_model="
                f"{self.d_model}); use prefill for several"
            )
        x, z = self.in_proj(hidden_states.squeeze(1)).chunk(2, dim=-1)  # 2 × (N, E)
        conv_state = tt.cat([conv_state[..., 1:], x.unsqueeze(-1)], dim=-1)  # (N, E, d_conv)
        x = (conv_state * self.conv1d.weight.squeeze(1)).sum(dim=-1)  # (E, 1, K) → (E, K)
        if self.conv1d.bias is not None:
            x = x + self.conv1d.bias
        u = F.silu(x)
        delta, B, C = self._selection(u)
        decay = (delta.unsqueeze(-1) * self._A()).exp()  # (N, E, 1)·(E, S) → (N, E, S)
        # (N, E, 1)·(N, 1, S) → (N, E, S)
        ssm_state = decay * ssm_state + (delta * u).unsqueeze(-1) * B.unsqueeze(1)
        y = (ssm_state @ C.unsqueeze(-1)).squeeze(-1) + self.D * u  # (N, E, S) times (N, S, 1)
        return self.out_proj(y * F.silu(z)).unsqueeze(1), conv_state, ssm_state

    def allocate_inference_cache(
        self, batch_size: int, max_seqlen: int | None = None, dtype: Any = None
    ) -> tuple[Tensor, Tensor]:
        """Return zero conv_state and ssm_state, to call `step` from the first token on.

        max_seqlen is ignored: the size of the states does not depend on the length.
        """
        options: dict[str, Any] = {"device": self.D.device, "dtype": dtype or self.D.dtype}
        conv_state = tt.zeros(batch_size, self.d_inner, self.d_conv, **options)
        return conv_state, tt.zeros(batch_size, self.d_inner, self.d_state, **options)


__all__ = ["Mamba"]
