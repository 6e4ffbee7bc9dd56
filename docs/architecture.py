"""Draws docs/pictures/architecture.svg: the packages in their layers, and what each imports.

    python docs/architecture.py            # draw it
    python docs/architecture.py --check    # fail if the imports have changed since (`make lint`)

The order of the packages is that of .importlinter, which `lint-imports` enforces; the imports in
each box are read from the source.
"""

from __future__ import annotations

import ast
import configparser
import sys
import textwrap
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

from tinytensor import svg

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"

# {band of the picture: its lowest package}; those above it, up to the previous band, belong to it.
BANDS = {
    "networks": "nn",
    "tools": "tinytensor.profile",
    "around\ntensors": "tinytensor.unpickle",
    "tensors": "tinytensor.operators",
    "operations": "tinytensor.create",
    "engine": "tinytensor.autograd",
    "kernels": "tinytensor.kernels",
    "ground": "tinytensor.svg",
}
COLOURS = ("#ede9fe", "#fce7f3", "#e0f2fe", "#dcfce7", "#ecfccb", "#fef3c7", "#ffedd5", "#f1f5f9")

WIDTH, LABEL, BOX, GAP = 800, 104, 162, 8  # pixels; BOX is the width of a package's box
LINE, CHARACTERS = 14, 25  # line height of small print, and characters per line


def layers() -> list[list[str]]:
    """The packages of each layer, highest first, as .importlinter lists them."""
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    rows = config["importlinter:contract:layers"]["layers"].strip().splitlines()
    return [[name.strip() for name in row.replace("|", ":").split(":")] for row in rows]


def imports(packages: list[str]) -> dict[str, set[str]]:
    """{package: the packages that it imports}; the import of a file counts for its package."""
    graph = grimp.build_graph("tinytensor", "nn", exclude_type_checking_imports=True)
    found: dict[str, set[str]] = {package: set() for package in packages}
    for module in graph.modules:
        package = _package_of(module, packages)
        for imported in graph.find_modules_directly_imported_by(module):
            other = _package_of(imported, packages)
            if package and other and package != other:
                found[package].add(other)
    return found


def _package_of(module: str, packages: list[str]) -> str | None:
    fitting = [p for p in packages if module == p or module.startswith(f"{p}.")]
    return max(fitting, key=len, default=None)


def without_detours(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """The transitive reduction: an edge a → c is dropped if there are a → b and a path b → c."""
    reached: dict[str, set[str]] = {}
    for name in TopologicalSorter(edges).static_order():  # an import cycle raises here
        reached[name] = set().union(*({to} | reached[to] for to in edges[name]))
    return {
        name: {to for to in ends if not any(to in reached[other] for other in ends - {to})}
        for name, ends in edges.items()
    }


def what_it_is(package: str) -> str:
    """The first sentence of the package's docstring."""
    path = ROOT / package.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    summary = (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").split("\n\n")[0]
    sentence = " ".join(summary.split()).split(": `")[0]
    return sentence.rstrip(".:").replace("`", "")


def short(package: str) -> str:
    return package.removeprefix("tinytensor.")


def bands(packages: list[str]) -> Iterator[tuple[str, list[str]]]:
    """(band, its packages), from the top."""
    rest = iter(packages)
    for band, lowest in BANDS.items():
        members = []
        for package in rest:
            members.append(package)
            if package == lowest:
                break
        yield band, members


def box(package: str, ends: set[str], order: list[str]) -> tuple[str, list[str], list[str]]:
    """A package's name, what it is, and what it imports, in lines."""
    below = ", ".join(short(other) for other in order if other in ends)
    about = textwrap.wrap(what_it_is(package), CHARACTERS, break_long_words=False)
    below = textwrap.wrap(f"↓ {below}" if below else "", CHARACTERS, break_long_words=False)
    return short(package), about, below


def draw(packages: list[str], edges: dict[str, set[str]]) -> str:
    """The picture as SVG."""
    parts: list[str] = []
    y = GAP
    for (band, members), colour in zip(bands(packages), COLOURS):
        boxes = [box(package, edges[package], packages) for package in members]
        per_row = (WIDTH - LABEL - GAP) // (BOX + GAP)
        rows = [boxes[i : i + per_row] for i in range(0, len(boxes), per_row)]
        heights = [max(len(about) + len(below) for _, about, below in row) for row in rows]
        heights = [28 + LINE * lines for lines in heights]
        height = sum(heights) + GAP * (len(rows) + 1)
        parts.append(svg.element("rect", x=GAP, y=y, width=WIDTH - 2 * GAP, height=height,
                                 rx=8, fill=colour))  # fmt: skip
        for i, line in enumerate(band.split("\n")):
            parts.append(svg.text(line, x=2 * GAP, y=y + 26 + 16 * i, fill=svg.INK,
                                  font_size=13, font_weight="bold"))  # fmt: skip
        top = y + GAP
        for row, tall in zip(rows, heights):
            for column, content in enumerate(row):
                parts += _draw_box(content, LABEL + column * (BOX + GAP), top, tall)
            top += tall + GAP
        y += height + GAP
    parts.insert(0, svg.background(WIDTH, y))
    return svg.document(
        parts, viewBox=f"0 0 {WIDTH} {y}", width=WIDTH, height=y, font_family=svg.FONTS
    )


def _draw_box(content: tuple[str, list[str], list[str]], x: int, y: int, height: int) -> list[str]:
    name, about, below = content
    parts = [svg.element("rect", x=x, y=y, width=BOX, height=height, rx=5, fill="#ffffff",
                         stroke=svg.FRAME)]  # fmt: skip
    parts.append(svg.text(name, x=x + 9, y=y + 18, font_size=13, font_weight="bold", fill=svg.INK))
    lines = [(line, svg.INK) for line in about] + [(line, "#2563eb") for line in below]
    for i, (line, ink) in enumerate(lines):
        parts.append(svg.text(line, x=x + 9, y=y + 34 + LINE * i, font_size=10.5, fill=ink))
    return parts


def main() -> int:
    """Draw the picture, or check that it is up to date; returns the exit status."""
    packages = [package for row in layers() for package in row]
    picture = draw(packages, without_detours(imports(packages)))
    name = PICTURE.relative_to(ROOT)
    if sys.argv[1:] == ["--check"]:
        if PICTURE.exists() and PICTURE.read_text("utf-8") == picture:
            return 0
        print(f"{name}: out of date; run python docs/architecture.py")
        return 1
    PICTURE.write_text(picture, "utf-8")
    print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
