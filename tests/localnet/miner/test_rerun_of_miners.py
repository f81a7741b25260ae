"""What local miners claim beside what their image leaves in a real container."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from engine_kit import NOTHING, Registry, forget, left_behind, sandbox_at
from miner_kit import Job, bench, job

from localnet.bundles.written import written_bundles
from localnet.images.build import Image
from localnet.images.hostile.image import hostile_image
from localnet.images.hostile.program import CONDUCTS
from localnet.images.registry import ImageRegistry
from localnet.images.tracer.image import ENTRYPOINT, tracer_image
from localnet.miner.behaviours import Behaviour
from localnet.miner.honest import Thorough
from validator.planting.draws import Draws
from validator.planting.skeletons import draw_skeleton
from validator.protocol.capabilities import SandboxImage
from validator.protocol.limits import MIB
from validator.protocol.probes import probe_values
from validator.protocol.reasons import Reason
from validator.protocol.skill_types import SkillType, is_runtime
from validator.reruns.comparing import Verdict, compare_answer
from validator.reruns.sandbox.containers import ContainerSandbox
from validator.reruns.sandbox.job import Evidence, SandboxFailure, SandboxJob, SandboxLimits
from validator.sources import SeededRandom

pytestmark = pytest.mark.engine

Bundles = Mapping[str, tuple[SkillType, Mapping[str, bytes]]]


@dataclass
class Rig:
    """A sandbox, and where it pulls from."""

    sandbox: ContainerSandbox
    served: ImageRegistry

    def declared(self, image: Image, name: str = "sssa/tracer") -> SandboxImage:
        return self.served.put(name, image)

    async def evidence(self, asked: Job, image: SandboxImage, limits: SandboxLimits) -> Evidence | SandboxFailure:
        nonce = asked.task.nonce
        sandbox_job = SandboxJob(
            image.image, image.digest, asked.task.skill_type, asked.bundle, nonce, probe_values(nonce), limits
        )
        return await self.sandbox.run(sandbox_job)


@asynccontextmanager
async def rig(registry: Registry) -> AsyncIterator[Rig]:
    async with ImageRegistry() as served:
        sandbox = sandbox_at(registry, registries=[served.host])
        try:
            yield Rig(sandbox, served)
        finally:
            await sandbox.close()
            await forget(served.host)


def bundles() -> Bundles:
    """Every bundle that a local network runs: the written ones, and some that are made for canary slots."""
    found = {
        bundle.name: (bundle.skill_type, bundle.files) for bundle in written_bundles() if is_runtime(bundle.skill_type)
    }
    for number in range(6):
        files, _ = draw_skeleton(SkillType.MCP_SERVER, Draws(SeededRandom(f"canary {number}")))
        found[f"canary {number}"] = (SkillType.MCP_SERVER, dict(files))
    return found


async def claimed(behaviour: Behaviour, asked: Job) -> bytes:
    """The answer of a miner that behaves so, as it came over HTTP."""
    async with bench(behaviour) as miner:
        found = await miner.ask(asked)
    assert found.judged.reason.gate == 0
    return found.body


async def verdict(
    asked: Job, body: bytes, there: Rig, image: SandboxImage, limits: SandboxLimits | None = None
) -> Verdict | SandboxFailure:
    """How the answer compares with a run of the image."""
    found = await there.evidence(asked, image, limits or SandboxLimits())
    if isinstance(found, SandboxFailure):
        return found
    return compare_answer("1.1.0", asked.task.skill_type, asked.task.nonce, body, found.files)


@pytest.mark.timeout(600)
async def test_honest_miners_pass_with_every_bundle_that_is_run(registry: Registry) -> None:
    found = {}
    async with rig(registry) as there:
        image = there.declared(tracer_image())
        for name, (skill_type, files) in bundles().items():
            asked = job(files, skill_type)
            result = await verdict(asked, await claimed(Thorough(), asked), there, image)
            assert isinstance(result, Verdict), (name, result)
            similarity = result.report.similarity if result.report else None
            found[name] = (result.event, result.reason, similarity, result.detail)
    assert found == dict.fromkeys(found, ("rerun_pass", "rerun_same", 1.0, ""))
    assert len(found) >= 18


# What each conduct comes to. A talker that then does its work is honest; whoever attacks gets nowhere, and has nothing
# to show for it.
EXPECTED = {
    "copied": ("rerun_fail", Reason.RERUN_FS),
    "no_probes": ("rerun_fail", Reason.RERUN_PROBES),
    "other_writes": ("rerun_fail", Reason.RERUN_FS),
    "sleeps": ("rerun_fail", Reason.RERUN_TRACES),
    "fork_bomb": ("rerun_fail", Reason.RERUN_TRACES),
    "fills_disk": Reason.SANDBOX_EVIDENCE,
    "talks": ("rerun_pass", Reason.RERUN_SAME),
    "calls_out": ("rerun_fail", Reason.RERUN_TRACES),
    "looks_out": ("rerun_fail", Reason.RERUN_TRACES),
}
ENDLESS = {"sleeps", "fork_bomb"}


def script() -> Job:
    (bundle,) = [bundle for bundle in written_bundles() if bundle.name == "script-log-summary"]
    return job(bundle.files, bundle.skill_type)


@pytest.fixture(scope="module")
def honest_answer() -> bytes:
    return asyncio.run(claimed(Thorough(), script()))


def test_every_conduct_is_expected() -> None:
    assert EXPECTED.keys() == CONDUCTS.keys()


@pytest.mark.parametrize("conduct", CONDUCTS)
async def test_what_a_dishonest_image_comes_to(registry: Registry, honest_answer: bytes, conduct: str) -> None:
    asked = script()
    limits = SandboxLimits(wall_s=4.0 if conduct in ENDLESS else 90.0, evidence=MIB)
    async with rig(registry) as there:
        found = await verdict(asked, honest_answer, there, there.declared(hostile_image(conduct)), limits)
    assert (found.reason if isinstance(found, SandboxFailure) else found[:2]) == EXPECTED[conduct]
    left = await left_behind()
    assert [left[name] for name in ("containers", "volumes")] == [NOTHING["containers"], NOTHING["volumes"]]
    assert not [program for program in left["programs"] if " ".join(ENTRYPOINT) in program]


async def test_an_image_that_the_registry_does_not_have_is_a_wrong_digest(
    registry: Registry, honest_answer: bytes
) -> None:
    async with rig(registry) as there:
        image = there.declared(tracer_image())
        wrong = SandboxImage(image.image, "sha256:" + "5e" * 32)
        found = await verdict(script(), honest_answer, there, wrong)
    assert isinstance(found, SandboxFailure)
    assert (found.reason, found.ours) == (Reason.DIGEST_MISMATCH, False)
