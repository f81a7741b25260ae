"""The flow of a round: prepare, dispatch, gates, settle, around the pure plan and score.

Touches the store and this machine's disk space, and chain, tasks and miners through their interfaces. Called by the
daemon; the doctor shares its checks (`readiness.py`).
"""
