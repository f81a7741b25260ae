"""Stores and logs as earlier programs left them: three rounds under each released scoring version.

Under 1.0.0 before a scoring version was a value, under 1.1.0 with tables of r0011. Both kinds of task, every skill
type, run by `validator devnet --config config/demo.toml --rounds 3`. Beside them stand what `replay --all --json` said
of the rounds at the time, and a digest of the numbers in everybody's explanations.
"""

import hashlib
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from sqlalchemy import Connection, MetaData, create_engine, insert, select

from validator.audit.explain import explain_round
from validator.audit.explain.window import Entry, TypeWindow
from validator.kinds.assessment.explain.page import AssessmentExplanation
from validator.kinds.explained.page import TaskExplanation
from validator.kinds.workflow.explain.page import WorkflowExplanation
from validator.store import Store

FIXTURES: Final = Path(__file__).parents[1] / "fixtures"
VERSIONS: Final = ("1.0.0", "1.1.0")
# By released version of the program: the tables of the store that it left, and the scoring version of its rounds.
OF_PROGRAM: Final = {"0.2.0": ("r0011", "1.1.0"), "0.1.0": ("r0007", "1.0.0")}
ROUNDS: Final = 3


def unpacked(name: str, folder: Path, version: str = "1.0.0") -> Path:
    """One of the packed files, as it was."""
    path = folder / name
    path.write_bytes(lzma.decompress((_folder(version) / f"{name}.xz").read_bytes()))
    return path


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """A transaction in the database of a store's url, whatever its tables."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def take_rows(source: Connection, target: Connection) -> None:
    """Put all rows of one database into the same, empty tables of another; both are of the same revision."""
    metadata, theirs = MetaData(), MetaData()
    metadata.reflect(source)
    theirs.reflect(target)
    for table in metadata.sorted_tables:
        rows = [dict(row._mapping) for row in source.execute(select(table))]
        if rows and table.name != "schema_version":
            target.execute(insert(theirs.tables[table.name]), rows)


def recorded(name: str, version: str = "1.0.0") -> list[str]:
    """The lines of one of the files that say what came of it at the time."""
    return (_folder(version) / name).read_text().splitlines()


def _folder(version: str) -> Path:
    return FIXTURES / f"version_{version.replace('.', '_')}"


async def explained(store: Store, round_id: int) -> str:
    """The sha256 of every number that a round's explanations tell, of everybody in it."""
    numbers = hashlib.sha256()
    async with store.read() as tx:
        stored = await tx.rounds.get(round_id)
        assert stored is not None
        assert stored.input is not None
        for miner in stored.input.miners:
            found = await explain_round(tx, round_id, miner.hotkey)
            assert all(task.as_stored for task in found.tasks)
            windows = list(map(_window, found.windows))
            told = [list(map(_numbers, found.tasks)), found.reputation, found.collusion, windows, found.weights]
            numbers.update(msgspec.json.encode(told))
    return numbers.hexdigest()


def _numbers(task: TaskExplanation) -> list[object]:
    numbers: list[object] = [task.task_id, task.selection.rank, task.selection.auditor_draw, task.entry]
    if isinstance(task, WorkflowExplanation):
        return [*numbers, task.worth and [(part.value, part.weight) for part in task.worth.parts]]
    assert isinstance(task, AssessmentExplanation)
    consensus, quality, emission = task.consensus, task.quality, task.emission
    numbers += [consensus and (consensus.score, [(part.value, part.weight) for part in consensus.components])]
    numbers += [quality and (quality.quality, quality.epsilon, [(axis.value, axis.weight) for axis in quality.axes])]
    return [*numbers, emission and [factor.value for factor in emission.factors]]


def _window(window: TypeWindow) -> dict[str, object]:
    told: dict[str, object] = msgspec.to_builtins(window)
    told["entries"] = list(map(_entry, window.entries))
    return told


def _entry(entry: Entry) -> dict[str, object]:
    assert entry.answered_in is None  # nothing was judged late where no table was for it
    told: dict[str, object] = msgspec.to_builtins(entry)
    del told["answered_in"]
    return told
