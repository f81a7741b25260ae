"""Growth of time, memory and size with miners, findings and history: `make bench-growth`.

Touches temporary stores, and writes docs/pictures. Called by make.
"""
