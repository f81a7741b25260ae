"""A whole `validator miner check`, over HTTP: the declaration, every trial, then what strangers might send."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from miner.bundles.written import written_bundles
from miner.check.advice import advice_of
from miner.check.judging import Judge
from miner.check.report import Declared, Fault, Outcome, Report, Section, StrangerOutcome
from miner.check.signed import mistake_in
from miner.check.strangers import strangers, visit
from miner.check.target import Target
from miner.check.trials import Drafts, Pace, Trial, cheapest
from miner.goals.goal_files import local_goals
from miner.services.service_server import LocalServices
from miner.tracing import RunPolicy, Tracer
from validator.kinds.workflow.executor import PlanRunner
from validator.kinds.workflow.http import HttpStepClient
from validator.miners.client import HttpMinerClient, axon_url
from validator.miners.directory import Refused, ask_declaration
from validator.protocol import typed
from validator.protocol.capabilities import Capabilities
from validator.protocol.runtime_image import UNPUBLISHED, RuntimeImage
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.scoring import CURRENT, version
from validator.sources import Clock, RandomBytes
from validator.workers.interface import Workers

SECTIONS: Final[tuple[Section, ...]] = tuple(Section)
_SERVICES: Final = "miner-check"
_RUN_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a check.

    Attributes:
        types: of the declared ones, those to ask for; none: all.
    """

    types: Collection[SkillType] = ()
    sections: Collection[Section] = SECTIONS
    pace: Pace = field(default_factory=Pace)
    image: RuntimeImage = UNPUBLISHED


@dataclass(frozen=True, slots=True)
class Tools:
    """Dependencies of a check."""

    signer: Signer
    workers: Workers
    clock: Clock
    random: RandomBytes


async def check_miner(target: Target, options: Options, tools: Tools, told: Callable[[str], None]) -> Report:
    """Return what a validator would say of the miner, without a chain; `told` gets the names of ended requests."""
    async with AsyncExitStack() as stack:
        client = HttpMinerClient(tools.signer, allow_private=True)
        stack.push_async_callback(client.close)
        heard = await ask_declaration(client, tools.workers, tools.clock, target.hotkey, target.axon)
        told("declaration")
        if isinstance(heard, Refused):
            advice = advice_of(heard.reason, heard.status, tools.signer.hotkey)
            gate, meaning = heard.reason.gate or None, heard.reason.meaning
            mistake = await mistake_in(lambda: heard.said, heard.reason, target.hotkey, tools.workers)
            detail = f"{heard.detail}. {mistake}" if mistake else heard.detail
            fault = Fault(str(heard.reason), gate, meaning, detail, advice.field, advice.todo)
            return _report(target, tools, None, (fault,))
        document = typed.decode(heard.document, Capabilities)
        judge = await stack.enter_async_context(_judge(client, tools))
        check = _Check(target, options, tools, told, document, judge)
        outcomes = await check.outcomes(stack)
        visited = await check.visits()
    faults = _unasked(document, options, sent=len(outcomes) + len(visited))
    return _report(target, tools, document, faults, outcomes, visited)


@asynccontextmanager
async def _judge(client: HttpMinerClient, tools: Tools) -> AsyncIterator[Judge]:
    ours = RunPolicy(bundle.task().bundle_sha256 for bundle in written_bundles())
    steps = HttpStepClient(tools.signer, allow_private=True)
    runner = PlanRunner(steps, tools.clock, tools.workers)
    try:
        yield Judge(
            client=client,
            caller=tools.signer.hotkey,
            workers=tools.workers,
            runners={"workflow": runner},
            tracer=Tracer(ours, timeout_s=_RUN_S),
            version=version(CURRENT),
        )
    finally:
        await steps.close()


