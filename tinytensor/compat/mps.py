"""Apple's GPUs, which are not used."""


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0


__all__ = ["device_count", "is_available"]
