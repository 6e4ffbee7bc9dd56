"""The text of Python's own `help()`, which every Python has: some 400,000 letters to learn from."""

from __future__ import annotations

from pydoc_data.topics import topics


def help_text() -> str:
    """All topics, in the order of their names, without indents."""
    pages = (topics[name] for name in sorted(topics))
    return "\n".join(" ".join(line.split()) for page in pages for line in page.splitlines())


__all__ = ["help_text"]
