"""Canaries of the local network: miners run what was drawn without a fault, and only that is run again."""

from types import SimpleNamespace
from typing import Any

from localnet.network import _canaries
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType, is_runtime
from sssa.sources import SeededRandom
from taskmaker.canary import is_harmless
from validator.tasks.source import SourcedTask

SERVER = SkillType.MCP_SERVER


class Analyses:
    """Notes what was analysed."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    async def analyse(self, sha256: str, *_: object) -> None:
        self.seen.add(sha256)


async def made_by(sandbox: object, *, contained: bool = False) -> tuple[dict[SkillType, list[SourcedTask]], set[str]]:
    analyses = Analyses()
    around: Any = SimpleNamespace(
        stock=SimpleNamespace(canary_windows=None, canary=lambda made: made),
        executions=SimpleNamespace(sandbox=sandbox),
        canaries=set(),
        contained=contained,
        analyses=analyses,
    )
    tasks = SimpleNamespace(canaries=True, bases=None, shapes=None, domains=())
    seat: Any = SimpleNamespace(settings=SimpleNamespace(tasks=tasks), random=SeededRandom("canaries"))
    maker = _canaries(seat, around)
    assert maker is not None
    made = {kind: [one for _ in range(6) if (one := await maker(kind)) is not None] for kind in ASSESSED_TYPES}
    unmarked = {one.task.bundle_sha256 for tasks in made.values() for one in tasks if one.task.canary is None}
    assert unmarked
    assert analyses.seen == unmarked, "analysed before they are given out"
    return made, around.canaries


async def test_without_an_engine_every_type_has_them_and_the_harmless_may_be_run() -> None:
    made, run = await made_by(None)
    assert all(len(tasks) == 6 for tasks in made.values())
    assert run == {one.task.bundle_sha256 for tasks in made.values() for one in tasks if is_harmless(one)}
    assert any(not is_harmless(one) for one in made[SERVER])


async def test_where_answers_are_run_again_no_canary_is_one_that_miners_do_not_run() -> None:
    made, run = await made_by(object())
    for kind in filter(is_runtime, ASSESSED_TYPES):
        assert {one.task.bundle_sha256 for one in made[kind]} <= run
        assert len(made[kind]) == 6
    assert any(not is_harmless(one) for one in made[SkillType.DECLARATIVE]), "nobody runs those"


async def test_where_miners_run_them_in_containers_canaries_of_every_type_have_faults() -> None:
    made, _ = await made_by(object(), contained=True)
    assert all(any(not is_harmless(one) for one in tasks) for tasks in made.values())
