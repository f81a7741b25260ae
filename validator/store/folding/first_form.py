"""What a folded round's documents name, in records of the first form: digests alone, by places that have no end."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from validator.store.tables import dispatches, proofs

Text = str | bytes | None
# Columns that name attestations and runs by their digests.
NAMING: Final[Mapping[str, Sequence[str]]] = {
    dispatches.name: ("sssa_sha256", "submission"),
    proofs.name: ("document",),
}
_PLACE: Final = re.compile("\x01([0-9]+)")
_PLACE_IN_BYTES: Final = re.compile(_PLACE.pattern.encode())


def with_digests(value: Text, digests: Sequence[str]) -> Text:
    """Return a text with the digests that it names.

    Raises:
        LookupError: there is no such digest.
    """
    if isinstance(value, bytes):
        return _PLACE_IN_BYTES.sub(lambda found: digests[int(found[1])].encode(), value)
    return None if value is None else _PLACE.sub(lambda found: digests[int(found[1])], value)
