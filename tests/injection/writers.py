"""Every writer that shows names, as a function: (names, folder) → what it wrote, by kind.

Kinds: svg, html, dot, jsonl, terminal, xlsx. Each output shows all the names at once, so that a few
hundred of them cost little; of a kind that begins with "part" it shows some.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import nn
import tinytensor as tt
from tinytensor import cli, graph
from tinytensor.autograd import Function
from tinytensor.autograd.site import Site
from tinytensor.graph.data.formula import Formula
from tinytensor.graph.pages.html import frame, page
from tinytensor.profile import Entry, Times
from tinytensor.train import Trainer
from tinytensor.train.curve import loss_curve
from tinytensor.train.progress import Progress

from .names import as_module_name

Outputs = list[tuple[str, Any]]
Writer = Callable[[list[str], Path], Outputs]
WRITERS: dict[str, Writer] = {}
NEEDS_GRAPHVIZ = {"render", "explore", "graph fields", "notebook"}
ROOT = Path(__file__).resolve().parents[2]


def writer(name: str) -> Callable[[Writer], Writer]:
    def register(function: Writer) -> Writer:
        WRITERS[name] = function
        return function

    return register


def load(path: str) -> ModuleType:
    """A script's functions: examples and benchmarks are no packages."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


class Row(nn.Module):
    """Modules with the names, one after the other."""

    def __init__(self, names: list[str], make: Callable[[], nn.Module] = nn.Tanh):
        super().__init__()
        for name in map(as_module_name, names):
            self.add_module(name, make())

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        for child in self._modules.values():
            assert child is not None
            x = child(x)
        return x


class Star(nn.Module):
    """Parameters with the names, all used at once."""

    def __init__(self, names: list[str]):
        super().__init__()
        for name in map(as_module_name, names):
            self.register_parameter(name, nn.Parameter(tt.ones(1)))

    def forward(self) -> tt.Tensor:
        return tt.stack(list(self.parameters())).sum()


