"""Signals, with the names of torch.signal.

windows.py   weights that fall off towards both ends of a frame
"""

from . import windows

__all__ = ["windows"]
