"""Shared by the examples: settings as flags, a folder for pictures, and the result line.

    @dataclass
    class Settings(Example):
        measure = "accuracy"              # what main returns
        quick_run = {"steps": 30, "target": 0.5}

        width: int = 64
        steps: int = 600
        target: float = 0.97

    def main(settings: Settings) -> float: ...

    if __name__ == "__main__":
        run(main, Settings)

`python mlp.py --width 32` then trains, and ends with `result: accuracy=0.981 target=0.97 ok` and
exit code 0, or with `missed` and exit code 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import tinytensor as tt


@dataclass
class Example:
    """The settings that all examples have."""

    measure: ClassVar[str] = "accuracy"  # the name of the value that main returns
    lower_is_better: ClassVar[bool] = False
    quick_run: ClassVar[dict[str, Any]] = {}  # what --quick changes: fewer steps, a lower target
    choices: ClassVar[dict[str, Sequence[str]]] = {}  # for flags with a few allowed values

    steps: int = 100
    target: float = 0.0
    seed: int = 0
    out: str = ""  # where pictures and logs go; by default out/<name of the script>
    quick: bool = False  # a run of seconds, to check that it works

    @property
    def folder(self) -> Path:
        """The folder for pictures and logs, made on first use."""
        path = Path(self.out)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def reached(self, value: float) -> bool:
        """Whether the value reaches the target; NaN never does."""
        return value <= self.target if self.lower_is_better else value >= self.target


Settings = TypeVar("Settings", bound=Example)


def settings_from(
    cls: type[Settings], description: str = "", argv: Sequence[str] | None = None
) -> Settings:
    """Settings from flags: one for each field, with the field's default.

    --quick changes the defaults to those of `quick_run`; given flags override them.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    types = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        flag = "--" + field.name.replace("_", "-")
        if types[field.name] is bool:
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=field.default)
        else:
            kind, choices = types[field.name], cls.choices.get(field.name)
            parser.add_argument(flag, type=kind, default=field.default, choices=choices, help=" ")
    if "--quick" in (sys.argv[1:] if argv is None else argv):
        parser.set_defaults(**cls.quick_run)
    settings = cls(**vars(parser.parse_args(argv)))
    if settings.steps < 0:
        parser.error(f"argument --steps: got {settings.steps}, expected 0 or more")
    if not settings.out:
        settings.out = str(Path("out") / Path(sys.argv[0]).stem)
    return settings


def run(main: Callable[[Any], float], cls: type[Example]) -> None:
    """Run an example with settings from the command line, print its result, and exit."""
    settings = settings_from(cls, (sys.modules["__main__"].__doc__ or "").split("\n\n")[0])
    tt.manual_seed(settings.seed)
    value = float(main(settings))
    verdict = "ok" if settings.reached(value) else "missed"
    written = sorted(Path(settings.out).glob("*")) if Path(settings.out).is_dir() else []
    if written:
        print(f"pictures and logs: {settings.out}/  ({', '.join(path.name for path in written)})")
    shown = f"{value:.4g}" if math.isfinite(value) else str(value)
    print(f"result: {cls.measure}={shown} target={settings.target:g} {verdict}")
    sys.exit(0 if verdict == "ok" else 1)
