"""Samples with one argument spoilt at random: a wrong shape, dtype, dim, size, mode or type.

    python -m tests.torch_samples.spoilt [--op add] [--samples 8] [--seed 0] [--verbose]

counts how the libraries differ, worst first: "other result" (both compute, and the results differ),
"computed here" (where PyTorch refuses), "refused here" (where PyTorch computes) and "other error"
(both refuse, but not with a line that says what is wrong).
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .convert import NotHere
from .database import known_ops
from .judge import Differs
from .kinds import Case, cases_of, compare, describe, samples, supported

DTYPES = [torch.int64, torch.bool, torch.float32, torch.uint8, torch.float64]
KINDS = ("other result", "computed here", "refused here", "other error")

# PyTorch ends the process, takes minutes, or reads memory that is not the tensor's.
SKIPPED = {"nn.functional.pdist", "nn.functional.embedding_bag", "as_strided",
           "lu_unpack"}  # fmt: skip


# ------------------------------------------------------------------------------------------
# One argument, spoilt
# ------------------------------------------------------------------------------------------


def spoil(value: Any, rng: random.Random) -> tuple[str, Any] | None:
    """(what was done, the new value), or None for a value that nothing is done to."""
    ways = ways_for(value)
    if not ways:
        return None
    name = rng.choice(sorted(ways))
    return name, ways[name](value, rng)


def ways_for(value: Any) -> dict[str, Callable]:
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_complex():
            return {}
        return {name: way for name, way in TENSOR.items() if fits(name, value)}
    if isinstance(value, bool):
        return OTHER_TYPE
    if isinstance(value, int):
        return {**NUMBER, **OTHER_TYPE}
    if isinstance(value, float):
        return {"negative": lambda v, rng: -abs(v) - 1, **OTHER_TYPE}
    if isinstance(value, str):
        return {"unknown": lambda v, rng: "nonsense", **OTHER_TYPE}
    if isinstance(value, (list, tuple)) and value and not hasattr(value, "_fields"):
        return SEQUENCE
    return {}


def fits(name: str, tensor: torch.Tensor) -> bool:
    needs_dim = name in ("longer", "shorter", "fewer dims")
    return not needs_dim or (tensor.ndim > 0 and tensor.numel() > 0)


def leaf(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    tracked = like.requires_grad and tensor.dtype.is_floating_point
    return tensor.detach().clone().requires_grad_(tracked)


def longer(t: torch.Tensor, rng: random.Random) -> torch.Tensor:
    dim = rng.randrange(t.ndim)
    return leaf(torch.cat([t, t.narrow(dim, 0, 1)], dim), t)


def shorter(t: torch.Tensor, rng: random.Random) -> torch.Tensor:
    dim = rng.randrange(t.ndim)
    return leaf(t.narrow(dim, 0, t.shape[dim] - 1), t)


TENSOR: dict[str, Callable] = {
    "longer": longer,
    "shorter": shorter,
    "more dims": lambda t, rng: leaf(t.unsqueeze(rng.randrange(t.ndim + 1)), t),
    "fewer dims": lambda t, rng: leaf(t.select(rng.randrange(t.ndim), 0), t),
    "dtype": lambda t, rng: leaf(t.to(rng.choice([d for d in DTYPES if d != t.dtype])), t),
    "None": lambda t, rng: None,
    "number": lambda t, rng: rng.choice([2, 1.5]),
    "string": lambda t, rng: "nonsense",
    "list": lambda t, rng: [1, 2],
}

OTHER_TYPE: dict[str, Callable] = {
    "None": lambda v, rng: None,
    "string": lambda v, rng: "nonsense",
    "list": lambda v, rng: [v],
    "tensor": lambda v, rng: torch.ones(2, 3, dtype=torch.float64),
}

NUMBER: dict[str, Callable] = {
    "large": lambda v, rng: v + 7,
    "negative": lambda v, rng: -abs(v) - 1,
    "very negative": lambda v, rng: -abs(v) - 7,
    "zero": lambda v, rng: 0,
    "float": lambda v, rng: v + 0.5,
}


def change_item(values: Any, rng: random.Random) -> Any:
    items = list(values)
    at = rng.randrange(len(items))
    changed = spoil(items[at], rng)
    if changed is not None:
        items[at] = changed[1]
    return items if isinstance(values, torch.Size) else type(values)(items)


SEQUENCE: dict[str, Callable] = {
    "item": change_item,
    "other item": change_item,
    "one more": lambda v, rng: type(v)([*v, v[-1]]),
    "one fewer": lambda v, rng: type(v)(list(v)[:-1]),
    "None": lambda v, rng: None,
    "string": lambda v, rng: "nonsense",
    "number": lambda v, rng: 3,
}


# ------------------------------------------------------------------------------------------
# The cases of an op
# ------------------------------------------------------------------------------------------


def spoilt(info: Any, count: int = 8, times: int = 4, seed: int = 0) -> Iterator[Case]:
    """`times` spoilt versions of each of `count` samples of an op, all from the seed."""
    dtype = torch.float64 if supported(info, torch.float64) else torch.int64
    if not supported(info, dtype) or info.name in SKIPPED:
        return
    rng = random.Random(zlib.crc32(f"{info.name} {info.variant_test_name} {seed}".encode()))
    found = list(samples(info, dtype, info.supports_autograd and dtype.is_floating_point))
    for args, kwargs in rng.sample(found, min(count, len(found))):
        places: list = [*range(len(args)), *kwargs]
        for _ in range(times):
            place = rng.choice(places)
            new_args, new_kwargs = list(args), dict(kwargs)
            holder: Any = new_args if isinstance(place, int) else new_kwargs
            changed = spoil(holder[place], rng)
            if changed is None:
                continue
            holder[place] = changed[1]
            label = f"{place} {changed[0]}: {describe(tuple(new_args), new_kwargs)}"
            yield Case(
                label,
                lambda a=tuple(new_args), k=new_kwargs: compare(info, a, k, 1, types=False),
            )


def kind_of(message: str) -> str:
    if message.startswith("computed where"):
        return "computed here"
    if message.startswith("raised"):
        return "other error"
    return "refused here" if message.startswith("refused") else "other result"


def judge(info: Any, count: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """(kind, label, message) of each case; the kind is "agree" where the libraries do."""
    for case in cases_of(lambda: spoilt(info, count, seed=seed)):
        try:
            case.run()
        except NotHere:
            continue
        except Differs as error:
            yield kind_of(str(error)), case.label, str(error)
        else:
            yield "agree", case.label, ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--op", action="append")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    total: Counter = Counter()
    causes: dict = defaultdict(list)
    for name, info in known_ops().items():
        if options.op and info.name not in options.op:
            continue
        if options.verbose:
            print(name, file=sys.stderr, flush=True)
        for kind, label, message in judge(info, options.samples, options.seed):
            total[kind] += 1
            if kind != "agree":
                cause = re.sub(r"[-\d.e]+", "#", message)
                causes[kind, name, cause].append((label, message))
    print(f"{sum(total.values())} cases: {dict(total)}")
    order = sorted(causes.items(), key=lambda c: (KINDS.index(c[0][0]), -len(c[1])))
    for (kind, name, _), found in order:
        print(f"{kind} {len(found):3} {name}: {found[0][1]}\n        {found[0][0]}")


if __name__ == "__main__":
    main()
