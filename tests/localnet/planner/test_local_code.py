"""The local network's code: written by its planners' plans, judged by the runner itself, and paid (SPEC 12)."""

import asyncio
from functools import cache
from pathlib import Path

import msgspec
from local_code import CONDUCTS, local_code_world
from runner_kit import judged
from waiting_world import ended, until_checks, working
from world import on_virtual_time

from sssa.protocol.workflow_run import CodeReport
from validator.sandbox.interface import CodeJob
from validator.sandbox.scripted import ScriptedCheck, ScriptedCodeSandbox
from validator.store import open_store


async def test_the_local_networks_code_is_judged_and_paid(sqlite_url: str, tmp_path: Path) -> None:
    @cache
    def report_of(code: str, tests: str) -> CodeReport:
        return msgspec.convert(judged(tmp_path, code, tests).report, CodeReport)

    async with open_store(sqlite_url) as store:
        world, conducts = local_code_world(store)
        jobs: list[CodeJob] = []

        def script(job: CodeJob) -> ScriptedCheck:
            jobs.append(job)
            return ScriptedCheck(report_of(job.code, job.tests))

        assert (await on_virtual_time(world, world.service.one_round())).outcome is not None
        async with working(world, ScriptedCodeSandbox(script, world.clock)):
            found = await asyncio.wait_for(until_checks(world, ended), 60)
        assert {one.report for one in found} == {CodeReport(2, 2, 0)}
        assert "def slugify" in jobs[0].code
        assert (await on_virtual_time(world, world.service.one_round())).outcome is not None
        async with store.read() as tx:
            paid = {conducts[entry.hotkey]: entry.value for entry in await tx.windows.of_round(1)}
    assert set(paid) == set(CONDUCTS)
    assert min(paid["skilled"], paid["serial"]) > 0.85
    assert 0.5 > paid["forgetful"] > 0.3  # one of two steps
