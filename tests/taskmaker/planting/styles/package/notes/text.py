"""Texts."""


def clean(text: str) -> str:
    """Return a text without space around it."""
    return text.strip()
