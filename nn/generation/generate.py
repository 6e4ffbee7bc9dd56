"""generate and stream: continue sequences with a model, token by token.

    idx = nn.generate(model, prompt, 100)                                # greedy
    idx = nn.generate(model, prompt, 100, temperature=0.8, top_p=0.9)    # sampling
    idx = nn.generate(model, prompt, 100, beams=4, stop=end)             # beam search
    for token in nn.stream(model, prompt, 100, temperature=1.0): ...     # one token at a time

The model is any callable that maps token ids (N, T) to next-token logits (N, T, V), or to a tuple
whose first item is these logits. It runs under no_grad and in eval mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tinytensor as tt
from tinytensor.create import Generator
from tinytensor.errors import ShapeError
from tinytensor.tensor import Tensor

from .beam_search import beam_search
from .next_logits import NextLogits, check_prompt, inference, modules_of, stop_tokens
from .sampling import Sampler


def generate(
    model: Any,
    idx: Tensor,
    max_new_tokens: int,
    temperature: float = 0.0,
    top_k: int | None = None,
    *,
    top_p: float | None = None,
    repetition_penalty: float = 1.0,
    beams: int = 1,
    length_penalty: float = 0.0,
    stop: int | Sequence[int] | None = None,
    pad: int | None = None,
    uniforms: Any = None,
    generator: Generator | None = None,
    use_cache: bool = True,
    block_size: int | None = None,
) -> Tensor:
    """Append up to max_new_tokens tokens to each row of idx: (N, T) → (N, T + new).

    temperature: 0 takes the most probable token (greedy); otherwise a token is drawn from
        softmax(logits / temperature).
    top_k, top_p: draw only from the k most probable tokens, or from the fewest whose probabilities
        sum to p. The order is: repetition penalty, temperature, top_k, top_p.
    repetition_penalty: above 1, makes tokens that already occur in the row less probable.
    beams, length_penalty: with more than one beam, beam search; see `beam_search`.
    stop: the token or tokens that end a row; the row keeps its stop token. The rest of the row is
        filled with pad, by default the (first) stop token. Generation ends when all rows have
        ended.
    uniforms: the random numbers to draw with, in [0, 1), max_new_tokens for each row of idx, or
        one row for all; see `inverse_cdf`. generator: the source of random numbers otherwise.
    use_cache: keep keys and values if the model has `new_cache`. It affects only the speed.
    block_size: the longest input of the model; a longer sequence is cut to its last tokens. By
        default that of the model or of its config; if neither has one, there is no limit.
    """
    if beams == 1:
        new = stream(
            model, idx, max_new_tokens, temperature, top_k, top_p=top_p, stop=stop, pad=pad,
            repetition_penalty=repetition_penalty, uniforms=uniforms, generator=generator,
            use_cache=use_cache, block_size=block_size,
        )  # fmt: skip
        return tt.cat([idx, *(token.unsqueeze(1) for token in new)], dim=1)  # (N,) → (N, 1)
    if temperature not in (0, 1) or not (top_k is top_p is uniforms is generator is None):
        raise ValueError(
            f"generate: got beams={beams} and arguments of sampling, expected one or the other; "
            "beam search draws no random numbers"
        )
    best, _ = beam_search(
        model, idx, max_new_tokens, beams, length_penalty=length_penalty, stop=stop, pad=pad,
        repetition_penalty=repetition_penalty, use_cache=use_cache, block_size=block_size,
    )  # fmt: skip
    return best[:, 0]  # (N, 1, T + new) → (N, T + new)


def stream(
    model: Any,
    idx: Tensor,
    max_new_tokens: int,
    temperature: float = 0.0,
    top_k: int | None = None,
    *,
    top_p: float | None = None,
    repetition_penalty: float = 1.0,
    stop: int | Sequence[int] | None = None,
    pad: int | None = None,
    uniforms: Any = None,
    generator: Generator | None = None,
    use_cache: bool = True,
    block_size: int | None = None,
) -> Iterator[Tensor]:
    """Yield the tokens that `generate` appends, step by step, one for each row: (N,).

    The arguments are those of generate, without beams: beam search has no token until its end.
    Between two tokens, the training mode of the model and the grad mode are restored.
    """
    check_prompt(idx, max_new_tokens)
    sampler = Sampler(temperature, top_k, top_p, repetition_penalty)
    longest = idx.shape[1] + max_new_tokens
    next_logits = NextLogits(model, longest, use_cache, block_size)
    numbers = None
    if uniforms is not None:
        if temperature == 0:
            raise ValueError(
                "generate: got uniforms at temperature 0, where nothing is drawn; give a "
                "temperature above 0, such as 1"
            )
        numbers = _given_numbers(uniforms, idx.shape[0], max_new_tokens, idx.device)
    return _stream(
        next_logits, sampler, idx, longest, *stop_tokens(stop, pad, idx), numbers, generator
    )


def _stream(
    next_logits: NextLogits,
    sampler: Sampler,
    idx: Tensor,
    longest: int,
    stops: Tensor,
    pad: int,
    numbers: Tensor | None,
    generator: Generator | None,
) -> Iterator[Tensor]:
    modules = modules_of(next_logits.model)
    rows, start = idx.shape
    tokens = idx.new_zeros((rows, longest))
    tokens[:, :start] = idx
    ended = tt.zeros(rows, dtype=tt.bool, device=idx.device)
    for t in range(start, longest):
        with inference(modules):  # not around yield: the caller keeps its own modes
            so_far = tokens[:, :t]
            logits = next_logits(so_far)
            u = None
            if numbers is not None:
                u = numbers[:, t - start]
            elif sampler.temperature > 0:
                u = tt.rand(rows, generator=generator, dtype=tt.float64, device=idx.device)
            token = sampler(logits, so_far, u).to(idx.dtype)
            tokens[:, t] = token  # not pad, which may not be a valid input
            if len(stops):
                token, ended = token.masked_fill(ended, pad), ended | tt.isin(token, stops)
        yield token
        if len(stops) and ended.all():
            return


def _given_numbers(uniforms: Any, rows: int, steps: int, device: Any) -> Tensor:
    """Check `uniforms` and expand it to (rows, steps)."""
    numbers = tt.as_tensor(uniforms, dtype=tt.float64, device=device)
    if tuple(numbers.shape) not in ((steps,), (rows, steps)):
        raise ShapeError(
            f"generate: uniforms has shape {tuple(numbers.shape)}, expected {(rows, steps)} or "
            f"{(steps,)}, one number for each new token"
        )
    if not ((numbers >= 0) & (numbers < 1)).all():
        raise ValueError("generate: uniforms has numbers outside of [0, 1), expected none")
    return numbers.expand(rows, steps)


__all__ = ["generate", "stream"]
