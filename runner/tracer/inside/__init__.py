"""Code in the processes of a run: the watcher, and the skill that it watches."""
