"""Explanations common to all kinds: selection, gates, and the stored result of a task."""
