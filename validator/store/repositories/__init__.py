"""Repositories: all SQL of one aggregate (rounds, dispatches, state, …) each; a `Transaction` carries one of each.

Touches the database, inside the caller's transaction, and reads archive files. Called by every room that keeps data.
"""
