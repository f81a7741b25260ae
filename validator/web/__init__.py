"""Health and metrics of a running validator over HTTP."""
