"""Settings of the operator, and their sources. Scoring constants are never settings.

`load.py` reads the settings file and the environment; `init_files.py` writes settings, `.env` and secrets; the rest
touches neither. Called by the daemon and commands.
"""
