"""A soak of the local network: `make soak` runs it at 20 times normal speed and watches the validator from outside.

Touches a folder with store, chain file and log, and the processes that it starts. Called by `make soak`.
"""
