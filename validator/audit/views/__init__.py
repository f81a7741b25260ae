"""Answers to questions of operators, as plain values that the command line prints.

Each is read in one transaction. The field names are what `--json` shows, so they are part of the interface.
"""
