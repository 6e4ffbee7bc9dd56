"""The command line: what it draws, where it stops a script, what it says, and exit codes."""

from __future__ import annotations

import configparser
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nn
import tinytensor as tt
from tinytensor.autograd.mode import state
from tinytensor.cli import COMMANDS, main
from tinytensor.graph.drawing.graphviz import is_there

ROOT = Path(__file__).parent.parent

TRAIN = """
import sys
from pathlib import Path
import tinytensor as tt

w = tt.tensor([1.0, 2.0], requires_grad=True)
for step in range(3):
    loss = (w * w).sum()
    try:
        loss.backward()
    except Exception:
        print("caught")
    w.data -= 0.25 * w.grad
    w.grad = None
    print("step", step, *sys.argv[1:])
"""
TRAINER = """
import nn, tinytensor as tt
from tinytensor import optim
from tinytensor.train import Trainer

tt.manual_seed(0)
model = nn.GPT(nn.GPTConfig(vocab_size=5, block_size=4, n_layer=1, n_head=2, n_embd=4))

class Training(Trainer):
    def training_step(self, batch):
        return self.model(*batch)[1]

x = tt.tensor([[1, 2, 3]])
Training(model, optim.SGD(model.parameters()), None, [(x, x)] * 5, progress=False).fit(epochs=1)
"""
NO_BACKWARD = "import tinytensor as tt\nx = tt.ones(2, requires_grad=True)\nloss = x.exp().sum()\n"
FORWARD_ONLY = """
import nn, tinytensor as tt
tt.manual_seed(0)
mix = nn.MultiheadAttention(4, 2)
x = tt.randn(3, 4)
mix(x, x, x)
"""
FAILING = "import tinytensor as tt\na = tt.ones(2, 3, requires_grad=True)\nb = a.exp()\nb @ b\n"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write a script of that text into an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> str:
        (tmp_path / "script.py").write_text(text)
        return "script.py"

    return write


def test_graph_is_taken_at_the_first_backward(script: Any, capsys: Any) -> None:
    assert main(["graph", script(TRAIN), "-o", "graph.dot"]) == 0
    out, err = capsys.readouterr()
    assert out == "graph.dot: the graph of loss = 5\n" and err == ""
    assert "digraph" in Path("graph.dot").read_text()
    assert tt.Tensor.backward.__name__ == "backward" and state.mode.recording is None
    assert "script" not in tt.Tensor.backward.__qualname__.lower()


