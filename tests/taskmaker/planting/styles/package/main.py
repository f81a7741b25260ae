"""Starts the notes."""

from notes.store import Store


def main() -> int:
    """Print what is kept."""
    store = Store()
    store.add("one")
    print(len(store.notes))
    return 0
