"""What a text says to a model: stock phrases, orders that are told by their signs, orders in other languages."""

from collections.abc import Iterator, Sequence
from typing import Final

from miner.analysis.abroad import find_orders_abroad
from miner.analysis.injection import Phrase, find_phrases, plain
from miner.analysis.orders import find_orders
from miner.analysis.sentences import paragraphs

OPEN: Final[frozenset[str]] = frozenset()
TO_A_MODEL: Final = frozenset({"model"})  # of a text that is written for one: no sentence has to say so
HIDDEN: Final = frozenset({"model", "hidden"})  # of a text that readers do not see


def orders_in(lines: Sequence[str], given: frozenset[str] = OPEN) -> Iterator[Phrase]:
    """Yield what the lines say to a model: sentences are told by their signs where no stock phrase stands in them.

    Args:
        lines: of one text.
        given: signs that every sentence of it has, by where it stands.
    """
    told: set[int] = set()
    for phrase in find_phrases(list(lines)):
        told.update(range(phrase.first, phrase.last + 1))
        yield phrase
    said = list(paragraphs([plain(line) for line in lines]))
    for phrase in (*find_orders(said, given), *find_orders_abroad(said)):
        if told.isdisjoint(range(phrase.first, phrase.last + 1)):
            told.update(range(phrase.first, phrase.last + 1))
            yield phrase
