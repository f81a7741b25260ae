"""The local network on a chain node: //Alice makes a subnet ready, miners serve, the validator pays them.

Touches a development chain, the folder that the command names, and sockets. Called by `validator localnet`.
"""