@dataclass(frozen=True, slots=True)
class _Check:
    """A check of a miner whose declaration counts."""

    target: Target
    options: Options
    tools: Tools
    told: Callable[[str], None]
    document: Capabilities
    judge: Judge

    @property
    def types(self) -> tuple[SkillType, ...]:
        wanted = self.options.types or tuple(SkillType)
        return tuple(one for one in self.document.usable_types if one in wanted)

    @property
    def drafts(self) -> Drafts:
        return Drafts(self.judge.version, self.tools.random, self.options.pace, self.options.image)

    async def outcomes(self, stack: AsyncExitStack) -> list[Outcome]:
        """Send what is judged: as many at once as the miner takes, the largest bundle alone and last."""
        drafts = self.drafts
        trials = await asyncio.to_thread(self._assessments, drafts)
        if Section.PLANS in self.options.sections and SkillType.WORKFLOW in self.types:
            trials += await self._plans(drafts, stack)
        largest = await asyncio.to_thread(self._largest, drafts)
        turns: dict[SkillType, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(self.document.concurrency))
        done = await asyncio.gather(*(self._ask(trial, turns[trial.task.skill_type]) for trial in trials))
        return [*done, *[await self._ask(trial, asyncio.Semaphore()) for trial in largest]]

    async def visits(self) -> list[StrangerOutcome]:
        """Send what no validator sends, one after the other."""
        cheap = cheapest(self.types)
        if cheap is None or Section.STRANGERS not in self.options.sections:
            return []
        trial = next(one for one in self.drafts.answers([cheap]) if one.role == "auditor")
        wrong = strangers(trial, self.tools.signer, Signer.from_uri(f"//{self.tools.random.token(16).hex()}"))
        done = []
        for one in wrong:
            done.append(await visit(self.target, trial.request.path, one))
            self.told(one.request)
        return done

    async def _ask(self, trial: Trial, turns: asyncio.Semaphore) -> Outcome:
        async with turns:
            outcome = await self.judge.ask(self.target, self.options.image, trial)
        self.told(trial.name)
        return outcome

    def _assessments(self, drafts: Drafts) -> list[Trial]:
        assessed = [one for one in self.types if one in ASSESSED_TYPES]
        cheap = cheapest(assessed)
        trials = list(drafts.answers(assessed)) if Section.ANSWERS in self.options.sections else []
        if cheap is not None and Section.WINDOWS in self.options.sections:
            trials += drafts.windows(cheap)
        return trials

    def _largest(self, drafts: Drafts) -> list[Trial]:
        cheap = cheapest(self.types)
        return [drafts.largest(cheap)] if cheap is not None and Section.LIMITS in self.options.sections else []

    async def _plans(self, drafts: Drafts, stack: AsyncExitStack) -> list[Trial]:
        services = LocalServices(_SERVICES, {self.tools.signer.hotkey}, self.tools.clock, faults=False)
        stack.push_async_callback(services.close)
        goals = local_goals(await services.start(), drafts.plan_windows())
        of_each = {goal.type: goal for goal in reversed(goals.values())}
        return [drafts.plan(goal, f"a goal of {kind}") for kind, goal in sorted(of_each.items())]


def _unasked(document: Capabilities, options: Options, sent: int) -> tuple[Fault, ...]:
    """Return a fault for types that were to be checked and are not declared, or where nothing could be sent at all."""
    missing = [one for one in SkillType if one in options.types and one not in document.skill_types]
    if missing:
        said = f"{', '.join(missing)} - at `skill_types`"
        meaning = "Types that were to be checked are not declared, so a validator sends none of them."
        return (Fault("not_declared", None, meaning, said, "skill_types", "declare them, or leave them out of --type"),)
    if sent:
        return ()
    meaning = "Nothing was sent: of what is declared nothing has such a part."
    todo = "declare a type, or name other parts with --only"
    return (Fault("nothing_sent", None, meaning, "", "skill_types", todo),)


def _report(  # noqa: PLR0913, PLR0917 - all that a check came to
    target: Target,
    tools: Tools,
    document: Capabilities | None,
    faults: tuple[Fault, ...],
    outcomes: Sequence[Outcome] = (),
    visited: Sequence[StrangerOutcome] = (),
) -> Report:
    declared = None
    if document is not None:
        declared = Declared(document.usable_types, document.concurrency)
    return Report(
        url=str(axon_url(target.axon, "", allow_private=True)),
        hotkey=target.hotkey,
        caller=tools.signer.hotkey,
        scoring_version=CURRENT,
        public=target.public,
        declared=declared,
        faults=faults,
        outcomes=tuple(outcomes),
        strangers=tuple(visited),
    )
