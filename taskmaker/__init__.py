"""The task maker: tasks from skills, faults planted with their truth, checks, a task server, canaries.

Touches files that are named, and, in the task server, listening sockets. Called through entry points of the validator.
"""
