"""The kernel cache on disk: where it lies, whom it trusts, how it is checked.

Each compiled kernel is a file of its own, for one set of argument types; there is no index. A file
holds machine code, and a pickle, which runs code when it is read. So it is only read if nobody but
the user (or root) can have written it, and only used if a digest of its contents is right, which
is keyed by all that the code depends on (fingerprint.py). Anything else counts as no file: the
kernel is compiled. No error leaves this module; if kernels cannot be kept, one line says so.

    NUMBA_CACHE_DIR     if set: a folder in it for each user and each folder of sources; otherwise
    __pycache__         next to the kernel's source, and, if that cannot be written or trusted,
    ~/.cache/numba      a folder in it for each folder of sources (elsewhere on macOS and Windows)

A folder is trusted if it and all folders above it belong to the user or root, and if group and
others cannot write to it; above it, they may where the sticky bit is set, as in /tmp. Symbolic
links are resolved first. So root neither reads nor writes in folders of other users. A file must
belong to the user or root as well, be closed to writing by others, and be no link. (On Windows,
which has no modes, nothing of this is checked.)
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import re
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from . import fingerprint

_config: Any = numba.config  # whose names are made when it is imported
_FIRST_LINE = b"tinytensor kernel 1\n"  # the number changes with the format
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_READ = os.O_RDONLY | _BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
_TEMPORARY = re.compile(r"\.kernel\.[0-9a-f]{16}\.tmp$")
_HOUR = 3600.0


class KernelCache(NullCache):
    """Numba's interface of a cache: it asks for a compiled kernel, and hands one over to keep."""

    def __init__(self, kernel: Callable) -> None:
        self._kernel = kernel

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled kernel, or None.

        Numba's own cache would first import all that it may need to compile something, a third of
        a warm start.
        """
        rtsys.initialize(context)  # memory for arrays that a kernel makes
        with suppress(Exception):  # a kernel that cannot be loaded is compiled
            entry = _Entry(self._kernel, signature, context.codegen())
            for folder in entry.folders:
                kept = entry.read(folder)
                if kept is not None:
                    return CompileResult._rebuild(context, *pickle.loads(kept))
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compiled kernel in the first folder that takes it."""
        if result.lifted or result.library.has_dynamic_globals:  # addresses in this process
            return
        reason = ""
        try:
            entry, kept = _Entry(self._kernel, signature, result.codegen), dumps(_reduce(result))
            for folder in entry.folders:
                try:
                    return entry.write(folder, kept)
                except OSError as error:
                    place = "make room, or set NUMBA_CACHE_DIR to another folder"
                    reason = f"{_reason(error, folder)}; {place}"
        except Exception as error:  # such as a constant that cannot be pickled
            reason = f"{self._kernel.__name__}: {error}"
        if reason:
            _say_once(f"a kernel is not kept on disk but compiled in each process: {reason}")


class _Entry:
    """The file of a kernel that is compiled for certain types, here and now."""

    def __init__(self, kernel: Callable, signature: Any, codegen: Any) -> None:
        file = os.path.abspath(kernel.__code__.co_filename)
        name = f"{Path(file).stem}.{kernel.__qualname__}"
        types, machine = fingerprint.types_of(signature), fingerprint.environment(codegen)
        purpose = fingerprint.digest(kernel.__module__, name, types, machine)
        sources = fingerprint.sources(file)
        self.key = fingerprint.digest(purpose, sources, fingerprint.code(kernel))
        self.folders = _folders(os.path.dirname(file), _config.CACHE_DIR)
        # What is left after a change of the sources is found by the first half of the name.
        self._purpose = f"{re.sub('[^A-Za-z0-9_.]', '', name)[:60]}-{purpose.hex()[:16]}-"
        self._version = f"{self._purpose}{sources.hex()[:8]}-"
        self._name = f"{self._version}{self.key.hex()[:16]}.kernel"

    def _digest(self, kept: bytes) -> bytes:
        return hashlib.blake2b(kept, digest_size=32, key=self.key).digest()

    def read(self, folder: Path) -> bytes | None:
        """What was kept; None if there is nothing, or nothing to be trusted."""
        try:
            with os.fdopen(os.open(folder / self._name, _READ), "rb") as file:
                state = os.fstat(file.fileno())
                if not stat.S_ISREG(state.st_mode) or _open_to(state):
                    return None
                contents = file.read()
        except OSError:
            return None
        start = len(_FIRST_LINE)
        digest, kept = contents[start : start + 32], contents[start + 32 :]
        right = contents.startswith(_FIRST_LINE) and digest == self._digest(kept)
        return kept if right else None

    def write(self, folder: Path, kept: bytes) -> None:
        """Write the file under another name, and rename it: nobody sees half of it."""
        place = folder / self._name
        temporary = folder / f"{self._name}.{os.urandom(8).hex()}.tmp"
        try:
            with os.fdopen(os.open(temporary, _CREATE, 0o644), "wb") as file:
                file.write(_FIRST_LINE + self._digest(kept) + kept)
            os.replace(temporary, place)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        self._tidy(folder)

    def _tidy(self, folder: Path) -> None:
        """Delete this kernel as of other sources, and what killed processes left half written."""
        with suppress(OSError), os.scandir(folder) as files:
            for file in files:
                old = file.name.startswith(self._purpose)
                old = old and not file.name.startswith(self._version)
                if old or _TEMPORARY.search(file.name):
                    with suppress(OSError):
                        if old or time.time() - file.stat().st_mtime > _HOUR:
                            os.unlink(file.path)


