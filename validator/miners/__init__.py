"""The client for miners, and the directory of their declarations (SPEC 5, 13).

Touches miners, through `outgoing/`, and the store. Called by rounds and the daemon.
"""
