"""The health endpoint: `/healthz`, `/readyz` and `/metrics` of a running validator.

Touches a listening socket, through `incoming/`. Called by the daemon.
"""
