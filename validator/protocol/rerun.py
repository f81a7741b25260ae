"""A rerun's report: what a miner's traces claim and what the repeated run showed, side by side (SPEC 15)."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from validator.protocol.sssa import Document

SHOWN: Final = 20  # records of a trace that only one of the two runs has
SHOWN_CHARACTERS: Final = 200  # of each

RerunEvent = Literal["rerun_pass", "rerun_fail", "digest_mismatch"]
Count = Annotated[int, Meta(ge=0)]


class TraceReport(Document, frozen=True):
    """One base trace of both runs, as sets of semantic signatures.

    Attributes:
        claimed: signatures in the miner's trace.
        seen: in the repeated run's.
        shared: in both.
        share: shared of what was seen; 1 where nothing was seen.
        only_claimed, only_seen: some that only one of the two has, printable.
    """

    claimed: Count
    seen: Count
    shared: Count
    share: float
    only_claimed: tuple[str, ...]
    only_seen: tuple[str, ...]


class RerunReport(Document, frozen=True):
    """Both runs side by side.

    Attributes:
        probes: {file, network, process}: whether the repeated run shows it.
        traces: by base trace.
        fs_equal: whether both touched the same files in the same ways.
        similarity: mean of the shares.
    """

    probes: dict[str, bool]
    traces: dict[str, TraceReport]
    fs_equal: bool
    similarity: float
