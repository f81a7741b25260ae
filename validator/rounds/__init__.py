"""The flow of a round: prepare, dispatch, gates, settle, around the pure plan and score.

Touches the store, and chain, tasks and miners through their interfaces. Called by the daemon.
"""
