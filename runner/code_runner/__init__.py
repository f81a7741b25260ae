"""Judge of a stranger's Python module, by a task's tests and a linter; a program of the runtime image.

Three kinds of process, all of one user. The *keeper* (`__main__.py`, process 1) starts the others, counts, and writes
the report when nobody else is left. The *judge* (`judge.py`) runs the task's tests, and none of the stranger's code.
The *host* (`host.py`) runs the stranger's module. Tests reach it through a socket (`peer.py`): plain data goes by value
(`plain.py`), everything else by reference (`mirror.py`), so that a value that a test compares is a value and no object
that calls itself equal to everything. docs/security.md tells what holds and what does not.

Touches processes and files of its container. Called by the sandbox, through the image, and by authors of tasks.
"""
