"""The sandbox for strangers' bundles and code: a job in, evidence or a named failure out (SPEC 12, 15).

Touches the container engine. Called by waiting work and the doctor.
"""
