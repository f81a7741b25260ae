"""Commands that join `validator` by entry point: `serve` and `attestation`.

Touches the terminal and what the publisher touches. Called through the command `validator`.
"""
