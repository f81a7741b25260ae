"""The reference miner: a server, analysers, drafts of truth, and a check of other miners by the validator's own gates.

A distribution next to the validator, whose code it uses; the validator finds it by entry points alone.

Touches the chain, sockets, processes (Semgrep, tracer, analysis) and files that commands write. Called by `validator
miner`, `tasks draft`, `tasks seed --report` and the local network.
"""
