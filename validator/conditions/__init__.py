"""When the validator does nothing, or stands on nothing: named conditions, who raises them and who shows them.

A condition is declared in a file of its subject. A service that sees one calls `Board.raise_` and, when it is over,
`Board.clear`; those of rounds follow from the rounds that the board is shown. Health, metrics and the log
read the board.
"""

from validator.conditions.board import Board, Standing
from validator.conditions.catalogue import CONDITIONS
from validator.conditions.condition import Condition, Severity
from validator.conditions.once import Once, Outage, place_of
from validator.conditions.seen import Declared, SeenRound

__all__ = [
    "CONDITIONS",
    "Board",
    "Condition",
    "Declared",
    "Once",
    "Outage",
    "SeenRound",
    "Severity",
    "Standing",
    "place_of",
]
