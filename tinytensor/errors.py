"""The exceptions that tinytensor raises beside Python's own.

Each message is one line: the op, what was got, what was expected, what to do.
"""


class DeviceError(RuntimeError):
    """A device was asked for that is not there, or tensors of two devices were mixed."""


class GradientError(RuntimeError):
    """A backward pass that cannot be right: freed graph, changed value, bad gradient."""


class AnomalyError(RuntimeError):
    """NaN or infinity found under `autograd.detect_anomaly()`."""


class GradcheckError(RuntimeError):
    """`gradcheck` found an analytical gradient that differs from the numerical one."""


class OutOfMemoryError(MemoryError, RuntimeError):
    """No room for an array: PyTorch raises RuntimeError for this, Python MemoryError."""


class ShapeError(RuntimeError, ValueError):
    """Shapes that do not fit: PyTorch raises RuntimeError for these, NumPy ValueError."""
