"""The package opt_einsum, which is not used: `einsum` contracts in NumPy's order."""

enabled = False
strategy = None


def is_available() -> bool:
    return False
