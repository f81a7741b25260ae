"""What an anchor of the log says on chain: which receipt, in bytes that everybody can tell for an anchor of this log.

Text, so that explorers show it: `sssa-log:1:SEQUENCE:DIGEST`.
"""

import re
from typing import Final, NamedTuple

MAX_CONTENT: Final = 128  # bytes that one plain field of a commitment holds on chain
_FORM: Final = re.compile(rb"sssa-log:1:(0|[1-9][0-9]{0,15}):([0-9a-f]{64})")


class Anchor(NamedTuple):
    """A receipt of the log.

    Attributes:
        sequence: its number.
        digest: sha256 of its line, lower-case hex.
    """

    sequence: int
    digest: str

    def content(self) -> bytes:
        """Return the bytes that stand on chain, at most MAX_CONTENT."""
        return f"sssa-log:1:{self.sequence}:{self.digest}".encode()


def anchor_of(content: bytes | None) -> Anchor | None:
    """Return the anchor that `content` is, None if it is something else."""
    found = None if content is None else _FORM.fullmatch(content)
    return None if found is None else Anchor(int(found[1]), found[2].decode())
