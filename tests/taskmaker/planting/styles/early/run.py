"""Calls a function before the others are there."""

import json


def table() -> dict[str, int]:
    """Return how long words are."""
    words = ("one", "three")
    return {word: len(word) for word in words}


TABLE = table()


def shown() -> str:
    """Return them as text."""
    return json.dumps(TABLE)


print(shown())
