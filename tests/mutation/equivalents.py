"""Mutations that change no result, with the reason; they are left out and counted separately.

An entry is (file, function, before → after, place among those that read the same): reason. Only
what no test of results could ever notice belongs here, not what a test is tedious to write for.
"""

from __future__ import annotations

from .mutations import Key

EQUIVALENT: dict[Key, str] = {}
