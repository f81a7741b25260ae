"""Code in the processes of a run: the watcher, and the skill that it watches.

Touches processes by ptrace, two pipes, and the probe's file in /tmp/sssa. Started by `tracer/process.py`.
"""
