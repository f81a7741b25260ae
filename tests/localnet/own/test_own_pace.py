"""The pace: windows shrink, analyses take their part of them, and time is taken from no analysis twice."""

import asyncio
import weakref
from collections.abc import Mapping

import pytest

from localnet.library import WINDOWS
from localnet.own.own_tasks import Pace, TimedAnalyses
from miner.analysis import Analysis
from miner.behaviours import NOTHING
from miner.goals.goal_files import local_goals
from miner.requests import open_dispatch
from miner.services.catalogue import SERVICES, ServiceAddress
from sssa.kinds.assessment.requests import dispatch_bodies
from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.round import AssessmentTask
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Task, Windows
from sssa.sources import VirtualClock
from validator.tasks.source import SourcedTask

BUNDLE = pack({"SKILL.md": b"# Hello\n"})
SERVER = SkillType.MCP_SERVER


def sourced(windows: Windows | None) -> SourcedTask:
    return SourcedTask(Task("1.0", SERVER, windows, sha256_hex(BUNDLE), "none", None, None), BUNDLE)


def test_windows_of_a_task_and_standard_ones_are_an_nth() -> None:
    assert Pace(10).task(sourced(Windows((1, 20), (0, 10)))).task.windows == Windows((0.1, 2.0), (0.0, 1.0))
    assert Pace(10).task(sourced(None)).task.windows == Windows((6.0, 60.0), (2.0, 15.0))
    services = {service: ServiceAddress("http://127.0.0.1:9", Signer.from_uri("//S").hotkey) for service in SERVICES}
    goal = next(iter(local_goals(services, WINDOWS).values()))
    assert Pace(5).goal(goal).windows == Windows((0.1, 1.6), (0.1, 1.2))
    assert [Pace(times).block_s(1.0) for times in (1, 12, 60, 1_000)] == [1.0, 1.0, 0.2, 0.1]


def test_at_the_pace_of_the_chain_tasks_stay_as_they_are() -> None:
    task = sourced(None)
    assert Pace(1).task(task) is task


class Pool:
    """Analyses that take 2 s here, and cost 30 s of a processor."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock

    async def analyse(
        self, sha256: str, files: Mapping[str, bytes], skill_type: SkillType, marker: str | None
    ) -> Analysis:
        await self.clock.sleep(2.0)
        return NOTHING

    def seconds(self, sha256: str, skill_type: SkillType, marker: str | None) -> float:
        return 30.0


@pytest.mark.parametrize(("times", "waits"), [(1, 30.0), (10, 3.0), (100, 2.0)])
async def test_an_analysis_takes_every_miner_its_time_at_the_pace(times: float, waits: float) -> None:
    clock = VirtualClock()
    made = asyncio.create_task(TimedAnalyses(Pool(clock), Pace(times), clock).analyse("ab", {}, SERVER, None))
    await asyncio.sleep(0)  # it begins
    await clock.advance(waits - 0.1)
    assert not made.done()
    await clock.advance(0.2)
    await asyncio.sleep(0)
    assert made.done()
    assert made.result() is NOTHING


def test_miners_of_one_process_hold_a_bundle_once_and_only_while_they_need_it() -> None:
    nonce = "5eed" * 16
    sha256 = sha256_hex(BUNDLE)
    task = AssessmentTask("t", SERVER, 0, sha256, sha256, nonce, WINDOWS, "none", None, None, ())
    body = dispatch_bodies("1", UNPUBLISHED, task, BUNDLE)["auditor"]
    first, second = open_dispatch(body), open_dispatch(body)
    assert first.files is second.files
    assert (dict(first.files), first.dispatch.bundle) == ({"SKILL.md": b"# Hello\n"}, "")
    held = weakref.ref(first.files)
    del first, second
    assert held() is None
