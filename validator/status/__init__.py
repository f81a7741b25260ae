"""One look at one validator: `validator status`.

From three sides at once, each of which may be missing: the store, the running validator's health report, the chain.
"""

from validator.status.disk import Disk
from validator.status.onchain import OnChain, OnChainWeights
from validator.status.overview import Observer, Overview, Running
from validator.status.stored import Stored

__all__ = ["Disk", "Observer", "OnChain", "OnChainWeights", "Overview", "Running", "Stored"]
