"""The version of PyTorch whose names, arguments and defaults are followed (torch.version).

Programs ask `torch.__version__ >= "1.5"`, `torch.__version__.split(".")[0]` or packaging's
`Version(torch.__version__)` and build another model, or stop, when the answer is "older". So
`__version__` starts with PyTorch's number; tinytensor's own version is `version.tinytensor`.
"""

from __future__ import annotations

import re
from typing import Any


def _numbers(version: Any) -> tuple[int, ...]:
    """(2, 1) for "2.1.0+cpu", (2, 1), or packaging's Version; zeros at the end do not count."""
    text = str(version) if not isinstance(version, (tuple, list)) else ".".join(map(str, version))
    match = re.match(r"\s*v?(\d+(?:\.\d+)*)", text)
    if match is None:
        raise ValueError(f"TorchVersion: got {version!r}, expected a version such as '2.1'")
    numbers = [int(number) for number in match[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


class TorchVersion(str):
    """A version as a string that compares by its numbers with strings, tuples and Versions.

    "2.13.0" > "2.9" holds, also > (2, 9). Suffixes such as "+cpu" and "rc1" do not count.
    """

    __slots__ = ()

    def __lt__(self, other: Any) -> bool:
        return _numbers(self) < _numbers(other)

    def __le__(self, other: Any) -> bool:
        return _numbers(self) <= _numbers(other)

    def __gt__(self, other: Any) -> bool:
        return _numbers(self) > _numbers(other)

    def __ge__(self, other: Any) -> bool:
        return _numbers(self) >= _numbers(other)


tinytensor = "0.1.0"  # that of setup.cfg
__version__ = TorchVersion(f"2.13.0+tinytensor.{tinytensor}")
cuda = hip = rocm = xpu = None  # the toolkits that PyTorch was built with
debug = False
git_version = "unknown"

__all__ = [
    "TorchVersion", "__version__", "cuda", "debug", "git_version", "hip", "rocm", "tinytensor",
    "xpu",
]  # fmt: skip
