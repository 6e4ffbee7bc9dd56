"""Every op of PyTorch's database that exists here agrees with PyTorch on its samples."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is the oracle of this test")

from .convert import NotHere
from .database import known_ops
from .exceptions import DIFFERENCES, Difference, reason_for
from .judge import Differs
from .kinds import KINDS, Case, cases

OPS = sorted(known_ops())
FEW = 3  # samples of an op in the quick test of a kind
PAGE = Path(__file__).parents[2] / "docs" / "porting.md"


def difference(case: Case) -> str | None:
    """What differs, or None."""
    try:
        case.run()
    except NotHere:
        return None
    except Differs as error:
        return str(error)
    return None


def wrong_samples(op: str, kind: str, limit: int | None) -> list[str]:
    """The samples that differ without being listed, a line for each."""
    found = list(cases(known_ops()[op], kind))
    if limit is not None and len(found) > limit:
        found = random.Random(zlib.crc32(f"{op} {kind}".encode())).sample(found, limit)
    wrong = []
    for case in found:
        message = difference(case)
        if message is not None and reason_for(op, kind, message) is None:
            wrong.append(f"{op} {case.label}: {message}")
    return wrong


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "float32"])
@pytest.mark.parametrize("op", OPS)
def test_a_few_samples(op: str, kind: str) -> None:
    wrong = wrong_samples(op, kind, FEW)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(8))
def test_all_samples(part: int, kind: str) -> None:
    wrong = [line for op in OPS[part::8] for line in wrong_samples(op, kind, None)]
    assert not wrong, f"{len(wrong)} samples:\n" + "\n".join(wrong[:40])


@pytest.mark.parametrize("listed", DIFFERENCES, ids=lambda d: f"{d.ops[:40]} {d.message[:20]}")
def test_each_difference_is_still_there(listed: Difference) -> None:
    """For each op that it names, in at least one sample."""
    for op in [name.strip() for name in listed.ops.split(";")]:
        kinds = listed.kinds.split("; ") if listed.kinds else list(KINDS)
        assert any(_differs(listed, op, kind) for kind in kinds), (
            f"{op} agrees with PyTorch now: take it out of exceptions.py ({listed.reason})"
        )


def _differs(listed: Difference, op: str, kind: str) -> bool:
    messages: Any = (difference(case) for case in cases(known_ops()[op], kind))
    return any(m is not None and listed.covers(op, kind, m) for m in messages)


def test_the_page_lists_every_difference() -> None:
    text = " ".join(PAGE.read_text("utf-8").split())
    missing = {listed.reason for listed in DIFFERENCES if listed.reason not in text}
    assert not missing, f"docs/porting.md does not say: {missing}"


def test_as_many_ops_as_promised() -> None:
    assert len({info.name for info in known_ops().values()}) >= 400
