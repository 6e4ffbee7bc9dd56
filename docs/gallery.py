"""Writes examples/README.md, the gallery, with the pictures and results of the examples.

    python docs/gallery.py               # writes the page from saved results
    python docs/gallery.py mlp gan       # runs these in full first, and saves their results
    python docs/gallery.py all           # runs all examples first
    python docs/gallery.py "gpt_char --preset cpu"

The description of an example is the first paragraph of its docstring. Its result and time are those
of its last run here, saved with the pictures in docs/pictures/examples/.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES, PICTURES = ROOT / "examples", ROOT / "docs" / "pictures" / "examples"
RESULTS = PICTURES / "results.json"
ONE_THREAD = {**os.environ, **{f"{p}_NUM_THREADS": "1" for p in ("OMP", "OPENBLAS", "NUMBA")}}

SHOWN = {  # the example, and which of its pictures is in the gallery
    "mlp": "spirals.svg",
    "backprop_by_hand": "weight_gradients.svg",
    "dropout_and_batchnorm": "accuracy.svg",
    "plain_vs_residual": "loss.svg",
    "resnet": "confusion.svg",
    "recurrent": "accuracy.svg",
    "brnn_attention": "alignment.svg",
    "positional_encodings": "loss.svg",
    "self_attention": "largest_weight.svg",
    "transformer_translate": "cross_attention.svg",
    "gpt_char": "curve.svg",
    "bert_mlm": "loss.svg",
    "sampling": "ways.svg",
    "mixture_of_experts": "regions.svg",
    "switch_transformer": "experts.svg",
    "mamba": "loss.svg",
    "autoencoder": "drawn_again.svg",
    "gan": "points_02000.svg",
    "vector_database": "recall.svg",
    "clip": "pictures.svg",
    "gcn": "karate_club.svg",
    "diffusion_transformer": "samples.gif",
    "rlhf": "reward.svg",
    "tokenizers": "sizes.svg",
    "vit": "attention.svg",
}

ALSO = ("gpt_char --preset cpu",)  # second runs, with flags

INTRODUCTION = """\
# Examples

One script for each system, short enough to read from top to bottom. Each is seeded, downloads
nothing, writes its pictures into `out/NAME/`, and ends with a line that states its result:

    python examples/clip.py                # result: retrieval=0.9625 target=0.85 ok
    python examples/clip.py --help         # every setting is a flag
    python examples/clip.py --quick        # a run of seconds, with a lower target

`byhand/` has worksheets: the same systems with numbers small enough to compute on paper.
`python docs/gallery.py` writes the table from full runs with seed 0 on one thread; the times are
CPU times, on a machine that was busy with other work.

| | |
|---|---|
"""


def run_example(command: str) -> None:
    """Run an example in full; save its result and, if it has no flags, its picture."""
    name, *flags = command.split()
    with tempfile.TemporaryDirectory() as folder:
        script = [sys.executable, str(EXAMPLES / f"{name}.py"), *flags, "--out", folder]
        before = processor_time()
        done = subprocess.run(script, stdout=subprocess.PIPE, encoding="utf-8", env=ONE_THREAD)
        seconds = processor_time() - before
        found = re.search(r"^result: (\w+)=(\S+) target=(\S+) ok$", done.stdout, re.MULTILINE)
        if found is None:
            sys.exit(f"gallery: {command} ended with {done.stdout[-200:]!r}, expected a result, ok")
        if not flags:
            keep_picture(name, Path(folder))
        measure, value, target = found.groups()
        keep_result(command, measure, float(value), float(target), seconds)


def keep_picture(name: str, folder: Path) -> None:
    """Copy the picture of an example to docs/pictures/examples/."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    picture = folder / SHOWN[name]
    if not picture.is_file():
        sys.exit(f"gallery: {name} wrote no {picture.name}, expected by SHOWN in docs/gallery.py")
    shutil.copyfile(picture, PICTURES / (name + picture.suffix))


def keep_result(command: str, measure: str, value: float, target: float, seconds: float) -> None:
    """Save the result of a run beside the pictures."""
    results = kept_results()
    results[command] = {
        "measure": measure, "value": value, "target": target, "seconds": round(seconds),
    }  # fmt: skip
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", "utf-8")


def kept_results() -> dict[str, dict]:
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}


def processor_time() -> float:
    """CPU seconds that child processes have used so far."""
    times = os.times()
    return times.children_user + times.children_system


def row(name: str, results: dict[str, dict]) -> str:
    """A row of the table: picture; name, description, command and result."""
    docstring = ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text("utf-8"))) or ""
    first = docstring.split("\n\n")[0].replace("\n", " ")
    picture = name + Path(SHOWN[name]).suffix
    image = f"![{name}](../docs/pictures/examples/{picture})"
    image = image if (PICTURES / picture).exists() else ""
    text = f"**[{name}]({name}.py)**<br>{first}"
    for command in (name, *(also for also in ALSO if also.split()[0] == name)):
        text += f"<br>`{command_line(command)}`"
        if command in results:
            r = results[command]
            text += f"<br>{r['measure']} {r['value']:g}, target {r['target']:g}; {r['seconds']} s"
    return f"| {image} | {text} |"


def command_line(command: str) -> str:
    name, *flags = command.split()
    return " ".join([f"python examples/{name}.py", *flags])


def page() -> str:
    """The whole page, for the examples that exist."""
    results = kept_results()
    return INTRODUCTION + "".join(row(name, results) + "\n" for name in examples())


def examples() -> list[str]:
    return [name for name in SHOWN if (EXAMPLES / f"{name}.py").exists()]


def main() -> None:
    chosen, known = sys.argv[1:], [*examples(), *ALSO]
    if chosen == ["all"]:
        chosen = known
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        sys.exit(f"gallery: got {', '.join(unknown)}, expected all, or some of {', '.join(known)}")
    for command in chosen:
        print(f"running {command}", flush=True)
        run_example(command)
    (EXAMPLES / "README.md").write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
