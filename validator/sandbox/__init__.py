"""The sandbox for strangers' bundles and code: a job in, evidence or a named failure out (SPEC 12, 15)."""
