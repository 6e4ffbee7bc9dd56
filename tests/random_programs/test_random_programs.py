"""Random programs agree with PyTorch: values, gradients, errors, aliasing, properties."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of this test")

import tinytensor  # noqa: E402

from .compare import check  # noqa: E402
from .generator import program  # noqa: E402
from .shrink import shrink  # noqa: E402

STEP = 250


def agree(seeds: range) -> None:
    for seed in seeds:
        made = program(seed)
        if check(made.dtype, made.lines, made.run):
            lines = shrink(made.dtype, made.lines)
            wrong = check(made.dtype, lines)
            text = "\n".join(f"    {line}" for line in lines)
            pytest.fail(f"seed {seed} ({made.dtype}): {wrong}\n{text}", pytrace=False)


@pytest.mark.parametrize("start", range(0, 1500, STEP))
def test_random_programs(start: int) -> None:
    agree(range(start, start + STEP))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1500, 10_000, 2 * STEP))
def test_more_random_programs(start: int) -> None:
    agree(range(start, start + 2 * STEP))


# The shortest form of program 23728, the one that PyTorch runs and tinytensor refuses.
OVERWRITTEN = [
    "t0 = num(588, ({n}, 3)).requires_grad_()",
    "t1 = L.cos(t0)",
    "t1[...] *= num(16, ({n}, 3))",
    "t2 = t1 / (t1 * t1 + 1)",
    "g3, = row_major(L.autograd.grad([t2], [t0], [num(814, ({n}, 3))], create_graph=True))",
    "t1.copy_(num(956, ({n}, 3)))",
    "L.autograd.backward([g3], [num(381, ({n}, 3))], retain_graph=True)",
]


def test_a_saved_value_is_overwritten_in_an_empty_tensor() -> None:
    """Both refuse it with 2 rows. With none, PyTorch's rule of as_strided returns zeros without a
    graph, so that the second backward pass never comes to the overwritten value.
    """
    from .program import run

    errors = {
        (lib, n): str(run(lib, "float64", [line.format(n=n) for line in OVERWRITTEN]).errors[-1])
        for lib in (tinytensor, torch)
        for n in (0, 2)
    }
    assert errors.pop((torch, 0)) == "None"
    assert "modified by an inplace operation" in errors.pop((torch, 2))
    assert all("was changed in place after it was saved" in text for text in errors.values())
    for n, tracked in ((0, False), (2, True)):
        x, g = (torch.ones(n, 3, requires_grad=True) for _ in range(2))
        (dx,) = torch.autograd.grad(x.as_strided((n, 3), (3, 1)), x, g, create_graph=True)
        assert dx.requires_grad == tracked  # it depends on g in both


# ------------------------------------------------------------------------------------------
# The comparison itself
# ------------------------------------------------------------------------------------------

PROGRAM = [
    "t0 = num(1, (2, 3)).requires_grad_()",
    "t1 = t0 * 2",
    "t2 = t1[0]",
    "t2.mul_(t0[1])",
    "t3 = t1.clone()",
    "(t1 * t1).sum().backward(retain_graph=True)",
]


@pytest.mark.parametrize(
    ("line", "other", "found"),
    [
        (3, "t2.mul_(t0[1].detach())", "t0.grad"),
        (3, "t2 = t2 * t0[1]", "t0.grad"),
        (1, "t1 = t0.detach() * 2; t1.requires_grad_()", "error at"),
        (2, "t2 = t1[0].clone()", "t0.grad"),
        (4, "t3 = t1.t().contiguous().t()", "t3.stride"),
        (4, "t3 = t1 * 1.000001", "t3: "),
        (4, "t3 = t1.detach().clone()", "t3.requires_grad"),
        (5, "(t1 * t1).sum().backward(retain_graph=True, inputs=[t1])", "t0.grad"),
    ],
)
def test_a_difference_is_found(
    monkeypatch: pytest.MonkeyPatch, line: int, other: str, found: str
) -> None:
    from . import compare

    run = compare.run
    wrong = [*PROGRAM[:line], other, *PROGRAM[line + 1 :]]

    def run_wrongly(library: object, dtype: str, lines: list[str]) -> object:
        return run(library, dtype, lines if library is torch else wrong)

    assert check("float64", PROGRAM) is None
    monkeypatch.setattr(compare, "run", run_wrongly)
    assert str(check("float64", PROGRAM)).startswith(found)


def test_the_same_seed_gives_the_same_program() -> None:
    first, second = program(7), program(7)
    assert (first.lines, first.dtype) == (second.lines, second.dtype)
    assert len(first.lines) >= 5
