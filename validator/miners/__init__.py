"""Talking to miners: signed, bounded HTTP and the directory of what they declare (SPEC 5, 13)."""
