"""Code in the processes of a run: the watcher, and the skill that it watches.

Touches processes, by ptrace, and files of the run's folder. Called by `tracer/process.py`, which starts it.
"""
