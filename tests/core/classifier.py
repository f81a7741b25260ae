"""A plain logistic regression: whether two kinds of things differ in numbers."""

import math
from collections.abc import Callable, Sequence
from random import Random

Row = Sequence[float]
EPOCHS, RATE, SHRINK = 15, 0.02, 0.002


def accuracy(ones: Sequence[Row], others: Sequence[Row]) -> float:
    """Return the share of held-out rows that a classifier gets right which learned from the rest: every second row.

    Args:
        ones, others: rows of numbers, as many of each.
    """
    assert len(ones) == len(others)
    labelled = [(row, 1.0) for row in ones] + [(row, 0.0) for row in others]
    held_out = labelled[1::2]
    learned = labelled[::2]
    scale = _scale([row for row, _ in learned])
    weights = _learn([(scale(row), label) for row, label in learned])
    right = [(_score(weights, scale(row)) > 0) == (label > 0) for row, label in held_out]
    return sum(right) / len(right)


def _scale(rows: Sequence[Row]) -> Callable[[Row], list[float]]:
    means = [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
    spreads = [
        math.sqrt(math.fsum((value - mean) ** 2 for value in column) / len(rows))
        for mean, column in zip(means, zip(*rows, strict=True), strict=True)
    ]
    useful = [i for i, spread in enumerate(spreads) if spread > 1e-9]

    def scaled(row: Row) -> list[float]:
        return [1.0, *(max(-4.0, min(4.0, (row[i] - means[i]) / spreads[i])) for i in useful)]

    return scaled


def _learn(rows: list[tuple[list[float], float]]) -> list[float]:
    weights = [0.0] * len(rows[0][0])
    dice = Random(7)
    for epoch in range(EPOCHS):
        dice.shuffle(rows)
        rate = RATE / (1 + epoch / 8)
        for row, label in rows:
            step = rate * (label - 1 / (1 + math.exp(-max(-30.0, min(30.0, _score(weights, row))))))
            weights = [weight * (1 - rate * SHRINK) + step * value for weight, value in zip(weights, row, strict=True)]
    return weights


def _score(weights: Sequence[float], row: Sequence[float]) -> float:
    return sum(map(float.__mul__, weights, row))
