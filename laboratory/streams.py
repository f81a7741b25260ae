"""Named streams of random numbers: what is drawn for one purpose never changes what is drawn for another."""

import hashlib
import math
from random import Random


def stream(*names: object) -> Random:
    """Return the stream of these names, the first of which is the seed; the same in every process."""
    text = "|".join(map(str, names)).encode()
    return Random(int.from_bytes(hashlib.sha256(text).digest()[:8]))


def token(*names: object) -> str:
    """Return 64 hex digits that follow from these names."""
    return hashlib.sha256("|".join(map(str, names)).encode()).hexdigest()


def poisson(draws: Random, mean: float) -> int:
    """Return a number drawn from Poisson's distribution; for small means."""
    bound, product, number = math.exp(-mean), draws.random(), 0
    while product > bound:
        product *= draws.random()
        number += 1
    return number
