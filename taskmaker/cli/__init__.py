"""Commands that join `validator` by entry point: `tasks`.

Touches the terminal and what the task maker touches. Called through the command `validator`.
"""
