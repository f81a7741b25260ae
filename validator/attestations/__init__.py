"""Attestations for consumers: signed statements about skills that will not be dispatched again, and their use."""