def test_a_later_step_and_arguments_for_the_script(script: Any, capsys: Any) -> None:
    arguments = ["graph", script(TRAIN), "-o", "graph.dot", "--step", "2", "--", "--fast", "1"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "step 0 --fast 1\ngraph.dot: the graph of loss = 1.25\n"


@pytest.mark.skipif(not is_there(), reason="no Graphviz: pip install pygraphviz")
def test_the_page_is_the_default(script: Any, capsys: Any) -> None:
    assert main(["graph", script(TRAIN)]) == 0
    assert capsys.readouterr().out == "graph.html: the graph of loss = 5\n"
    assert Path("graph.html").read_text().startswith("<!doctype html>")


def test_values_are_recorded(script: Any) -> None:
    """Of the wanted step: w is halved in each one."""
    main(["graph", script(TRAIN), "-o", "graph.dot", "--step", "2"])
    assert re.search(r"\b0\.5\b", Path("graph.dot").read_text())


def test_a_loss_inside_a_function_of_the_trainer(script: Any, capsys: Any) -> None:
    assert main(["graph", script(TRAINER), "-o", "graph.dot"]) == 0
    assert "the graph of loss = " in capsys.readouterr().out


@pytest.mark.parametrize("name", ["", ":twice", ":make"])
def test_a_script_without_backward_runs_to_its_end(script: Any, name: str, capsys: Any) -> None:
    target = script(NO_BACKWARD + "twice = 2 * loss\ndef make():\n    return x.sum()\n")
    assert main(["graph", target + name, "-o", "graph.dot"]) == 0
    expected = {"": "loss = 5.437", ":twice": "twice = 10.87", ":make": "make"}[name]
    assert capsys.readouterr().out == f"graph.dot: the graph of {expected}\n"


def test_a_failing_script_gives_the_graph_up_to_there(script: Any, capsys: Any) -> None:
    assert main(["graph", script(FAILING), "-o", "graph.dot"]) == 1
    out, err = capsys.readouterr()
    assert out == "graph.dot: the graph up to the op that failed\n"
    lines = err.splitlines()
    assert lines[1].startswith('  File "script.py", line 4') and "runpy" not in err
    assert lines[-1] == "tinytensor graph: script.py raised ShapeError, see above"
    assert "matmul" in Path("graph.dot").read_text()


def attention_data() -> dict[str, Any]:
    html = Path("attention.html").read_text()
    found = re.search(r'id="data-attention">(.*?)</script>', html, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_attention_of_a_training_step(script: Any, capsys: Any) -> None:
    assert main(["attention", script(TRAINER), "--tokens", "a b c"]) == 0
    assert capsys.readouterr().out == "attention.html: 2 heads of 1 layers\n"
    data = attention_data()
    assert data["tokens"] == [["a", "b", "c"]] and data["maps"][0]["grad"] is not None


def test_attention_without_a_loss(script: Any, capsys: Any) -> None:
    assert main(["attention", script(FORWARD_ONLY)]) == 0
    assert "no gradients, as there is no loss" in capsys.readouterr().out
    assert attention_data()["maps"][0]["grad"] is None
    with nn.capture_attention() as maps:  # nobody captures any more
        pass
    assert maps == {}


def test_report(script: Any, capsys: Any) -> None:
    Path("log.jsonl").write_text('{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 1.0}\n')
    assert main(["report", "log.jsonl", "-o", "run.html", "--title", "Run <1>"]) == 0
    assert capsys.readouterr().out.startswith("run.html: the report of log.jsonl")
    assert "<title>Run &lt;1&gt;</title>" in Path("run.html").read_text()


PROBLEMS: dict[str, tuple[str, list[str], str]] = {
    "no script": ("", ["graph", "none.py"], "none.py does not exist; expected a Python script"),
    "suffix": (TRAIN, ["graph", "script.py", "-o", "x.txt"], "got the output x.txt, expected a na"),
    "folder": (TRAIN, ["graph", "script.py", "-o", "no/x.dot"], "cannot write no/x.dot"),
    "too few steps": (
        TRAIN, ["graph", "script.py", "--step", "9", "-o", "g.dot"],
        r"loss.backward\(\) ran 3 times in script.py, expected at least 9",
    ),
    "another name": (
        TRAIN, ["graph", "script.py:total", "-o", "g.dot"],
        r"has no variable total, but backward\(\) was called on loss; try script.py:loss",
    ),
    "no tensor": (
        "loss = 3", ["graph", "script.py", "-o", "g.dot"], "has a int as loss, expected a tensor",
    ),
    "nothing": ("", ["graph", "script.py", "-o", "g.dot"], "has no variable loss, expected a"),
    "exit": ("raise SystemExit(3)", ["graph", "script.py"], "script.py ended with exit code 3"),
    "no scalar": (
        NO_BACKWARD, ["graph", "script.py:x", "-o", "g.dot"], "only for scalar outputs",
    ),
    "no attention": (TRAIN, ["attention", "script.py"], "no attention module ran in script.py"),
    "tokens": (
        TRAINER, ["attention", "script.py", "--tokens", "a"], "got 1 tokens, expected 3",
    ),
    "target": (
        TRAINER, ["attention", "script.py", "--target", "a"], "--target without --tokens",
    ),
    "no log": ("", ["report", "none.jsonl"], r"cannot read none.jsonl \(No such file"),
    "empty log": ("", ["report", "script.py"], "script.py has nothing, expected one on each line"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_problems_are_one_line_and_exit_code_1(name: str, script: Any, capsys: Any) -> None:
    text, arguments, message = PROBLEMS[name]
    script(text)
    before = set(Path().iterdir())
    assert main(arguments) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and err.startswith(f"tinytensor {arguments[0]}: ")
    assert re.search(message, err)
    assert set(Path().iterdir()) == before  # nothing was written


@pytest.mark.parametrize(
    "arguments",
    [["bogus"], ["graph"], ["graph", "x.py", "--step", "0"], ["report", "x", "--nothing"]],
    ids=["command", "script", "step", "option"],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2 and "usage: tinytensor" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_examples(command: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    out = capsys.readouterr().out
    assert end.value.code == 0 and out.count(f"  tinytensor {command} ") >= 2
    assert max(map(len, out.splitlines())) <= 100


def test_every_file_of_a_command_is_listed() -> None:
    files = {path.stem for path in (ROOT / "tinytensor" / "cli").glob("*.py")}
    assert files - {"__init__", "script"} == set(COMMANDS)
    for name in COMMANDS:
        module = importlib.import_module(f"tinytensor.cli.{name}")
        assert module.HELP and module.EXAMPLES and module.__doc__


def test_without_a_command_it_shows_the_help(capsys: Any) -> None:
    assert main([]) == 0
    assert "examples:" in capsys.readouterr().out


def test_the_module_and_the_console_script(tmp_path: Path) -> None:
    """`python -m tinytensor` works, and the script of setup.cfg names the same function."""
    command = [sys.executable, "-W", "error", "-m", "tinytensor", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, f"tinytensor {tt.version.tinytensor}\n"), (
        done.stderr
    )
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    name, _, target = settings["options.entry_points"]["console_scripts"].strip().partition(" = ")
    module, _, function = target.partition(":")
    assert name == "tinytensor" and getattr(importlib.import_module(module), function) is main


def test_gradients_on_the_page_are_those_of_the_step(script: Any) -> None:
    """dL/dA of the second step of a training that changes its weights in between."""
    import base64

    text = TRAINER.replace("optim.SGD(model.parameters())", "optim.SGD(model.parameters(), lr=0.5)")
    main(["attention", script(text), "--step", "2"])
    sent = attention_data()["maps"][0]
    tt.manual_seed(0)
    model = nn.GPT(nn.GPTConfig(vocab_size=5, block_size=4, n_layer=1, n_head=2, n_embd=4))
    x = tt.tensor([[1, 2, 3]])
    optimizer = tt.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        with nn.capture_attention() as maps:
            _, loss = model(x, x)
        loss.backward()
        optimizer.step()
    (A,) = maps["GPT.blocks.0.attn"]
    got = np.frombuffer(base64.b64decode(sent["grad"]), "<f4").reshape(2, 3, 3)
    assert A.grad is not None
    np.testing.assert_allclose(got, A.grad[0].numpy(), rtol=1e-5, atol=1e-9)
