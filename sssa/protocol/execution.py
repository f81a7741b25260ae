"""States of waiting work, and the report of an execution: three runs next to each miner's traces (SPEC 15)."""

from typing import Annotated, Final, Literal, NamedTuple, get_args

from msgspec import Meta

from sssa.protocol.sssa import Document, Text

WorkState = Literal["pending", "running", "done", "inconclusive"]
WORK_STATES: Final[tuple[str, ...]] = get_args(WorkState)


SHOWN: Final = 20  # records of a trace that only one side has
SHOWN_CHARACTERS: Final = 200  # of each

ExecutionEvent = Literal["rerun_pass", "rerun_fail"]
Count = Annotated[int, Meta(ge=0)]


class RunFileReport(Document, frozen=True):
    """One base trace of the three runs, as sets of semantic signatures.

    Attributes:
        stable: in both runs of the bundle and not in that of nothing (S).
        possible: in any run (U).
        tracer: in the run of nothing, with the probes.
        varying: in only one run of the bundle (v).
    """

    stable: Count
    possible: Count
    tracer: Count
    varying: Count


class RunReport(Document, frozen=True):
    """Result of the three runs of a task, by base trace.

    Attributes:
        files: by base trace.
        mark: the path that the execution mark touches; None where none is planted or the runs do not show it.
    """

    files: dict[str, RunFileReport]
    mark: Text | None = None


class AnswerFileReport(Document, frozen=True):
    """One base trace of a miner next to the runs.

    Attributes:
        claimed: signatures of the miner's that are not the tracer's (M).
        shared: stable signatures that the miner's traces show.
        missing: how many stable ones they do not show.
        invented: how many of the miner's no run showed.
        shown_missing, shown_invented: some of them, printable.
    """

    claimed: Count
    shared: Count
    missing: Count
    invented: Count
    shown_missing: tuple[str, ...]
    shown_invented: tuple[str, ...]


class AnswerReport(Document, frozen=True):
    """A miner's traces next to the runs.

    Attributes:
        faults: what does not hold: `probes`, `mark`, and a base trace with `missing` or `invented`.
        mark: whether they show the execution mark; None where none is planted.
        files: by base trace.
    """

    faults: tuple[str, ...]
    mark: bool | None
    files: dict[str, AnswerFileReport]


class AnswerResult(NamedTuple):
    """The result of one valid primary.

    Attributes:
        event: None where only the second look at families passes.
        report: its traces next to the runs.
        struck: what the window entry was worth before the event took it (D-30); None where it took none.
    """

    hotkey: str
    event: ExecutionEvent | None
    report: AnswerReport
    struck: float | None = None
