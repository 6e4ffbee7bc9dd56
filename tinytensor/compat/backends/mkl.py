"""Intel's MKL: NumPy may use it, but tinytensor does not call it."""


def is_available() -> bool:
    return False
