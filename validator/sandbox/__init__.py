"""The sandbox for strangers' bundles and code: a job in, evidence or a named failure out (SPEC 12, 15).

Touches the container engine (`engine.py` and the containers alone). Called by waiting work, and opened by the daemon
and `validator worker`; the doctor asks the engine.
"""
