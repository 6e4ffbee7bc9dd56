"""Flags of cuDNN, which is not used."""

enabled = False
benchmark = False
deterministic = True
allow_tf32 = False


def is_available() -> bool:
    return False


def version() -> None:
    return None
