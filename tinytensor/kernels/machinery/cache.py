"""The kernel cache on disk: where it is, which files it trusts, how they are verified.

Each kernel, compiled for one set of argument types, is a file of its own; there is no index. A file
holds machine code and a pickle, which can run code when it is read. So a file is read only if no
one but the user or root can have written it, and used only if the digest of its contents is
correct. The digest is keyed by everything that the code depends on (fingerprint.py). A file that
fails is ignored, and the kernel is compiled. No error leaves this module; if kernels cannot be
cached, one line on stderr says so.

    NUMBA_CACHE_DIR     if set: a subfolder for each user and each source folder; otherwise
    __pycache__         next to the kernel's source, and, if that cannot be written or trusted,
    ~/.cache/numba      a subfolder for each source folder (another path on macOS and Windows)

A folder is trusted if it and all its parents belong to the user or root and are not writable by
group or others; a parent may be, if its sticky bit is set, as in /tmp. Symbolic links are resolved
first. So root neither reads nor writes in folders of other users. A file must also belong to the
user or root, not be writable by others, and not be a link. (Windows has no modes; there nothing is
checked.)
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

_config: Any = numba.config  # its attributes are created when it is imported
_FIRST_LINE = b"tinytensor kernel 1\n"  # the number changes with the format
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_READ = os.O_RDONLY | _BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
_TEMPORARY = re.compile(r"\.kernel\.[0-9a-f]{16}\.tmp$")
_HOUR = 3600.0


class KernelCache(NullCache):
    """Numba's cache interface: load and save one compiled kernel."""

    def __init__(self, kernel: Callable) -> None:
        self._kernel = kernel

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled kernel, or None.

        Numba's own cache would first import everything needed for compiling, which takes a third
        of a warm start.
        """
        rtsys.initialize(context)  # memory for arrays that a kernel allocates
        with suppress(Exception):  # a kernel that fails to load is compiled
            entry = _Entry(self._kernel, signature, context.codegen())
            for folder in entry.folders:
                kept = entry.read(folder)
                if kept is not None:
                    return CompileResult._rebuild(context, *pickle.loads(kept))
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write a compiled kernel to the first folder where that works."""
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
        except Exception as error:  # for example, a constant that cannot be pickled
            reason = f"{self._kernel.__name__}: {error}"
        if reason:
            _say_once(f"a kernel is not kept on disk but compiled in each process: {reason}")


class _Entry:
    """The cache file of a kernel, for certain types and on this machine."""

    def __init__(self, kernel: Callable, signature: Any, codegen: Any) -> None:
        file = os.path.abspath(kernel.__code__.co_filename)
        name = f"{Path(file).stem}.{kernel.__qualname__}"
        types, machine = fingerprint.types_of(signature), fingerprint.environment(codegen)
        purpose = fingerprint.digest(kernel.__module__, name, types, machine)
        sources = fingerprint.sources(file)
        self.key = fingerprint.digest(purpose, sources, fingerprint.code(kernel))
        self.folders = _folders(os.path.dirname(file), _config.CACHE_DIR)
        # The first half of the name identifies files of older sources.
        self._purpose = f"{re.sub('[^A-Za-z0-9_.]', '', name)[:60]}-{purpose.hex()[:16]}-"
        self._version = f"{self._purpose}{sources.hex()[:8]}-"
        self._name = f"{self._version}{self.key.hex()[:16]}.kernel"

    def _digest(self, kept: bytes) -> bytes:
        return hashlib.blake2b(kept, digest_size=32, key=self.key).digest()

    def read(self, folder: Path) -> bytes | None:
        """Return the contents; None if there is no file, or none that can be trusted."""
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
        """Write to a temporary file and rename it, so that no process sees half a file."""
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
        """Delete this kernel's files of older sources, and temporary files of killed processes."""
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
    """Return the cache folders for a source folder that exist and can be trusted."""
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
            if not os.path.isabs(place):  # "~": there is no home folder
                raise FileNotFoundError("there is no home folder")
            found.append(_trusted(Path(place)))
        except OSError as error:
            reason = _reason(error, place)
    if not found:
        text = "kernels are not kept on disk but compiled in each process"
        _say_once(f"{text}: {reason}; set NUMBA_CACHE_DIR to a folder of your own")
    return tuple(found)


def _trusted(folder: Path) -> Path:
    """Return the folder, created if missing, links resolved; an OSError says what is wrong."""
    folder = Path(os.path.realpath(folder))
    for place in (*reversed(folder.parents), folder):
        try:
            state = os.lstat(place)
        except FileNotFoundError:
            with suppress(FileExistsError):
                os.mkdir(place, 0o755)
            state = os.lstat(place)
        if not stat.S_ISDIR(state.st_mode):  # or a link that was created meanwhile
            raise NotADirectoryError(f"{place} is not a folder")
        problem = _open_to(state)
        if problem == "others" and state.st_mode & stat.S_ISVTX and place != folder:
            problem = ""  # sticky: no one can replace the files of others in it
        if problem == "others":
            raise PermissionError(f"others can write to {place}; run chmod go-w {place}")
        if problem:
            raise PermissionError(f"{place} belongs to {problem}")
    return folder


def _open_to(state: os.stat_result) -> str:
    """Return who else could have written a file or folder; "" if only the user and root."""
    if not hasattr(os, "geteuid"):
        return ""
    # The owner of "/" is root, also where user ids are mapped, as in some containers.
    if state.st_uid not in (os.geteuid(), 0, os.stat("/").st_uid):
        return f"another user ({state.st_uid})"
    return "others" if state.st_mode & _WRITABLE_BY_OTHERS else ""


# ------------------------------------------------------------------------------------------
# Messages
# ------------------------------------------------------------------------------------------


def say(text: str) -> None:
    """Print a line to standard error, if there is one."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # stderr is closed, or its disk is full
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
# What is stored of a compiled kernel
# ------------------------------------------------------------------------------------------


def _reduce(result: Any) -> tuple:
    """Return what is written to disk: the machine code, and a form of the rest that loads fast."""
    whole = result._reduce()
    match whole:
        case (name, "object", (machine_code, module)), *rest, tuple():
            # The last item lists the modules of the kernel's parts. Only errors need it, and for
            # it Numba would import much of itself.
            return (name, "object", (machine_code, _names_only(module))), *rest, ()
    return whole  # a version of Numba with another format


def _names_only(module: bytes) -> bytes:
    """Return an LLVM module with the same public names and empty bodies.

    (Numba stores the whole module so that other functions can inline it; none inlines a kernel.)
    """
    whole, own = llvm.parse_bitcode(module), (llvm.Linkage.internal, llvm.Linkage.private)
    functions, variables = (
        [x.name for x in found if not x.is_declaration and x.linkage not in own]
        for found in (whole.functions, whole.global_variables)
    )
    lines = [f'define void @"{name}"() {{ unreachable }}' for name in functions]
    lines += [f'@"{name}" = global i8 0' for name in variables]
    return llvm.parse_assembly("\n".join(lines)).as_bitcode()
