"""Attestations of a validator about a skill: statement, envelope, verification, and the gate before an install.

Touches policies, bundles and, in the gate, validators over HTTP. Called by the publisher and consumers' commands.
"""
