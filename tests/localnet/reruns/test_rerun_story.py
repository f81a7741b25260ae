"""What reruns came to, as a run of the local network tells it."""

import io

from rich.console import Console
from world import World, on_virtual_time, tasks_of_all_types

from localnet.reruns.page import print_reruns, summary, verdict
from localnet.reruns.story import RerunMiner, RerunStory, rerun_story
from localnet.roster import Kind, Resident
from validator.protocol.reasons import Reason
from validator.protocol.skill_types import SkillType
from validator.rounds.service import RoundService
from validator.store import Store
from validator.tasks.memory import MemorySource

PYTHON = SkillType.EXECUTABLE_PYTHON
KINDS: tuple[Kind, ...] = ("thorough", "partial", "inventing")


def shown(story: RerunStory) -> str:
    out = io.StringIO()
    print_reruns(story, Console(file=out, width=200))
    return out.getvalue()


async def one_round(service: RoundService, world: World) -> None:
    assert (await on_virtual_time(world, service.one_round())).outcome is not None


async def test_it_is_read_from_the_store(store: Store) -> None:
    tasks = [task for task in tasks_of_all_types() if task.task.skill_type in {PYTHON, SkillType.DECLARATIVE}]
    world = World(store, miners=3, source=MemorySource(tasks))
    world.service.most_reruns = 100
    residents = {
        hotkey: Resident(f"{kind}-1", kind, skill_types=(PYTHON, SkillType.DECLARATIVE))
        for hotkey, kind in zip(world.signers, KINDS, strict=True)
    }
    residents["content"] = Resident("lazy-1", "lazy", skill_types=(SkillType.DECLARATIVE,))
    await one_round(world.service, world)
    failed = None
    async with store.begin() as tx:
        while (rerun := await tx.reruns.take(world.clock.now())) is not None:
            failed = failed or rerun.key.hotkey
            lied = rerun.key.hotkey == failed
            event, reason = ("rerun_fail", Reason.RERUN_FS) if lied else ("rerun_pass", Reason.RERUN_SAME)
            assert await tx.reruns.done(rerun, event, reason, None, world.clock.now())  # type: ignore[arg-type]
    await one_round(world.service, world)
    async with store.read() as tx:
        story = await rerun_story(tx, residents, "")
        every = [entry for round_id in range(2) for entry in await tx.windows.of_round(round_id)]
        entries = [entry.value for entry in every if (entry.hotkey, entry.skill_type) == (failed, PYTHON)]
        standing = await tx.reputations.all()
    assert [miner.name for miner in story.miners] == ["thorough-1", "partial-1", "inventing-1"]
    assert story.queued == 4
    assert story.states == {"done": 2, "pending": 2}
    liar = next(miner for miner in story.miners if miner.failed)
    assert (liar.hotkey, dict(liar.reasons)) == (failed, {Reason.RERUN_FS: liar.failed})
    assert sum(miner.passed for miner in story.miners) == 2 - liar.failed
    assert 0.0 in entries
    assert liar.mean_entry == sum(entries) / len(entries)
    assert liar.reputation == standing[liar.hotkey, PYTHON]


def miner(name: str, passed: int, failed: int, entry: float | None, reputation: float | None) -> RerunMiner:
    reasons = {Reason.RERUN_FS: failed} if failed else {}
    return RerunMiner(name, f"{name}-1", name, passed, failed, reasons, entry, reputation)


STORY = RerunStory(
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
    assert "10 answers were to be run again: 6 did what their traces claim, 2 did not, 2 still wait." in text
    assert (
        "inventing-1 invents its traces: 2 of 2 reruns failed, a window entry is worth 0.500 (honest miners': 2.500)"
        in text
    )
    assert "is 0.200, the lowest of all (honest miners': 0.800)" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["inventing-1", "0", "2", "0.500", "0.200", "2", "rerun_fs"] in lines
    assert ["thorough-1", "4", "0", "3.000", "0.900"] in lines
    assert not [line for line in lines if line[:1] == ["dead-1"]]


def test_without_an_engine_one_line_says_what_nobody_sees() -> None:
    story = RerunStory("no container engine", 0, {}, STORY.miners)
    assert shown(story) == (
        "No answer was run again (no container engine): nothing shows who invents traces (inventing-1).\n"
    )
    assert summary(RerunStory("it is away", 0, {}, ())) == "No answer was run again (it is away)."


def test_one_that_was_asked_for_nothing_is_said_nothing_of() -> None:
    assert "was not asked" in verdict(miner("pretending", 0, 0, None, None), STORY)
