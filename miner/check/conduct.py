"""A whole `validator miner check`, over HTTP: the declaration, then every trial."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

from miner.bundles.written import written_bundles
from miner.check.judging import Judge
from miner.check.report import Declared, Fault, Outcome, Report, Section
from miner.check.target import Target
from miner.check.trials import Drafts, Pace, Trial
from miner.services.service_server import LocalServices
from miner.tracing import Tracer
from sssa.protocol import typed
from sssa.protocol.capabilities import Capabilities
from sssa.protocol.runtime_image import UNPUBLISHED, RuntimeImage
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.scoring import CURRENT, version
from sssa.sources import Clock, RandomBytes
from validator.kinds.workflow.executor import PlanRunner
from validator.kinds.workflow.http import HttpStepClient
from validator.miners.client import HttpMinerClient, axon_url
from validator.miners.directory import Refused, ask_declaration
from validator.workers.interface import Workers

_RUN_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a check.

    Attributes:
        types: of the declared ones, those to ask for; none: all.
    """

    types: Collection[SkillType] = ()
    sections: Collection[Section] = tuple(Section)
    pace: Pace = field(default_factory=Pace)
    image: RuntimeImage = UNPUBLISHED


@dataclass(frozen=True, slots=True)
class Tools:
    """Dependencies of a check."""

    signer: Signer
    workers: Workers
    clock: Clock
    random: RandomBytes


async def check_miner(target: Target, options: Options, tools: Tools, report_end: Callable[[str], None]) -> Report:
    """Return what a validator would say of the miner, without a chain; `report_end` gets names of ended requests."""
    async with AsyncExitStack() as stack:
        client = HttpMinerClient(tools.signer, allow_private=True)
        stack.push_async_callback(client.close)
        heard = await ask_declaration(client, tools.workers, tools.clock, target.hotkey, target.axon)
        report_end("declaration")
        if isinstance(heard, Refused):
            return _report(target, tools, None, (Fault.of(heard.reason, heard.detail),), ())
        document = typed.decode(heard.document, Capabilities)
        steps = HttpStepClient(tools.signer, allow_private=True)
        stack.push_async_callback(steps.close)
        own = {one.task().bundle_sha256 for one in written_bundles()}
        judge = Judge(
            client=client,
            workers=tools.workers,
            runners={"workflow": PlanRunner(steps, tools.clock, tools.workers)},
            tracer=Tracer(own.__contains__, timeout_s=_RUN_S),
            version=version(CURRENT),
        )
        outcomes = await _outcomes(target, options, tools, report_end, document, judge, stack)
    return _report(target, tools, document, _unasked(document, options, sent=len(outcomes)), outcomes)


async def _outcomes(  # noqa: PLR0913, PLR0917 - all that a check is made of
    target: Target,
    options: Options,
    tools: Tools,
    report_end: Callable[[str], None],
    document: Capabilities,
    judge: Judge,
    stack: AsyncExitStack,
) -> tuple[Outcome, ...]:
    """Send the trials: as many at once as the miner takes, the largest bundle alone and last."""
    drafts = Drafts(judge.version, tools.random, options.pace, options.image)
    types = [one for one in document.usable_types if not options.types or one in options.types]
    assessed = [one for one in ASSESSED_TYPES if one in types]
    cheapest = assessed[:1]  # its answers take least
    trials: list[Trial] = []
    if Section.ANSWERS in options.sections:
        trials += await asyncio.to_thread(list, drafts.answers(assessed))
    if Section.WINDOWS in options.sections:
        trials += [trial for one in cheapest for trial in drafts.windows(one)]
    if Section.PLANS in options.sections and SkillType.WORKFLOW in types:
        services = LocalServices("miner-check", {tools.signer.hotkey}, tools.clock, faults=False)
        stack.push_async_callback(services.close)
        trials += drafts.plans(await services.start())
    turns: dict[SkillType, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(document.concurrency))

    async def ask(trial: Trial) -> Outcome:
        async with turns[trial.task.skill_type]:
            outcome = await judge.ask(target, options.image, trial)
        report_end(trial.name)
        return outcome

    done = await asyncio.gather(*map(ask, trials))
    if Section.LIMITS in options.sections:
        done += [await ask(await asyncio.to_thread(drafts.largest, one)) for one in cheapest]
    return tuple(done)


def _unasked(document: Capabilities, options: Options, sent: int) -> tuple[Fault, ...]:
    """Return a fault for types that were to be checked and are not declared, or where nothing could be sent at all."""
    missing = [one for one in SkillType if one in options.types and one not in document.skill_types]
    if missing:
        meaning = "Types that were to be checked are not declared, so a validator sends none of them."
        return (Fault("not_declared", None, meaning, f"{', '.join(missing)} - at `skill_types`"),)
    if sent:
        return ()
    return (Fault("nothing_sent", None, "Nothing was sent: of what is declared nothing has a part of --only."),)


def _report(
    target: Target,
    tools: Tools,
    document: Capabilities | None,
    faults: tuple[Fault, ...],
    outcomes: tuple[Outcome, ...],
) -> Report:
    return Report(
        url=str(axon_url(target.axon, "", allow_private=True)),
        hotkey=target.hotkey,
        caller=tools.signer.hotkey,
        scoring_version=CURRENT,
        public=target.public,
        declared=None if document is None else Declared(document.usable_types, document.concurrency),
        faults=faults,
        outcomes=outcomes,
    )
