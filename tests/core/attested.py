"""A store with a settled round, a publishing key in its log, and what is published of it; for tests of attestations."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from world import VALIDATOR, Script, World, few_tasks, honest, one_round

from publisher.keys import newest_statement, statement_for
from publisher.publish import Answer, Published, Publisher
from sssa.attestation.dsse import PublishingKey
from sssa.protocol.receipt import Revocation
from sssa.sources import SeededRandom
from validator.kinds.assessment.supply import Bundles
from validator.store import Store, Transaction, open_store
from validator.store.log import append_link
from validator.tasks.source import TaskSource
from validator.tasks.submitted import next_submitted

SEED = bytes(range(32))
BUNDLE = few_tasks()[0].task.bundle_sha256
OTHER = few_tasks()[1].task.bundle_sha256
PURL = "pkg:pypi/some-skill@1.0.0"
DAYS = 90
PUBLISHES = """
validator.netuid = 1
wallet.uri = "//Validator"
chain.kind = "simulated"
chain.state = "chain.json"
store.url = "sqlite:///{folder}/store.sqlite"
[attestations]
enabled = true
valid_days = 3650
"""
SETTINGS = f"""{PUBLISHES}
submissions = 20
package_manifest = "{{folder}}/packages.json"
"""


class Attested(World):
    """A world that publishes; `publisher` signs with `key`."""

    def __init__(self, store: Store, *, source: TaskSource | None = None, script: Script = honest) -> None:
        super().__init__(store, source=source, script=script)
        self.key = PublishingKey.of_seed(SEED)
        self.publisher = Publisher(self.key, timedelta(days=DAYS), {BUNDLE: PURL}, self.clock)

    async def begin(self, *, vouched: bool = True) -> None:
        """Play a round, retire one of its two bundles, and vouch for the key."""
        await one_round(self)
        await self.retire(BUNDLE)
        if vouched:
            await self.vouch(self.key)

    async def listing(self, tx: Transaction, after: str, most: int) -> list[Answer]:
        """Return answers about so many retired bundles behind a digest, in order."""
        return [await self.publisher.attestation_of(tx, sha256) for sha256 in await tx.retired.after(after, most)]

    async def retire(self, sha256: str) -> None:
        await self.changed(lambda tx: tx.retired.add({sha256}, self.clock.now()))

    async def vouch(self, key: PublishingKey, days: int = 365) -> None:
        """Let the hotkey vouch for a key, in the log."""

        async def append(tx: Transaction) -> int:
            before = await newest_statement(tx)
            statement = statement_for(key, before and before[1], self.clock.now(), days)
            return await append_link(tx, VALIDATOR, self.clock.now(), statement)

        await self.changed(append)

    async def revoke(self, revocation: Revocation) -> None:
        await self.changed(lambda tx: append_link(tx, VALIDATOR, self.clock.now(), revocation))

    async def changed(self, change: Callable[[Transaction], Awaitable[object]]) -> None:
        async with self.store.begin() as tx:
            await change(tx)

    async def answer_of(self, sha256: str = BUNDLE) -> Answer:
        async with self.store.read() as tx:
            return await self.publisher.attestation_of(tx, sha256)

    async def document(self, sha256: str = BUNDLE) -> bytes:
        found = await self.answer_of(sha256)
        assert isinstance(found, Published), found
        return found.document


async def document_in(folder: Path, days: int = DAYS) -> bytes:
    """The document of a round that was played into a new store in a folder, at the beginning of 2026."""
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        world = Attested(store)
        world.publisher.valid = timedelta(days=days)
        await world.begin()
        return await world.document()


def play(folder: Path) -> None:
    """Play a round into a new store in a folder, and retire one of its two bundles."""

    async def begin() -> None:
        async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
            await Attested(store).begin(vouched=False)

    asyncio.run(begin())


def play_submitted(folder: Path) -> None:
    """Play another round there, which has what was submitted."""

    async def begin() -> None:
        async with open_store(f"sqlite:///{folder}/store.sqlite") as store:
            world = Attested(store)
            supply = Bundles(world.source, None, SeededRandom("submitted"), partial(next_submitted, store))
            world.service.preparer = replace(world.preparer, supplies=(supply,))
            await one_round(world)

    asyncio.run(begin())
