"""The publisher: attestations signed, skills submitted, the read-only API and the pages.

Touches the store of a validator, mostly for reading, its publishing key, and listening sockets. Called through the
entry points of the command `validator`.
"""
