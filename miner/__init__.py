"""The reference miner: a server, analysers, drafts of truth, and a check of other miners by the validator's own gates.

A distribution next to the validator, whose code it uses; the validator imports nothing of it.

Touches the chain, a listening socket and Semgrep's engine. Called by `validator miner`, `tasks draft` and the local
network.
"""