class Minus(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return -x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return -g


def functions(names: list[str]) -> tt.Tensor:
    """Ops with the names and docstrings, as far as Python lets a class have them."""
    x = tt.ones(2, requires_grad=True)
    for name in names:
        x = type(class_name(name), (Minus,), {"__doc__": class_name(name)}).apply(x)
    return x.sum()


def class_name(name: str) -> str:
    """Python's classes have names without NUL and half characters."""
    return re.sub("[\0\ud800-\udfff]", "�", name)


def losses(names: list[str]) -> list[tuple[tt.Tensor, dict[str, Any]]]:
    """Names of modules, of parameters, of ops; each with the options that its graph needs."""
    star = Star(names)
    return [(Row(names)(tt.ones(2, requires_grad=True)).sum(), {}), (star(), {"model": star}),
            (functions(names), {})]  # fmt: skip


def hostile_graph(names: list[str]) -> Any:
    """A graph with every field of text hostile, as one read from a file may be."""
    found = graph.trace(Row(names)(tt.ones(2, requires_grad=True)).sum())
    ops = [node for node in found.nodes if node.kind == "op"]
    for node, name in zip(ops, names):
        node.name = node.op = node.variable = node.dtype = name
        node.arguments = {name: name}
        node.source = Site(name, 1, name)
        node.formula = Formula(f"y = {name}", {name: name}, [name], name)
        node.argument_names = [name or "x"] * len(node.inputs)
    ops[-1].failed = True
    found.error = "\n".join(name[:100] for name in names)
    return found


# ------------------------------------------------------------------------------------------
# Pictures and pages of graphs
# ------------------------------------------------------------------------------------------


@writer("dot")
def write_dot(names: list[str], folder: Path) -> Outputs:
    outputs: Outputs = []
    for loss, options in losses(names):
        path = graph.render(loss, folder / "graph.dot", collapse="none", show=[], **options)
        outputs.append(("dot", path.read_text("utf-8")))
    return outputs


@writer("render")
def write_pictures(names: list[str], folder: Path) -> Outputs:
    outputs: Outputs = []
    for loss, options in losses(names):
        path = graph.render(loss, folder / "graph.svg", collapse="none", show=[], **options)
        outputs.append(("svg", path.read_bytes().decode()))
    return outputs


@writer("explore")
def write_explorer(names: list[str], folder: Path) -> Outputs:
    title = " ".join(name[:3] for name in names[:40])
    return [("html", graph.explore(loss, None, title=title, **options).html)
            for loss, options in losses(names)]  # fmt: skip


@writer("graph fields")
def write_hostile_graph(names: list[str], folder: Path) -> Outputs:
    hostile = hostile_graph(names)
    hostile.save(folder / "graph.json")
    again = graph.Graph.load(folder / "graph.json")
    assert [node.name for node in again.nodes] == [node.name for node in hostile.nodes]
    path = graph.render(hostile, folder / "fields.svg", collapse="none", show=["formulas"])
    return [
        ("svg", path.read_text("utf-8")),
        ("html", graph.explore(again, None).html),
        ("part-terminal", repr(hostile)),
    ]


@writer("notebook")
def write_notebook(names: list[str], folder: Path) -> Outputs:
    """The frame around a page. What is in its attribute is checked as a page."""
    found = graph.explore(functions(names[:20]), None)
    bundle = found._repr_mimebundle_()
    assert bundle["text/html"] == frame(found.html)
    tensors = [type(class_name(n), (Minus,), {}).apply(tt.ones(2, requires_grad=True))
               for n in names]  # fmt: skip
    shown = "".join(tensor._repr_html_() for tensor in tensors)
    return [("part", found.html), ("html", shown), ("terminal", "\n".join(map(repr, tensors)))]


# ------------------------------------------------------------------------------------------
# Attention
# ------------------------------------------------------------------------------------------


@writer("attention page")
def write_attention(names: list[str], folder: Path) -> Outputs:
    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name in map(as_module_name, names):
                self.add_module(name, nn.MultiheadAttention(2, 1))

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            for child in self._modules.values():
                assert child is not None
                x = child(x, x, x)[0]
            return x

    paths = graph.attention(Heads(), tt.ones(1, 1, 2), None, title=names[0])
    model = nn.MultiheadAttention(2, 1, batch_first=True)
    x = tt.ones(1, len(names), 2)
    tokens = graph.attention(model, (x, x, x), None, tokens=list(names))
    return [("html", paths.html), ("html", tokens.html)]


@writer("attention picture")
def write_attention_picture(names: list[str], folder: Path) -> Outputs:
    weights = tt.ones(len(names), 1)
    svg = graph.attention_svg(weights, (names, ["x"]), folder / "a.svg", title=names[-1])
    assert (folder / "a.svg").read_text("utf-8") == svg
    across = graph.attention_svg(tt.ones(1, len(names)), (["x"], names))
    titles = [graph.attention_svg(tt.ones(1, 1), ["x"], title=name) for name in names]
    text = graph.attention_text(weights, (names, ["x"]))
    joined = ["<svg xmlns='http://www.w3.org/2000/svg'>", *titles, "</svg>"]
    return [("svg", svg), ("svg", across), ("svg", "".join(joined)), ("terminal", text)]


# ------------------------------------------------------------------------------------------
# Training
# ------------------------------------------------------------------------------------------


@writer("training")
def write_training(names: list[str], folder: Path) -> Outputs:
    """The log, the report of it, the progress, of layers and metrics with the names."""
    model = Row(names, lambda: nn.Linear(1, 1))
    metrics = {name: (lambda output, target: tt.tensor(float("nan"))) for name in names}
    data = [(tt.ones(2, 1), tt.ones(2, 1))]
    optimizer = tt.optim.SGD(model.parameters(), lr=0.1)
    trainer = Trainer(model, optimizer, nn.MSELoss(), data, metrics=metrics, folder=folder / "run",
                      progress=False, watch=True)  # fmt: skip
    trainer.fit(epochs=2)
    log = (folder / "run" / "log.jsonl").read_text("utf-8")
    records = [dict(zip(names, [1.0] * len(names)), step=step) for step in (1, 2)]
    return [
        ("jsonl", log),
        ("html", graph.training_report(folder / "run", None).html),
        ("html", graph.training_report(records, None, title=names[0]).html),
    ]


@writer("loss curve")
def write_curve(names: list[str], folder: Path) -> Outputs:
    records = [{"step": step, "loss": 1.0 / step} for step in (1, 2)]
    pictures = [loss_curve(records, name) for name in names]
    return [("svg", "".join(["<all xmlns='http://www.w3.org/2000/svg'>", *pictures, "</all>"]))]


@writer("progress")
def write_progress(names: list[str], folder: Path) -> Outputs:
    said = io.StringIO()
    with contextlib.redirect_stderr(said), Progress(True, 0, 2) as progress:
        progress.update(1, dict.fromkeys(names, 0.5))
        for name in names:
            progress.say(name[:100])
    return [("terminal", said.getvalue())]


@writer("progress bar")
def write_bar(names: list[str], folder: Path) -> Outputs:
    class Bar:
        n = 0
        text = ""

        def set_postfix_str(self, text: str, refresh: bool) -> None:
            self.text = text

        def update(self, steps: int) -> None: ...

        def close(self) -> None: ...

    with Progress(True, 0, 2) as progress:
        progress.bar = Bar()
        progress.update(1, dict.fromkeys(names, 0.5))
    return [("terminal", progress.bar.text)]


# ------------------------------------------------------------------------------------------
# Tables and profiles
# ------------------------------------------------------------------------------------------


@writer("profile")
def write_profile(names: list[str], folder: Path) -> Outputs:
    times = Times()
    times.total = 2.0 * len(names)
    for name in map(as_module_name, names):
        entry = Entry()
        entry.calls, entry.seconds = 1, 1.0
        times.entries[f"Net.{name}", name, "forward"] = entry
    times.save_svg(folder / "profile.svg")
    svg = (folder / "profile.svg").read_text("utf-8")
    return [("svg", svg), ("terminal", times.table(2 * len(names)))]


@writer("summary")
def write_summary(names: list[str], folder: Path) -> Outputs:
    model = Row(names)
    return [("terminal", str(nn.summary(model, tt.ones(1)))), ("terminal", repr(model))]


# ------------------------------------------------------------------------------------------
# Worksheets
# ------------------------------------------------------------------------------------------


@writer("worksheet")
def write_worksheets(names: list[str], folder: Path) -> Outputs:
    """A sheet takes a while: for some of the students only."""
    outputs: Outputs = []
    for name in names[1::40]:
        sheet = graph.worksheet("matmul", None, student=name)
        outputs += [("part", sheet.html), ("part", sheet.key)]
        sheet.write(folder / "sheet.json")
        described = json.loads((folder / "sheet.json").read_text("utf-8"))
        outputs.append(("part", page(described["title"], "")))
    return outputs


@writer("spreadsheet")
def write_spreadsheets(names: list[str], folder: Path) -> Outputs:
    from openpyxl import Workbook

    from tinytensor.worksheet.xlsx import _Page, _Places

    outputs: Outputs = []
    for name in names[::40]:
        graph.worksheet("matmul", folder / "sheet.xlsx", student=name)
        outputs.append(("part-xlsx", folder / "sheet.xlsx"))
    made = graph.worksheet("matmul", None)
    book = Workbook()
    book.active.title = "Answers"
    sheet = _Page(book.active, made.sheet, _Places(made.sheet), "title")
    for row, name in enumerate(names, 1):
        sheet._text(row, 1, name)
    book.save(folder / "names.xlsx")
    return [*outputs, ("xlsx", folder / "names.xlsx")]


# ------------------------------------------------------------------------------------------
# Examples, benchmarks, the command line, any page
# ------------------------------------------------------------------------------------------


@writer("plots")
def write_plots(names: list[str], folder: Path) -> Outputs:
    plots = load("examples/plots.py")
    path = folder / "plot.svg"
    outputs: Outputs = []

    def keep(draw: Callable[..., None], *arguments: Any, **options: Any) -> None:
        draw(path, *arguments, **options)
        outputs.append(("svg", path.read_text("utf-8")))

    keep(plots.lines, {name: ([0, 1], [1, 2]) for name in names}, names[0], names[1], names[2])
    keep(plots.bars, dict.fromkeys(names, 1.0), names[3], names[4])
    keep(plots.heat_map, tt.ones(len(names), 1), names, ["x"], names[5])
    keep(plots.images, [tt.zeros(2, 2)] * len(names), 20, titles=names, title=names[6])
    for start in range(0, len(names), 16):
        part = names[start : start + 16]
        points = [[float(i), 0.0] for i in range(len(part))]
        plots.scatter(path, points, [f"{number} {name}" for number, name in enumerate(part)], "t")
        outputs.append(("part-svg", path.read_text("utf-8")))
    return outputs


@writer("demo cards")
def write_cards(names: list[str], folder: Path) -> Outputs:
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        demo = load("examples/demo_page.py")
    finally:
        sys.path.remove(str(ROOT / "examples"))
    rows = [demo.Translation(name[:200], name[:200], name[:200], name[:200]) for name in names]

    class Done:
        step, seconds = 1, 1.0

    return [("html", demo._translations(rows, 1.0, Done()))]


@writer("benchmark chart")
def write_chart(names: list[str], folder: Path) -> Outputs:
    short = [f"{number} {name[:100]}" for number, name in enumerate(names)]
    bars = {name: dict.fromkeys(short[:3], 1.0) for name in short}
    return [("svg", load("benchmarks/chart.py").bar_chart(bars, short[:3], names[0]))]


@writer("command line")
def write_errors(names: list[str], folder: Path) -> Outputs:
    said, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(told):
        cli.main(["graph", f"{names[0]}.py", "-o", str(folder / "g.html")])
        for name in names:
            print(cli._one_line(RuntimeError(name)), file=sys.stderr)
            cli.script.tell(Options(name[:100]), "written")  # type: ignore[arg-type]
    return [("terminal", said.getvalue()), ("terminal", told.getvalue())]


class Options:
    open = False

    def __init__(self, output: str):
        self.output = output


@writer("any page")
def write_any_page(names: list[str], folder: Path) -> Outputs:
    titles = [page(name, "").partition("<h1>")[2].partition("</h1>")[0] for name in names]
    return [("html", page("title", f"<p>{''.join(titles)}</p>")),
            ("html", page("title", "", {"names": names}))]  # fmt: skip
