"""The contenders of the benchmark do the same work, and what it writes can be read."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tinytensor as tt

FOLDER = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """bench("gpt"): a module of the benchmarks folder, which is not a package."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


@pytest.mark.parametrize("by", ["numpy", "autograd", "mygrad"])
def test_gpt_without_layers_is_the_gpt(bench: Callable[[str], Any], by: str) -> None:
    """Loss and gradients are those of the model in layers, for the same weights."""
    pytest.importorskip(by)
    gpt, gpt_numpy, gpt_tape = bench("gpt"), bench("gpt_numpy"), bench("gpt_tape")
    setting = gpt.Setting(layers=2, heads=2, width=16, context=8, batch=3)
    # Ten times as large as they start, so that attention is not nearly uniform.
    parameters = {
        name: array if "norm" in name else 10 * array
        for name, array in gpt_numpy.parameters_for(setting).items()
    }
    idx, targets = gpt_numpy.batch_for(setting)

    model = gpt.gpt(tt, setting)
    for name, parameter in model.named_parameters():
        parameter.data.copy_(tt.from_numpy(parameters[name]))
    loss = model(tt.from_numpy(idx), tt.from_numpy(targets))
    loss.backward()

    run = {
        "numpy": gpt_numpy.loss_and_gradients,
        "autograd": gpt_tape.with_autograd,
        "mygrad": gpt_tape.with_mygrad,
    }[by]
    found, gradients = run(parameters, idx, targets, setting)
    assert found == pytest.approx(loss.item(), rel=1e-6)
    assert gradients.keys() == dict(model.named_parameters()).keys()
    for name, parameter in model.named_parameters():
        expected = parameter.grad.numpy()
        atol = 1e-5 * np.abs(expected).max()
        np.testing.assert_allclose(gradients[name], expected, rtol=1e-4, atol=atol, err_msg=name)


def test_adamw_by_hand_is_adamw(bench: Callable[[str], Any]) -> None:
    gpt, gpt_numpy = bench("gpt"), bench("gpt_numpy")
    rng = np.random.default_rng(0)
    start = {"matrix": rng.normal(size=(3, 4)), "vector": rng.normal(size=4)}
    start = {name: array.astype(np.float32) for name, array in start.items()}
    ours = {name: tt.tensor(array, requires_grad=True) for name, array in start.items()}
    holder = tt.nn.ParameterDict({name: tt.nn.Parameter(p.detach()) for name, p in ours.items()})
    optimizer, by_hand = gpt.optimizer_for(tt, holder), gpt_numpy.Optimizer(start)
    for _ in range(3):
        gradients = {n: rng.normal(size=a.shape).astype(np.float32) for n, a in start.items()}
        for name, parameter in holder.items():
            parameter.grad = tt.from_numpy(gradients[name].copy())
        tt.nn.utils.clip_grad_norm_(holder.parameters(), 1.0)
        optimizer.step()
        by_hand.step(gradients)
    for name, parameter in holder.items():
        np.testing.assert_allclose(start[name], parameter.detach().numpy(), rtol=1e-5)


