"""Declarations, the largest bundle and goals in `miner check`."""

import base64
import re

import msgspec
import pytest
from aiohttp import web
from check_kit import AT_ONCE, check_at
from miner_kit import VALIDATOR, bench

from localnet.planner.planner_server import LocalPlanner
from localnet.planner.skills import HABITS
from miner.behaviours import answer_thoroughly
from miner.check.report import Section, fault_lines, print_report
from miner.check.target import TargetError, target_of
from miner.check.trials import Drafts
from miner.server import LocalMiner, answer, declare
from sssa.protocol import limits
from sssa.protocol.answer import Dispatch
from sssa.protocol.bundles import read_bundle
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.scoring import CURRENT, version
from sssa.sources import SystemClock, SystemRandom

RAG = SkillType.RAG_KNOWLEDGE


def declaring(**changed: object) -> type[LocalMiner]:
    """A miner whose declaration is changed and signed again."""

    class Declaring(LocalMiner):
        async def _capabilities(self, request: web.Request) -> web.Response:
            await self._server.body(request)
            signer = self._kit.signer
            document = declare(signer, SystemClock().now(), 2, (RAG, SkillType.EXECUTABLE_PYTHON))
            return answer(signer.sign_document(msgspec.structs.replace(document, **changed)))

    return Declaring


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"expires_at": "2026-01-01T00:00:00Z"}, "declaration_invalid [declaration]"),
        ({"issued_at": "2020-01-01T00:00:00Z", "expires_at": "2020-01-02T00:00:00Z"}, "declaration_expired"),
        ({"hotkey": VALIDATOR.hotkey}, "signed for another hotkey - at `hotkey`"),
    ],
)
async def test_a_declaration_that_does_not_count_is_told_and_nothing_else_is_sent(
    changed: dict[str, object], said: str
) -> None:
    async with bench(answer_thoroughly, server=declaring(**changed)) as one:
        report = await check_at(one.miner.hotkey, one.axon)
    (line,) = fault_lines(report)
    assert said in line
    assert (report.declared, report.outcomes) == (None, ())


@pytest.mark.parametrize(
    ("section", "types", "said"),
    [
        (Section.ANSWERS, (RAG, SkillType.MCP_SERVER), "not_declared [declaration]: .* mcp_server - at `skill_types`"),
        (Section.PLANS, (), "nothing_sent [declaration]: Nothing was sent"),
    ],
)
async def test_a_check_that_sends_nothing_of_what_was_asked_is_not_passed(
    section: Section, types: tuple[SkillType, ...], said: str
) -> None:
    async with bench(answer_thoroughly, server=declaring(skill_types=(RAG,))) as one:
        report = await check_at(one.miner.hotkey, one.axon, section, types=types)
    (line,) = fault_lines(report)
    assert re.match(said.replace("[", r"\["), line), line
    assert {outcome.skill_type for outcome in report.outcomes} == ({RAG} if types else set())


async def test_goals_of_every_kind_are_planned_run_and_scored(capsys: pytest.CaptureFixture[str]) -> None:
    planner = LocalPlanner(Signer.from_uri("//Planner"), HABITS["skilled"], {VALIDATOR.hotkey}, SystemClock())
    axon = await planner.start()
    try:
        report = await check_at(planner.hotkey, axon)
    finally:
        await planner.close()
    assert fault_lines(report) == []
    worth = {one.trial.removeprefix("a goal of "): one.plan for one in report.outcomes}
    assert sorted(worth) == ["agent", "code", "data_transform", "rag"]
    assert all(plan is not None and plan.steps_completed == plan.total_steps for plan in worth.values())
    assert {one.score is None for one in report.outcomes if one.trial == "a goal of code"} == {True}
    print_report(report)
    printed = capsys.readouterr().out
    assert "output judged later" in printed
    assert "passed: 4 of 4 dispatches" in printed


async def test_a_plan_in_a_circle_is_told_so() -> None:
    planner = LocalPlanner(Signer.from_uri("//Planner"), HABITS["confused"], {VALIDATOR.hotkey}, SystemClock())
    axon = await planner.start()
    try:
        (line,) = fault_lines(await check_at(planner.hotkey, axon))
    finally:
        await planner.close()
    assert line.startswith("parse_plan, gate 2 (parse) [workflow primary, a goal of agent and 3 more]")


def test_the_largest_bundle_is_at_every_limit_and_one_that_a_miner_may_get() -> None:
    trial = Drafts(version(CURRENT), SystemRandom(), AT_ONCE).largest(RAG)
    bundle = base64.b64decode(msgspec.json.decode(trial.request.whole, type=Dispatch).bundle)
    files = read_bundle(bundle)
    assert len(files) == limits.MAX_BUNDLE_ENTRIES
    assert max(map(len, files.values())) == limits.MAX_BUNDLE_FILE
    assert limits.MAX_BUNDLE_COMPRESSED - limits.MIB < len(bundle) <= limits.MAX_BUNDLE_COMPRESSED
    assert limits.MAX_BUNDLE_EXPANDED - limits.MIB < sum(map(len, files.values())) <= limits.MAX_BUNDLE_EXPANDED


@pytest.mark.parametrize(
    ("url", "hotkey", "said"),
    [
        ("http://127.0.0.1:8091", "nobody", "`nobody` is no ss58 address - at `--hotkey`"),
        ("ftp://127.0.0.1:8091", VALIDATOR.hotkey, "is not http://ADDRESS:PORT"),
        ("http://127.0.0.1:8091/v1", VALIDATOR.hotkey, "is not http://ADDRESS:PORT"),
        ("http://127.0.0.1:70000", VALIDATOR.hotkey, "is not http://ADDRESS:PORT"),
        ("\x1b[31m", VALIDATOR.hotkey, "`\\u001b[31m` is not http://ADDRESS:PORT"),
        ("http://169.254.169.254", VALIDATOR.hotkey, "169.254.169.254 is not a public unicast address - at `URL`"),
    ],
)
def test_what_is_no_miner_is_said_in_one_line(url: str, hotkey: str, said: str) -> None:
    with pytest.raises(TargetError) as refused:
        target_of(url, hotkey)
    assert said in str(refused.value)
    assert str(refused.value).isprintable()


def test_an_address_is_told_from_one_that_validators_call() -> None:
    assert target_of("http://127.0.0.1:8091/", VALIDATOR.hotkey).axon == Axon("127.0.0.1", 8091)
    assert not target_of("http://127.0.0.1", VALIDATOR.hotkey).public
    secure = target_of("https://8.8.8.8", VALIDATOR.hotkey)
    assert (secure.axon, secure.public) == (Axon("8.8.8.8", 443, tls=True), True)