# ------------------------------------------------------------------------------------------
# Folders
# ------------------------------------------------------------------------------------------


@functools.cache
def _folders(sources: str, chosen: str) -> tuple[Path, ...]:
    """The folders for kernels of this folder of sources, that exist and can be trusted."""
    short = hashlib.sha1(os.fsencode(sources)).hexdigest()[:16]
    name = f"{os.path.basename(sources)}_{short}"
    if chosen:
        user = f"-{os.geteuid()}" if hasattr(os, "geteuid") else ""
        try:
            return (_trusted(Path(chosen) / f"{name}{user}"),)
        except OSError as error:
            reason = _reason(error, chosen)
            _say_once(f"NUMBA_CACHE_DIR={chosen} is not used for kernels: {reason}")
    found, reason = [], ""
    for place in (
        os.path.join(sources, "__pycache__"),
        os.path.join(AppDirs(appname="numba", appauthor=False).user_cache_dir, name),
    ):
        try:
            if not os.path.isabs(place):  # "~", where there is no home
                raise FileNotFoundError("there is no home folder")
            found.append(_trusted(Path(place)))
        except OSError as error:
            reason = _reason(error, place)
    if not found:
        text = "kernels are not kept on disk but compiled in each process"
        _say_once(f"{text}: {reason}; set NUMBA_CACHE_DIR to a folder of your own")
    return tuple(found)


def _trusted(folder: Path) -> Path:
    """The folder, made where it is missing, with links resolved; an OSError says what is wrong."""
    folder = Path(os.path.realpath(folder))
    for place in (*reversed(folder.parents), folder):
        try:
            state = os.lstat(place)
        except FileNotFoundError:
            with suppress(FileExistsError):
                os.mkdir(place, 0o755)
            state = os.lstat(place)
        if not stat.S_ISDIR(state.st_mode):  # or a link that was put there meanwhile
            raise NotADirectoryError(f"{place} is not a folder")
        problem = _open_to(state)
        if problem == "others" and state.st_mode & stat.S_ISVTX and place != folder:
            problem = ""  # nobody can replace what is in it, and belongs to others
        if problem == "others":
            raise PermissionError(f"others can write to {place}; run chmod go-w {place}")
        if problem:
            raise PermissionError(f"{place} belongs to {problem}")
    return folder


def _open_to(state: os.stat_result) -> str:
    """Who else could have written a file or folder; "" if nobody but the user and root."""
    if not hasattr(os, "geteuid"):
        return ""
    # Root has the number of the owner of "/" also where users are mapped, as in some containers.
    if state.st_uid not in (os.geteuid(), 0, os.stat("/").st_uid):
        return f"another user ({state.st_uid})"
    return "others" if state.st_mode & _WRITABLE_BY_OTHERS else ""


# ------------------------------------------------------------------------------------------
# Messages
# ------------------------------------------------------------------------------------------


def say(text: str) -> None:
    """Print a line to standard error, if there is one."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # it is closed, or its disk is full
            print(f"tinytensor: {text}", file=sys.stderr, flush=True)


_said: list[str] = []


def _say_once(text: str) -> None:
    """Print a line, at most once per process."""
    if not _said:
        _said.append(text)
        say(text)


def _reason(error: OSError, place: Any) -> str:
    return f"{error.filename or place}: {error.strerror}" if error.strerror else str(error)


# ------------------------------------------------------------------------------------------
# What of a compiled kernel is kept
# ------------------------------------------------------------------------------------------


def _reduce(result: Any) -> tuple:
    """What goes to disk of a compiled kernel: its machine code, and what loads quickly."""
    whole = result._reduce()
    match whole:
        case (name, "object", (machine_code, module)), *rest, tuple():
            # The last says which modules the kernel's parts come from. Only an error in one
            # would look there, and for that Numba would import a good deal of itself.
            return (name, "object", (machine_code, _names_only(module))), *rest, ()
    return whole  # by a version of Numba that puts it otherwise


def _names_only(module: bytes) -> bytes:
    """Of an LLVM module, what others may find in it, each empty: for lists of names, not for use.

    (Numba keeps the whole, so that other functions may take it in; none does so with a kernel.)
    """
    whole, own = llvm.parse_bitcode(module), (llvm.Linkage.internal, llvm.Linkage.private)
    functions, variables = (
        [x.name for x in found if not x.is_declaration and x.linkage not in own]
        for found in (whole.functions, whole.global_variables)
    )
    lines = [f'define void @"{name}"() {{ unreachable }}' for name in functions]
    lines += [f'@"{name}" = global i8 0' for name in variables]
    return llvm.parse_assembly("\n".join(lines)).as_bitcode()
