"""The trials of a check: written bundles of the declared types, whose truth is known, for both roles (SPEC 1, 13)."""

import gzip
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Final, NamedTuple

import msgspec

from miner.bundles.written import WrittenBundle, written_bundles
from miner.check.report import Section
from miner.goals.goal_files import local_goals
from miner.services.catalogue import Service, ServiceAddress
from sssa.kinds.interface import Request
from sssa.kinds.registry import kind_of
from sssa.protocol import limits
from sssa.protocol.answer import Role
from sssa.protocol.archives import pack_tar
from sssa.protocol.bundles import index_bundle, read_bundle
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.draws import NONCE_BYTES
from sssa.protocol.round import AssessmentTask, RoundTask
from sssa.protocol.runtime_image import UNPUBLISHED, RuntimeImage
from sssa.protocol.skill_types import SkillType, is_runtime
from sssa.protocol.task import Windows
from sssa.scoring import Version
from sssa.sources import RandomBytes
from validator.kinds.assessment.supply import pack_task
from validator.kinds.workflow.supply import goal_task
from validator.tasks.folder import sourced_task

_LATE_START_S: Final = 2.0
_SHORT_S: Final = 5.0
_SOONEST_S: Final = 0.5
_NOISE: Final = 7 * limits.MIB  # bytes that do not compress: all but a MiB of what a compressed bundle may have
_SPARE: Final = limits.MIB // 2  # of the unpacked size, for the skill's own files


class Trial(NamedTuple):
    """One dispatch.

    Attributes:
        round_id: unique, so that an old answer is known for one.
        task: with its truth, which is not sent.
        skill: the written skill's files, for our own run; None where nothing is to be run.
    """

    name: str
    part: Section
    round_id: str
    task: RoundTask
    role: Role
    request: Request
    skill: Mapping[str, bytes] | None = None


class Pace(NamedTuple):
    """The windows of the trials, made of those that a scoring version gives the type (SPEC 1).

    Attributes:
        t_min_s: t_min is at most this.
        deadline_s: a deadline is at most this.
        late_start_s: t_min of the window that begins late.
    """

    t_min_s: float = _SOONEST_S
    deadline_s: float = math.inf
    late_start_s: float = _LATE_START_S

    def windows(self, usual: Windows) -> Windows:
        """Return the windows to send."""
        return Windows(primary=self._window(usual.primary), auditor=self._window(usual.auditor))

    def _window(self, usual: tuple[float, float]) -> tuple[float, float]:
        deadline = min(usual[1], self.deadline_s)
        return min(usual[0], self.t_min_s, deadline / 2), deadline


class Drafts:
    """Makes trials, each with a nonce, a task and its own round."""

    def __init__(self, version: Version, random: RandomBytes, pace: Pace, image: RuntimeImage = UNPUBLISHED) -> None:
        self._version = version
        self._random = random
        self._pace = pace
        self._image = image
        self._rounds = count(1)

    def answers(self, types: Sequence[SkillType]) -> Iterator[Trial]:
        """Yield every written bundle of the types for a primary, and the first of each type for an auditor."""
        for skill_type in types:
            for number, bundle in enumerate(_of(skill_type)):
                yield self._trial(Section.ANSWERS, bundle, "primary")
                if number == 0:
                    yield self._trial(Section.ANSWERS, bundle, "auditor")

    def windows(self, skill_type: SkillType) -> Iterator[Trial]:
        """Yield a window that begins late, for which a miner waits, and a short one, for which it hurries."""
        bundle = _of(skill_type)[0]
        _, usual = self._windows(skill_type).auditor
        start = self._pace.late_start_s
        late = (start, max(usual, 2 * start))
        yield self._trial(Section.WINDOWS, bundle, "auditor", "late start", Windows(primary=late, auditor=late))
        short = (min(_SOONEST_S, usual / 2, start), min(usual, _SHORT_S))
        yield self._trial(Section.WINDOWS, bundle, "auditor", "short window", Windows(primary=short, auditor=short))

    def largest(self, skill_type: SkillType) -> Trial:
        """Return a bundle as large as bundles may be, in bytes and entries; compressed but for a MiB.

        Takes a second.
        """
        round_id, task, small = self._packed(_of(skill_type)[0])
        files = read_bundle(small)
        files |= _filling(len(files), self._random)
        bundle = gzip.compress(pack_tar(files), compresslevel=1, mtime=0)
        task = msgspec.structs.replace(task, bundle_sha256=sha256_hex(bundle), index=index_bundle(files))
        request = kind_of(task).send(round_id, self._image, task, bundle)["auditor"]
        return Trial("largest bundle", Section.LIMITS, round_id, task, "auditor", request)

    def plans(self, services: Mapping[Service, ServiceAddress]) -> Iterator[Trial]:
        """Yield a goal of each type, for plans that run on the services."""
        goals = local_goals(services, self._windows(SkillType.WORKFLOW)).values()
        for kind, goal in sorted({goal.type: goal for goal in reversed(goals)}.items()):
            round_id = str(next(self._rounds))
            task = goal_task(self._version.rules, round_id, 0, goal, self._random.token(NONCE_BYTES))
            request = kind_of(task).send(round_id, self._image, task, None)["primary"]
            yield Trial(f"a goal of {kind}", Section.PLANS, round_id, task, "primary", request)

    def _windows(self, skill_type: SkillType) -> Windows:
        return self._pace.windows(self._version.rules.windows_of(skill_type))

    def _trial(
        self, part: Section, bundle: WrittenBundle, role: Role, name: str = "", windows: Windows | None = None
    ) -> Trial:
        round_id, task, packed = self._packed(bundle, windows)
        request = kind_of(task).send(round_id, self._image, task, packed)[role]
        run = bundle.files if role == "primary" and is_runtime(bundle.skill_type) else None
        return Trial(name or bundle.name, part, round_id, task, role, request, run)

    def _packed(self, bundle: WrittenBundle, windows: Windows | None = None) -> tuple[str, AssessmentTask, bytes]:
        """Return a round, and the task and bundle that it dispatches."""
        round_id = str(next(self._rounds))
        sourced = sourced_task(bundle.task(windows or self._windows(bundle.skill_type)), bundle.packed())
        packed = pack_task(self._version.rules, round_id, 0, sourced, self._random.token(NONCE_BYTES))
        if packed is None or packed.bundle is None or not isinstance(packed.task, AssessmentTask):
            raise RuntimeError(f"{bundle.name} cannot be packed")
        return round_id, packed.task, packed.bundle


def _of(skill_type: SkillType) -> tuple[WrittenBundle, ...]:
    """Return a type's written bundles, those that are not safe first: they have something to find."""
    own = (bundle for bundle in written_bundles() if bundle.skill_type is skill_type)
    return tuple(sorted(own, key=lambda bundle: bundle.truth.verdict == "ALLOW"))


def _filling(files: int, random: RandomBytes) -> Mapping[str, bytes]:
    """Return files that take a bundle of `files` files to its limits."""
    left = limits.MAX_BUNDLE_EXPANDED - _NOISE - _SPARE
    large = {"attic/noise.bin": hashlib.shake_256(random.token(NONCE_BYTES)).digest(_NOISE)}
    while left > 0:
        size = min(left, limits.MAX_BUNDLE_FILE)
        large[f"attic/zeros-{len(large)}.bin"] = bytes(size)
        left -= size
    empty = limits.MAX_BUNDLE_ENTRIES - files - len(large)
    return large | {f"attic/empty/{number:04}.txt": b"" for number in range(empty)}
