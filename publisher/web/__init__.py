"""HTTP of a validator: the health endpoint in the daemon; API and pages of `validator serve`, a separate process.

Touches listening sockets through `incoming/`, and, in `serve`, reads store, chain and health endpoint and stores
submitted skills. Called by the daemon and commands.
"""
