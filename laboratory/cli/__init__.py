"""Commands of the laboratory, which join `validator` by entry point.

Touches the terminal, files of results and exported logs. Called by `validator/cli/commands.py`.
"""
