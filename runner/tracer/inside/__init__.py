"""Code in the processes of a run: the watcher, and the skill that it watches.

Touches processes by ptrace, two pipes, and a file in /tmp/sssa. Called by `tracer/process.py`, which starts it.
"""
