"""Signed, bounded HTTP requests to strangers: one fresh connection for every call (SPEC 13)."""
