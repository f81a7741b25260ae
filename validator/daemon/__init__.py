"""The daemon: builds the services from the settings, starts them in order and stops them in reverse.

Touches signals, the process's memory and the machine's limits. Called by `validator run` and the local network.
"""
