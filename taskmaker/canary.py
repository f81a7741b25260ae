"""Canaries of live rounds: bundles that the generator of planted tasks makes on the spot, with their truth (D-33).

No miner can tell them by form from tasks that `validator tasks seed` made of the same bases; docs/security.md says what
it can tell.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from sssa.protocol.draws import NONCE_BYTES
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Windows
from sssa.protocol.text import printable
from sssa.sources import Draws, RandomBytes, SeededRandom
from taskmaker.packing import pack_task
from taskmaker.planting.shapes import NOTHING_OWN, Own, builtin_shapes, company_with, shapes_with
from taskmaker.planting.skeletons import draw_skeleton
from taskmaker.planting.templates import TemplateError
from taskmaker.seeding import Base, base_of, planted_task
from validator.settings.model import TasksSettings
from validator.tasks.directory import DirectorySource
from validator.tasks.source import Shuffled, SourcedTask, TaskError, TaskSource, TaskSourceError
from validator.tasks.task_maker import CanaryMaker
from validator.workers.interface import Budget, Here, TooCostlyError, Whose, Workers, WorkersError
from validator.workers.pool import WorkerPool

_TRIES: Final = 3  # bases that are drawn, for one that faults can be planted in
_SEED_BYTES: Final = 32
_BUDGET: Final = Budget(cpu_s=4.0)  # half a second is what large bundles of ordinary code take
_log = structlog.get_logger()


def make_canary(  # noqa: PLR0913 - everything that a canary is made of
    skill_type: SkillType,
    random: RandomBytes,
    windows: Windows | None = None,
    base: Base | None = None,
    wanted: int | None = None,
    *,
    own: Own = NOTHING_OWN,
) -> SourcedTask:
    """Return a new canary task, with or without faults by a draw: provenance `canary`, its truth and its nonce.

    Args:
        skill_type: one of the six assessed types.
        random: what everything is drawn from.
        windows: of a canary without a base; None for the standard profile.
        base: the benign bundle that it is made of; None to draw one from the built-in skeletons.
        wanted: how many faults; None to draw that as well.
        own: shapes and domains of the owner.

    Raises:
        TaskError: nothing can be made of the base.
    """
    draws, nonce = Draws(random), random.token(NONCE_BYTES)
    chosen = base or _drawn(skill_type, draws, windows)
    # Everybody in the group has the nonce: what a mark follows from must not follow from it alone.
    marking = Draws(SeededRandom(f"mark|{nonce.hex()}|{random.token(_SEED_BYTES).hex()}"))
    made, _ = planted_task(
        chosen, draws, shapes_with(own), "canary", wanted=wanted, marking=marking, company=company_with(own)
    )
    return replace(made, nonce=nonce)


def is_harmless(made: SourcedTask) -> bool:
    """Return whether a task is known to contain no planted fault."""
    truth = made.task.truth
    return truth is not None and truth.findings == ()


def _drawn(skill_type: SkillType, draws: Draws, windows: Windows | None) -> Base:
    files, marked = draw_skeleton(skill_type, draws)
    return Base("skeleton", "", files, skill_type, windows, marked, None)


def canary_of(sourced: SourcedTask, seed: str, own: Own = NOTHING_OWN) -> SourcedTask:
    """Return a canary of a benign task: the same for the same seed. Reads what strangers wrote: call it in a worker.

    Raises:
        TaskError: it is no benign task, or nothing can be made of it.
    """
    base = base_of(sourced, sourced.task.bundle_sha256)
    return make_canary(base.skill_type, SeededRandom(seed), base=base, own=own)


def planting_workers() -> Workers:
    """Return a pool for one canary; no process runs yet."""
    return WorkerPool(1, preload=(__name__,), budget=_BUDGET)


class Canaries:
    """Makes canary tasks of every type.

    Args:
        bases: benign tasks that they are made of, one drawn for each; None for the built-in skeletons, which also stand
            in for types of which it has none (logged, `canary_built_in`).
        windows: of canaries without a base; None for the standard profile. Others have those of their base.
        workers: makes what a base is read in and planted in: packages that strangers wrote may be dear to read. It is
            closed after each canary. `Here` bounds nothing.
        own: shapes and domains of the owner.
    """

    def __init__(
        self,
        random: RandomBytes,
        bases: TaskSource | None = None,
        windows: Windows | None = None,
        workers: Callable[[], Workers] = Here,
        own: Own = NOTHING_OWN,
    ) -> None:
        self._random = random
        self._bases = bases
        self._windows = windows
        self._workers = workers
        self._own = own
        self._costly: set[str] = set()
        self._without_base: set[SkillType] = set()

    async def make(self, skill_type: SkillType) -> SourcedTask | None:
        """Return a canary of the type; None where none could be made, which is logged (`canary_failed`)."""
        for _ in range(_TRIES):
            try:
                base = await self._base(skill_type)
                if base is None:
                    draw = partial(make_canary, skill_type, self._random, self._windows, own=self._own)
                    return await asyncio.to_thread(draw)
                return await self._planted(base)
            except (TaskSourceError, WorkersError) as error:  # another base is not to be had either
                self._failed(skill_type, error.detail)
                break
            except TaskError as error:
                self._failed(skill_type, error.detail)
            except Exception as error:  # noqa: BLE001 - what a shape cannot read in a bundle must not end the rounds
                self._failed(skill_type, repr(error))
        return None

    async def _base(self, skill_type: SkillType) -> SourcedTask | None:
        if self._bases is None:
            return None
        for sourced in await self._bases.fetch(skill_type, 1, Shuffled(self._random)):
            self._without_base.discard(skill_type)
            return sourced
        if skill_type not in self._without_base:
            self._without_base.add(skill_type)
            _log.warning("canary_built_in", skill_type=str(skill_type))
        return None

    async def _planted(self, base: SourcedTask) -> SourcedTask:
        sha256, seed = base.task.bundle_sha256, self._random.token(_SEED_BYTES).hex()
        if sha256 in self._costly:
            raise TaskError(f"`{sha256}` was too costly before")
        workers = self._workers()
        try:
            return await workers.run(Whose("", sha256), lambda: partial(canary_of, base, seed, self._own))
        except TooCostlyError as error:
            self._costly.add(sha256)
            raise TaskError(f"`{sha256}` is too costly to plant in: {error.detail}") from None
        finally:
            await workers.close()

    def _failed(self, skill_type: SkillType, reason: str) -> None:
        _log.warning("canary_failed", skill_type=str(skill_type), reason=printable(reason, 500))


class InstalledMaker:
    """The maker of this distribution; see `TaskMaker`."""

    def canaries(self, tasks: TasksSettings, random: RandomBytes, windows: Windows | None) -> CanaryMaker:
        """Return what makes canaries (TaskError: a shape cannot be used)."""
        try:
            self.own_shapes(tasks.shapes)
        except TaskError as error:
            raise TaskError(f"tasks.shapes: {error.detail}") from None
        bases = None if tasks.bases is None else DirectorySource(tasks.bases)
        return Canaries(random, bases, windows, planting_workers, Own(tasks.shapes, tasks.domains)).make

    def own_shapes(self, folder: Path | None) -> int:
        """Return the number of the operator's shapes (TaskError: one cannot be used)."""
        try:
            return len(shapes_with(Own(folder))) - len(builtin_shapes())
        except TemplateError as error:
            raise TaskError(error.detail) from None

    def packed_digest(self, what: str) -> tuple[str, tuple[str, ...]]:
        """Return the digest of a folder or archive as packed, and the names that are left out (TaskError)."""
        packed = pack_task(what)
        return packed.task.task.bundle_sha256, packed.left_out

    def require_base(self, sourced: SourcedTask, name: str) -> None:
        """Check that faults can be planted in a task (TaskError: not in this one)."""
        base_of(sourced, name)


MAKER: Final = InstalledMaker()
