"""torch.hub, in name only: nothing is downloaded, and no foreign code is run."""

from __future__ import annotations

import os
import re
from typing import Any, NoReturn
from urllib.parse import urlparse as urlparse


def _missing(name: str, what: Any) -> NoReturn:
    raise NotImplementedError(
        f"hub.{name}: got {what!r}, but nothing is downloaded here; fetch the file yourself and "
        "pass it to tinytensor.load"
    )


def load(repo_or_dir: Any, model: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: models of the hub are PyTorch programs."""
    _missing("load", f"{repo_or_dir}: {model}")


def load_state_dict_from_url(url: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: nothing is downloaded; `load` reads a file of PyTorch."""
    _missing("load_state_dict_from_url", url)


def download_url_to_file(url: str, dst: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: nothing is downloaded."""
    _missing("download_url_to_file", url)


def list(github: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: nothing is downloaded."""
    _missing("list", github)


# The hash in the name of a file, as in resnet18-f37072fd.pth
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")

_folder: str | None = None


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME") or os.path.join(cache, "torch")
    return os.path.expanduser(home)


def get_dir() -> str:
    """The folder set by `set_dir`; PyTorch's default otherwise. Nothing is stored there."""
    return _folder or os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike) -> None:
    """Set the folder that `get_dir` returns."""
    global _folder
    _folder = os.path.expanduser(os.fspath(d))


__all__ = [
    "download_url_to_file", "get_dir", "list", "load", "load_state_dict_from_url", "set_dir",
]  # fmt: skip
