"""Repositories: all SQL of one aggregate (rounds, dispatches, state, …) each; a `Transaction` carries one of each.

Touches the database, inside the caller's transaction. Called by every room that reads or writes data.
"""
