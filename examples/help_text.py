"""The text of Python's own `help()`: about 400,000 characters that need no download."""

from __future__ import annotations

from pydoc_data.topics import topics


def help_text() -> str:
    """All topics, sorted by name, without indentation."""
    pages = (topics[name] for name in sorted(topics))
    return "\n".join(" ".join(line.split()) for page in pages for line in page.splitlines())


__all__ = ["help_text"]
