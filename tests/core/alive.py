"""How much of Python's memory is alive: what a thing that is done again and again must not add to."""

import gc
import sys


def blocks_alive() -> int:
    """Blocks in use once all garbage is gone; some take several searches, for what ends with others."""
    for _ in range(3):
        gc.collect()
    return sys.getallocatedblocks()
