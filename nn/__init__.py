"""Neural networks on tinytensor: `import nn`, `import nn.functional as F`."""

from . import functional

__all__ = ["functional"]
