"""Apple's GPUs, which are not used."""


def is_available() -> bool:
    return False


def is_built() -> bool:
    return False
