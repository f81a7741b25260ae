"""The local network on a chain node: //Alice makes a subnet ready, miners serve, the validator pays them.

Touches a development chain and its own folder. Called by `validator localnet`.
"""
