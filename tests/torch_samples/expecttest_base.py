"""A stand-in for the package expecttest, of which PyTorch's databases need one base class."""

from __future__ import annotations

import importlib
import sys
import types
import unittest
from typing import Any


def provide_expecttest() -> None:
    """Let `import expecttest` succeed where it is not installed."""
    try:
        importlib.import_module("expecttest")
    except ImportError:
        stub: Any = types.ModuleType("expecttest")
        stub.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stub
