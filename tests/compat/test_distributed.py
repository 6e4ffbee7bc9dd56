"""torch.distributed with one process, beside PyTorch's gloo backend where that tells more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tinytensor as tt

dist: Any = tt.distributed


@pytest.fixture
def group() -> Iterator[None]:
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_the_group(group: None) -> None:
    assert dist.is_available() and dist.is_initialized()
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    assert dist.group.WORLD.size() == 1 and dist.get_process_group_ranks() == [0]
    assert dist.new_group([0]).rank() == 0
    with pytest.raises(ValueError, match="already"):
        dist.init_process_group("gloo")


def test_after_its_end() -> None:
    assert not dist.is_initialized() and dist.group.WORLD is None
    assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
    dist.barrier()
    for name in ("all_reduce", "broadcast", "reduce"):
        with pytest.raises(ValueError, match=f"distributed.{name}: the process group"):
            getattr(dist, name)(tt.ones(2), 0)


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match="world_size=2 .* run without the launcher"):
        dist.init_process_group()
    assert not dist.is_initialized()


def test_collectives_change_nothing_or_copy(group: None) -> None:
    x = tt.tensor([1.0, 2.0])
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX):
        assert dist.all_reduce(x, op=op) is None
    work = dist.all_reduce(x, async_op=True)
    assert work.wait() and work.is_completed()
    dist.broadcast(x, src=0)
    dist.reduce(x, dst=0)
    assert x.tolist() == [1, 2]
    results = {name: tt.zeros(2) for name in ("gather", "all_gather", "scatter", "all_to_all")}
    dist.all_gather([results["all_gather"]], x)
    dist.gather(x, [results["gather"]], dst=0)
    dist.scatter(results["scatter"], [x], src=0)
    dist.all_to_all([results["all_to_all"]], [x])
    for name in ("all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single"):
        results[name] = tt.zeros(2)
        getattr(dist, name)(results[name], x)
    results["reduce_scatter"] = tt.zeros(2)
    dist.reduce_scatter(results["reduce_scatter"], [x])
    assert all(y.tolist() == [1, 2] for y in results.values())


def test_objects(group: None) -> None:
    found: list = [None]
    dist.all_gather_object(found, {"a": 1})
    assert found == [{"a": 1}]
    dist.gather_object("b", found, dst=0)
    assert found == ["b"]
    dist.broadcast_object_list(found, src=0)
    dist.scatter_object_list(found, [3], src=0)
    assert found == [3]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: dist.broadcast(tt.ones(1), src=1), RuntimeError, r"ranks \[1\]"),
        (lambda: dist.all_gather([tt.ones(1)] * 2, tt.ones(1)), RuntimeError, "list of 2"),
        (lambda: dist.all_gather([tt.ones(3)], tt.ones(1)), RuntimeError, "as many elements"),
        (lambda: dist.send(tt.ones(1), 0), ValueError, "cannot send to itself"),
        (lambda: dist.all_reduce([1.0]), TypeError, "all_reduce"),
        (lambda: dist.new_group([0, 1]), RuntimeError, "one process"),
        (lambda: dist.nothing, AttributeError, "nothing"),
    ],
)
def test_refused(group: None, call: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_paths() -> None:
    from tinytensor.distributed import ReduceOp, init_process_group
    from tinytensor.distributed.nn import all_reduce

    assert init_process_group is dist.init_process_group and all_reduce is dist.all_reduce
    assert ReduceOp.SUM is dist.ReduceOp.SUM
