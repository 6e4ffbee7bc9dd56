"""The profiler: what it counts, that it puts everything back, and its picture."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tinytensor as tt
from tinytensor.autograd.op import Op
from tinytensor.ops.activation import GeluTanh
from tinytensor.ops.linear import Linear
from tinytensor.profile import profile
from tinytensor.profile.__main__ import main
from tinytensor.profile.flame_graph import flame_graph

SVG = "{http://www.w3.org/2000/svg}"


def step(model: tt.nn.Module, optimizer: tt.optim.Optimizer) -> None:
    optimizer.zero_grad()
    model(tt.ones(3, 4)).square().sum().backward()
    optimizer.step()


def model_and_optimizer() -> tuple[tt.nn.Module, tt.optim.Optimizer]:
    model = tt.nn.Sequential(tt.nn.Linear(4, 5), tt.nn.GELU("tanh"), tt.nn.Linear(5, 2))
    return model, tt.optim.Adam(model.parameters())


def test_calls_by_op_and_by_module() -> None:
    model, optimizer = model_and_optimizer()
    with profile() as times:
        for _ in range(3):
            step(model, optimizer)
    by_op, by_module = times.by_op(), times.by_module()
    assert by_op["linear"]["forward"].calls == by_op["linear"]["backward"].calls == 6
    assert by_op["Adam.step"]["step"].calls == 3
    assert by_module["Sequential.0"]["forward"].calls == 3
    assert by_module["Sequential.0"]["backward"].calls == 3
    inside = [by_module[f"Sequential.{i}"]["backward"].seconds for i in range(3)]
    assert by_module["Sequential"]["backward"].seconds == pytest.approx(sum(inside))
    assert 0 < times.in_ops < times.total


def test_an_op_inside_a_rule_counts_once_and_where_the_rule_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a clock that moves on by 1 at each look, all times are known."""
    ticks = iter(range(1000))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    model, optimizer = model_and_optimizer()
    with profile() as times:
        step(model, optimizer)
    # gelu's forward calls sigmoid: 4 looks at the clock, of which two inside are sigmoid's.
    forward = times.entries["Sequential.1", "gelu_tanh", "forward"]
    inner = times.entries["Sequential.1", "sigmoid", "forward"]
    assert (forward.seconds, inner.seconds) == (2, 1)
    assert not any(name == "sigmoid" and scope == "" for scope, name, _ in times.entries)


def test_everything_is_put_back_also_after_an_error() -> None:
    before = {op: dict(op.__dict__) for op in (Op, Linear, GeluTanh, tt.optim.Adam)}
    with pytest.raises(ZeroDivisionError), profile():
        assert Linear.forward is not before[Linear]["forward"]
        raise ZeroDivisionError
    for op, members in before.items():
        assert dict(op.__dict__) == members


def test_the_table_shows_shares() -> None:
    model, optimizer = model_and_optimizer()
    with profile() as times:
        step(model, optimizer)
    lines = times.table(rows=2).splitlines()
    assert re.fullmatch(r"op +calls +forward +backward +share", lines[0])
    assert re.search(r"\d ms +[\d.]+ ms +[\d.]+ %$", lines[1])
    assert re.fullmatch(r"and \d+ more", lines[3])
    assert re.match(r"total [\d.,]+ ms, of which outside of ops [\d.,]+ ms", lines[-1])


def boxes(text: str) -> dict[str, tuple[float, float]]:
    """{title: (left edge, width)} of the boxes in a flame graph."""
    found = {}
    for group in ElementTree.fromstring(text).iter(f"{SVG}g"):
        title, box = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None and title.text and box is not None
        found[title.text] = (float(box.attrib["x"]), float(box.attrib["width"]))
    return found


def test_flame_graph_is_to_scale() -> None:
    stacks = {
        ("forward", "GPT", "linear"): 1.0,
        ("forward", "GPT", "<gelu>"): 0.5,
        ("backward", "GPT", "linear"): 2.0,
    }
    found = boxes(flame_graph(stacks, total=4.0))
    unit = found["all: 4,000.00 ms, 100.0 %"][1] / 4
    assert found["forward: 1,500.00 ms, 37.5 %"][1] == pytest.approx(1.5 * unit, abs=0.1)
    assert found["<gelu>: 500.00 ms, 12.5 %"][1] == pytest.approx(0.5 * unit, abs=0.1)
    left, width = found["GPT: 1,500.00 ms, 37.5 %"]
    inner, _ = found["<gelu>: 500.00 ms, 12.5 %"]
    assert left <= inner <= left + width


def test_flame_graph_of_nothing() -> None:
    assert "<svg" in flame_graph({}, 0.0)


SCRIPT = """
import sys
import tinytensor as tt
x = tt.ones(int(sys.argv[1]), requires_grad=True)
x.tanh().sum().backward()
sys.exit(0)
"""


def test_command_line(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "tinytensor.profile", "--svg", "out.svg", "script.py", "3"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^tanh +1 ", done.stdout, re.MULTILINE)
    assert any(title.startswith("tanh: ") for title in boxes((tmp_path / "out.svg").read_text()))


def test_a_missing_script_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["quux.py"])
    assert "quux.py: there is no such file" in capsys.readouterr().err
