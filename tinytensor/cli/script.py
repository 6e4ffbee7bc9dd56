"""Run a user's script up to the requested `loss.backward()`.

The picture is made at that moment: the graph is complete, and the optimiser has not changed the
weights yet. The rest of the script is not run, so even a long training run takes only one step. A
script without such a call runs to its end, and its variable is drawn then.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

from ..autograd.site import is_internal
from ..graph.data.user_variables import frames_from, names_of
from ..tensor import Tensor
from ..text import clean
from . import Problem

NAME = "loss"


class _Found(BaseException):
    """Ends the script from inside backward(). A BaseException, so `except Exception` misses it."""


class ScriptFailed(Problem):
    """The script raised; its traceback has been printed."""


def add_arguments(parser: argparse.ArgumentParser, output: str) -> None:
    """Add the arguments of all commands that run a script."""
    parser.add_argument(
        "script",
        metavar="SCRIPT[:NAME]",
        help=f"a Python script, and the name of its loss (default: {NAME})",
    )
    parser.add_argument("-o", "--output", default=output, metavar="FILE", help=f"default: {output}")
    parser.add_argument(
        "--step",
        type=positive,
        default=1,
        metavar="N",
        help="stop at the N-th backward() of the loss (default: 1)",
    )
    add_open(parser)


def add_open(parser: argparse.ArgumentParser) -> None:
    """Add --open, for all commands that write a page."""
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def positive(text: str) -> int:
    """An argparse type: a positive integer."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"got {text}, expected a positive integer")
    return int(text)


def check_output(path: str, suffixes: tuple[str, ...]) -> None:
    """Raise before the work is done if the output file cannot be written."""
    if Path(path).suffix.lower() not in suffixes:
        raise Problem(f"got the output {path}, expected a name that ends in {', '.join(suffixes)}")
    folder = Path(path).resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise Problem(f"cannot write {path}: {folder} is not a writable folder")


def tell(options: argparse.Namespace, what: str) -> None:
    """Print what was written, and open it with --open."""
    print(clean(f"{options.output}: {what}"))
    if options.open:
        import webbrowser

        webbrowser.open(Path(options.output).resolve().as_uri())


def split_target(target: str) -> tuple[Path, str]:
    """train.py:total → train.py and total; the name is `loss` if there is none."""
    path, colon, name = target.rpartition(":")
    if colon and name.isidentifier():
        return Path(path), name
    return Path(target), NAME


class Script:
    """A script that runs until the picture can be made.

    watched: what `watching()` returned for the requested step, such as a Recording; None before
    """

    def __init__(self, options: argparse.Namespace):
        self.path, self.name = split_target(options.script)
        self.step: int = options.step
        self.arguments: list[str] = options.arguments
        self.watched: Any = None
        self._calls = 0  # backward() calls on the tensor of that name
        self._others: list[str] = []  # names of other tensors that backward() was called on
        self._problem: Exception | None = None  # raised while drawing
        if not self.path.is_file():
            raise Problem(f"{self.path} does not exist; expected a Python script, or SCRIPT:NAME")

    def run(
        self, watching: Callable[[], AbstractContextManager[Any]], draw: Callable[[Any], None]
    ) -> None:
        """Run the script, with `watching()` around the step, and draw its tensor.

        If the script has no such backward(), draw gets the variable of that name at its end, or
        None.
        """
        self._watching, self._draw = watching, draw
        variables: dict[str, Any] = {}
        try:
            with ExitStack() as self._stack, self._backward_replaced(), self._as_main():
                self._watch_if_next()
                variables = runpy.run_path(str(self.path), run_name="__main__")
        except _Found:
            if self._problem is not None:
                raise self._problem from None
            return
        except SystemExit as end:
            if end.code not in (None, 0):
                raise Problem(f"{self.path} ended with exit code {end.code}") from None
        except Exception as error:
            self._print_traceback(error)
            raise ScriptFailed(f"{self.path} raised {type(error).__name__}, see above") from error
        self._at_the_end(variables)

    def _watch_if_next(self) -> None:
        """Start watching once all steps before the requested one are done."""
        if self._calls == self.step - 1 and self.watched is None:
            self.watched = self._stack.enter_context(self._watching())

    def _at_the_end(self, variables: dict[str, Any]) -> None:
        value = variables.get(self.name)
        if self._calls:
            raise Problem(
                f"{self.name}.backward() ran {self._calls} times in {self.path}, expected at least "
                f"{self.step} (--step)"
            )
        if value is None and self._others:
            found = ", ".join(dict.fromkeys(self._others))
            raise Problem(
                f"{self.path} has no variable {self.name}, but backward() was called on {found}; "
                f"try {self.path}:{self._others[0]}"
            )
        self._draw(value)

    # --------------------------------------------------------------------------------------
    # backward(), watched
    # --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _backward_replaced(self) -> Iterator[None]:
        original = Tensor.backward
        script = self

        def backward(self: Tensor, *args: Any, **kwargs: Any) -> None:
            script._at_backward(self, sys._getframe(1))
            original(self, *args, **kwargs)
            script._watch_if_next()

        Tensor.backward = backward  # type: ignore[method-assign]
        try:
            yield
        finally:
            Tensor.backward = original  # type: ignore[method-assign]

    def _at_backward(self, tensor: Tensor, frame: FrameType | None) -> None:
        names = list(names_of(tensor, frames_from(frame)))
        if frame is not None and is_internal(frame.f_code.co_filename):
            names.append(NAME)  # the Trainer's, which is no variable of the script
        if self.name not in names:
            self._others += names
            return
        self._calls += 1
        if self._calls < self.step:
            return
        try:
            self._draw(tensor)
        except Exception as problem:  # the script's own `except` must not catch it
            self._problem = problem
        raise _Found

    # --------------------------------------------------------------------------------------
    # Run like `python script.py …`
    # --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _as_main(self) -> Iterator[None]:
        arguments, path = sys.argv, sys.path[:]
        sys.argv = [str(self.path), *self.arguments]
        sys.path.insert(0, str(self.path.resolve().parent))
        try:
            yield
        finally:
            sys.argv, sys.path[:] = arguments, path

    def _print_traceback(self, error: BaseException) -> None:
        """Print the traceback from the script's first frame on, without our own frames."""
        own = error.__traceback__
        while own is not None and own.tb_frame.f_code.co_filename != str(self.path):
            own = own.tb_next
        traceback.print_exception(type(error), error, own or error.__traceback__)
