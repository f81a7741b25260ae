"""Traces that were made up: they pass every gate, and a run of the bundle shows them up."""

import pytest
from miner_kit import Job, bench, job
from test_honest_miners import BUNDLES
from tracer.records import trace_files

from localnet.invented_traces import invent_a_run, invent_a_run_carelessly
from miner.behaviours import answer_thoroughly
from miner.tracing import trace_as
from sssa.protocol.answer import probe_values
from sssa.protocol.bundles import read_bundle
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import is_runtime
from validator.waiting.comparison import Compared, ExecutedBundle, compare_task

pytestmark = pytest.mark.attack

RUN = [name for name, bundle in BUNDLES.items() if is_runtime(bundle.skill_type)]


def asked_of(name: str) -> Job:
    return job(BUNDLES[name].files, BUNDLES[name].skill_type, truth=BUNDLES[name].truth)


async def compared(asked: Job, body: bytes) -> Compared:
    """Compare the answer with the records of the image's tracer."""
    task, probes = asked.task, probe_values(asked.task.nonce)
    files = read_bundle(asked.bundle)
    runs = [trace_files(await trace_as(one, task.skill_type, probes, timeout_s=20)) for one in (files, files, {})]
    executed = ExecutedBundle("1.0.0", task.skill_type, task.nonce, None, made_here=True)
    return compare_task(executed, runs, [("m", body)])


@pytest.mark.parametrize("name", RUN)
async def test_invented_traces_pass_the_gates_and_no_run_bears_them_out(name: str) -> None:
    asked = asked_of(name)
    async with bench(invent_a_run, may_run=lambda _: False) as miner:
        found = await miner.ask(asked)
    assert found.judged.reason == Reason.ACCEPTED
    verdict = await compared(asked, found.body)
    assert verdict.inconclusive or [one.event for one in verdict.results] == ["rerun_fail"]


@pytest.mark.parametrize("name", RUN[::4])
async def test_what_a_thorough_miner_traces_is_borne_out(name: str) -> None:
    asked = asked_of(name)
    async with bench(answer_thoroughly) as miner:
        found = await miner.ask(asked)
    verdict = await compared(asked, found.body)
    assert verdict.inconclusive or [one.event for one in verdict.results] == ["rerun_pass"]


async def test_one_reports_everything_and_the_other_what_it_happens_to_see() -> None:
    asked, said = asked_of("python-backup-sync"), []
    for behaviour in (answer_thoroughly, invent_a_run, invent_a_run_carelessly):
        async with bench(behaviour) as miner:
            found = await miner.ask(asked)
        assert found.judged.reason == Reason.ACCEPTED
        said.append(found.answer.sssa.analysis)
    thorough, pretending, inventing = said
    assert pretending == thorough
    assert len(inventing.findings) < len(thorough.findings)


async def test_auditors_have_nothing_to_invent() -> None:
    async with bench(invent_a_run) as miner:
        found = await miner.ask(asked_of("python-backup-sync"), "auditor")
    assert (found.judged.reason, found.answer.trace_bundle) == (Reason.ACCEPTED, None)
