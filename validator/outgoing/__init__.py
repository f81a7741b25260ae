"""Signed, bounded HTTP requests to strangers: one fresh connection for every call (SPEC 13).

Touches the network, and temporary files for large responses. Called by miners, tasks and kinds.
"""
