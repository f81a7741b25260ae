"""Attestations for consumers: signed statements about skills that will not be dispatched again, and their use.

Touches the store and the keys that sign statements; verification touches files alone. Called by commands.
"""
