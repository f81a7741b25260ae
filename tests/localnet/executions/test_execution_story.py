"""Results of executions in the report of a local network."""

import io
from collections.abc import Iterator

from rich.console import Console
from state_kit import reputations_of
from waiting_world import LIAR, end_all, world_of
from world import one_round

from localnet.executions.story import ExecutedMiner, ExecutionStory, execution_story, print_executions, summary, verdict
from localnet.roster import Kind, Resident
from sssa.protocol.skill_types import SkillType
from validator.store import Store

PYTHON = SkillType.EXECUTABLE_PYTHON


def shown(story: ExecutionStory) -> str:
    out = io.StringIO()
    print_executions(story, Console(file=out, width=200))
    return out.getvalue()


async def test_it_is_read_from_the_store(store: Store) -> None:
    world = world_of(store)
    kinds: Iterator[Kind] = iter(("thorough", "partial"))
    residents = {
        hotkey: Resident(kind, kind, skill_types=(PYTHON, SkillType.DECLARATIVE))
        for hotkey in world.signers
        for kind in (("inventing" if hotkey == LIAR.hotkey else next(kinds)),)
    }
    residents["content"] = Resident("lazy", "lazy", skill_types=(SkillType.DECLARATIVE,))
    await one_round(world)
    await end_all(world, LIAR.hotkey)
    await one_round(world)
    async with store.read() as tx:
        story = await execution_story(tx, residents, "")
        entries = [
            entry.value for i in range(2) for entry in await tx.windows.of_round(i) if entry.hotkey == LIAR.hotkey
        ]
        standing = await reputations_of(tx)
    assert {miner.name for miner in story.miners} == {"thorough", "partial", "inventing"}
    assert (story.queued, story.states) == (12, {"done": 6, "pending": 6})
    liar = next(miner for miner in story.miners if miner.failed)
    assert (liar.hotkey, liar.failed, dict(liar.reasons)) == (LIAR.hotkey, 2, {})
    assert sum(miner.passed for miner in story.miners) == 4
    assert entries[:2] == [0.0, 0.0]
    assert liar.mean_entry == sum(entries) / len(entries)
    assert liar.reputation == standing[liar.hotkey, PYTHON]


def miner(name: str, passed: int, failed: int, entry: float | None, reputation: float | None) -> ExecutedMiner:
    reasons = {"fs missing": failed} if failed else {}
    return ExecutedMiner(name, f"{name}-1", name, passed, failed, 0, failed, reasons, entry, reputation)


STORY = ExecutionStory(
    "",
    10,
    {"done": 8, "pending": 2},
    (
        miner("thorough", 4, 0, 3.0, 0.9),
        miner("partial", 2, 0, 2.0, 0.7),
        miner("inventing", 0, 2, 0.5, 0.2),
        miner("dead", 0, 0, None, None),
    ),
)


def test_the_page_lays_inventing_beside_honest_work() -> None:
    text = shown(STORY)
    assert (
        "10 answers were to be compared: 6 did what their traces claim, 2 did not, 2 wait or are inconclusive." in text
    )
    assert (
        "inventing-1 invents its traces: 2 of 2 comparisons failed, an entry is worth 0.500 (honest miners': 2.500)"
        in text
    )
    assert "is 0.200, the lowest of all (honest miners': 0.800)" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["inventing-1", "0", "2", "0", "of", "2", "0.500", "0.200", "2", "fs", "missing"] in lines
    assert ["thorough-1", "4", "0", "0", "of", "0", "3.000", "0.900"] in lines
    assert not [line for line in lines if line[:1] == ["dead-1"]]


def test_without_an_engine_one_line_says_what_nobody_sees() -> None:
    story = ExecutionStory("no container engine", 0, {}, STORY.miners)
    assert shown(story) == (
        "No answer was run again (no container engine): nothing shows who invents traces (inventing-1).\n"
    )
    assert summary(ExecutionStory("it is away", 0, {}, ())) == "No answer was run again (it is away)."


def test_one_that_was_asked_for_nothing_is_said_nothing_of() -> None:
    assert "was not asked" in verdict(miner("pretending", 0, 0, None, None), STORY)
