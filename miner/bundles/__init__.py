"""Written bundles: small skills of every type, good and bad, with what is true of them. The bad ones do no harm.

Touches the package's own files. Called by the local network and `validator miner check`.
"""
