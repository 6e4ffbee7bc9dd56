"""The exceptions that tinytensor raises besides Python's own.

Each message is one line: the op, what it got, what it expected, what to do.
"""


class DeviceError(RuntimeError):
    """A device that is not available, or tensors on two devices in one op."""


class GradientError(RuntimeError):
    """A backward pass that cannot be right: freed graph, changed value, bad gradient."""


class AnomalyError(RuntimeError):
    """NaN or infinity found under `autograd.detect_anomaly()`."""


class GradcheckError(RuntimeError):
    """`gradcheck` found an analytical gradient that differs from the numerical one."""


class OutOfMemoryError(MemoryError, RuntimeError):
    """Not enough memory for an array: PyTorch raises RuntimeError for this, Python MemoryError."""


class ShapeError(RuntimeError, ValueError):
    """Shapes that do not fit: PyTorch raises RuntimeError for these, NumPy ValueError."""


class LinAlgError(RuntimeError):
    """A matrix for which there is no result: singular, or not positive definite."""