def test_run_writes_json_and_a_chart(
    bench: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = bench("run")
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    monkeypatch.setattr(run, "TURN", 0.001)
    names = ["tinytensor NumPy only"]
    row = run.measure("MLP", names, seconds=0.003)
    run.add_ratios(row)
    run.write_results({"MLP": row}, 0.003)
    found = json.loads((tmp_path / "bench.json").read_text())["cases"]["MLP"][names[0]]
    assert found["ratio"] == 1 and found["steps"] >= 3 and found["median_ms"] > 0
    drawn = ElementTree.parse(tmp_path / "bench.svg").getroot()
    texts = [element.text or "" for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert run.CASES["MLP"] in texts and names[0] in texts


def figures(ms: float, megabytes: int = 10) -> dict[str, Any]:
    return {"median_ms": ms, "memory_bytes": {"step": megabytes << 20}}


@pytest.mark.parametrize(
    "case, row, expected",
    [
        ("CNN", {"PyTorch": figures(10), "tinytensor": figures(10)}, None),
        ("CNN", {"PyTorch": figures(10), "tinytensor": figures(10.1)}, "takes 1.010 of PyTorch's"),
        ("CNN", {"PyTorch": figures(10), "tinytensor NumPy only": figures(90)}, None),
        ("CNN", {"tinytensor": figures(10), "tinytensor NumPy only": figures(90)}, None),
        ("gpt", {"PyTorch": figures(10), "tinytensor NumPy only": figures(17)}, None),
        ("gpt", {"PyTorch": figures(10), "tinytensor NumPy only": figures(18)}, "takes 1.800 of"),
        ("gpt", {"tinytensor": figures(10), "autograd": figures(80)}, None),
        ("gpt", {"tinytensor": figures(10), "autograd": figures(79)}, "autograd takes 7.90 times"),
        ("gpt-512", {"PyTorch": figures(10, 80), "tinytensor": figures(9, 80)}, None),
        ("gpt-512", {"PyTorch": figures(10, 80), "tinytensor": figures(9, 81)}, "needs 81 MB"),
        ("gpt", {"PyTorch": figures(10, 80), "tinytensor": figures(9, 81)}, None),
    ],
)
def test_a_figure_above_its_limit_is_named(
    bench: Callable[[str], Any], case: str, row: dict[str, Any], expected: str | None
) -> None:
    bench("run").add_ratios(row)
    lines = bench("limits").missed({case: row})
    assert len(lines) == (expected is not None)
    assert not lines or (lines[0].startswith(f"{case}: ") and expected in lines[0])


@pytest.mark.parametrize("library", ["tinytensor", "torch"])
def test_programs_of_learners_train(bench: Callable[[str], Any], library: str) -> None:
    """Each takes 3 steps in either library, and the loss stays a finite number that has a graph."""
    lib = pytest.importorskip(library)
    for name, program in bench("learners").PROGRAMS.items():
        lib.manual_seed(0)
        step = program(lib)
        losses = [step() for _ in range(3)]
        assert all(np.isfinite(loss.item()) and loss.requires_grad for loss in losses), name
        assert len({loss.item() for loss in losses}) > 1, f"{name}: nothing is learnt"


@pytest.mark.parametrize(
    "ratios, expected",
    [
        ({"a": 0.9, "b": 1.4, "c": 1.0}, []),
        ({"a": 0.9, "b": 1.6, "c": 1.0}, ["b: 1.60 of"]),
        ({"a": 1.1, "b": 1.2, "c": 1.0}, ["median: 1.10 of"]),
    ],
)
def test_limits_of_learners_programs(
    bench: Callable[[str], Any], ratios: dict[str, float], expected: list[str]
) -> None:
    lines = bench("learners_run").missed(ratios)
    assert len(lines) == len(expected)
    assert all(line.startswith(start) for line, start in zip(lines, expected))


@pytest.mark.parametrize("option", [["--only", "quux"], ["--contenders", "quux"]], ids=" ".join)
def test_unknown_names_are_refused(option: list[str]) -> None:
    command = [sys.executable, str(FOLDER / "run.py"), *option]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert f"{option[0]}: got 'quux', expected some of" in done.stderr


def test_the_engine_without_tracing_is_made_and_differentiates(
    bench: Callable[[str], Any], tmp_path: Path
) -> None:
    """benchmarks/tracing.py cuts lines out of the source; they must still be there."""
    bench("tracing").copy_without_tracing(tmp_path)
    code = "import tinytensor as tt, nn; m = nn.Linear(2, 1); m(tt.ones(2)).sum().backward()"
    code += "; a, b = m.weight.grad.chunk(2, 1); assert a.item() == b.item() == 1"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
