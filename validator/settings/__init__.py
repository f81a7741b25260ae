"""Settings of the operator, and their sources. Scoring constants are never settings.

Touches the settings file and the environment. Called by the daemon and commands.
"""
