"""A validator's side for the local miners' tests: real HTTP, real signatures, the gates as they are."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Container, Mapping
from contextlib import asynccontextmanager
from typing import Any

from miner.analysis import Analysis
from miner.analysis_pool import analyse_bundle
from miner.assessment import Kit
from miner.behaviours import Behaviour
from miner.server import LocalMiner
from miner.tracing import Tracer
from sssa.kinds.assessment.judge import judge
from sssa.kinds.assessment.requests import dispatch_bodies
from sssa.kinds.judging import Expected, Judged, reject
from sssa.protocol.answer import Answer, CanarySpec, Role, answer_limit, parse_answer
from sssa.protocol.archives import pack
from sssa.protocol.bundles import index_bundle, read_bundle, with_canary
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.round import AssessmentTask, Axon
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType, is_runtime
from sssa.protocol.task import Truth, Windows
from sssa.sources import Clock, SystemClock
from validator.miners.client import HttpMinerClient
from validator.outgoing.calls import Call, Reply

VALIDATOR = Signer.from_uri("//Validator")
NONCE = "5eed" * 16
RUNTIME = [skill_type for skill_type in ASSESSED_TYPES if is_runtime(skill_type)]


_analyses: dict[tuple[str, SkillType, str | None], Analysis] = {}


class DirectAnalyses:
    """The reference analysis in a thread, of a bundle once: the same results as the pool's, without its processes."""

    async def analyse(
        self, sha256: str, files: Mapping[str, bytes], skill_type: SkillType, marker: str | None
    ) -> Analysis:
        key = sha256, skill_type, marker
        if key not in _analyses:
            _analyses[key] = await asyncio.to_thread(analyse_bundle, files, skill_type, marker)
        return _analyses[key]


@dataclasses.dataclass(frozen=True)
class Job:
    """A task as dispatched."""

    task: AssessmentTask
    bundle: bytes
    round_id: str = "7"


def job(
    files: Mapping[str, bytes], skill_type: SkillType, *, round_id: str = "7", nonce: str = NONCE, **more: Any
) -> Job:
    canary: CanarySpec | None = more.pop("canary", None)
    truth: Truth | None = more.pop("truth", None)
    bundle = with_canary(files, canary.file, nonce) if canary else pack(files)
    sha256 = sha256_hex(bundle)
    task = AssessmentTask(
        task_id=sha256_hex(f"{round_id}|{sha256}".encode())[:32],
        skill_type=skill_type,
        slot=0,
        source_sha256=sha256_hex(pack(files)),
        bundle_sha256=sha256,
        nonce=nonce,
        windows=Windows(primary=(0.0, 60.0), auditor=(0.0, 60.0)),
        provenance="curated" if truth else "none",
        truth=truth,
        canary=canary,
        index=index_bundle(read_bundle(bundle)),
    )
    return Job(task, bundle, round_id)


@dataclasses.dataclass(frozen=True)
class Asked:
    """Exchange with a miner: the reply as received, its body, and the gates' result."""

    reply: Reply
    body: bytes
    judged: Judged

    @property
    def answer(self) -> Answer:
        return parse_answer(self.body, limit=len(self.body))


class Bench:
    """Asks one miner.

    Args:
        miner: a miner that listens.
        axon: where.
        client: a validator's client.
    """

    def __init__(self, miner: LocalMiner, axon: Axon, client: HttpMinerClient) -> None:
        self.miner = miner
        self.axon = axon
        self.client = client

    async def capabilities(self) -> Reply:
        return await self.client.get(Call(self.miner.hotkey, self.axon, "/v1/capabilities", b"", 30.0, 65_536))

    async def ask(self, asked: Job, role: Role = "primary") -> Asked:
        runtime_primary = role == "primary" and is_runtime(asked.task.skill_type)
        expected = Expected(asked.task, self.miner.hotkey, role, UNPUBLISHED, "1.0.0")
        request = dispatch_bodies(asked.round_id, UNPUBLISHED, asked.task, asked.bundle)[role]
        limit = answer_limit(runtime_primary=runtime_primary)
        call = Call(self.miner.hotkey, self.axon, "/v1/assessments", request, 60.0, limit)
        reply = await self.client.post(call)
        if reply.reason is not None or reply.body is None or reply.seconds is None:
            assert reply.reason is not None
            return Asked(reply, b"", reject(expected, reply.reason, reply.seconds))
        with reply.body as body:
            received = body.read()
        return Asked(reply, received, judge(expected, received, reply.seconds))


@asynccontextmanager
async def bench(  # noqa: PLR0913 - what a miner is made of
    behaviour: Behaviour,
    name: str = "Miner",
    *,
    may_run: Callable[[str], bool] = lambda _: True,
    clock: Clock | None = None,
    validators: Container[str] = frozenset({VALIDATOR.hotkey}),
    server: type[LocalMiner] = LocalMiner,
    **more: Any,
) -> AsyncIterator[Bench]:
    tracer = Tracer(may_run, timeout_s=30)
    kit = Kit(Signer.from_uri(f"//{name}"), DirectAnalyses(), tracer)
    miner = server(kit, behaviour, validators, clock or SystemClock(), **more)
    axon = await miner.start()
    client = HttpMinerClient(VALIDATOR, allow_private=True)
    try:
        yield Bench(miner, axon, client)
    finally:
        await client.close()
        await miner.close()
