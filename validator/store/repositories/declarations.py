"""Which types miners declared in the frozen inputs of rounds (SPEC 16, D-23)."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from sqlalchemy import func, select

from validator.protocol import typed
from validator.protocol.round import RoundInput
from validator.store.errors import DamagedError
from validator.store.repositories.base import Repository
from validator.store.tables import declarations, rounds

_COUNTED: Final = ("settled", "void")
Pair = tuple[str, str]


class Declared(NamedTuple):
    """In how many of so many rounds each (hotkey, skill_type) was declared."""

    rounds: int
    times: Mapping[Pair, int]

    def holds(self, hotkey: str, skill_type: str) -> bool:
        """Whether the type is not missing in more than half of the rounds."""
        times = self.times.get((hotkey, skill_type), 0)
        return times > 0 and 2 * (self.rounds - times) <= self.rounds


class Declarations(Repository):
    """Who declared what, by round."""

    async def put(self, round_input: RoundInput) -> str:
        """Keep what a frozen input says of declarations; return the sha256 that its round names."""
        declared: dict[str, list[str]] = {}
        for miner in round_input.miners:
            for skill_type in miner.skill_types:
                declared.setdefault(str(skill_type), []).append(miner.hotkey)
        data, sha256 = await self._packing.canonical({name: sorted(hotkeys) for name, hotkeys in declared.items()})
        row = {"sha256": sha256, "document": await self._packing.pack(data)}
        await self._insert_new(declarations, row)
        return sha256

    async def since(self, after: int | None) -> Declared:
        """Return who declared what how often in the rounds that count.

        Those are the settled and void rounds with an id above `after`; without any, the last round frozen counts.

        Args:
            after: the newest round frozen when the previous vector was computed; None: there was none.

        Raises:
            DamagedError: what is stored is not what was stored.
        """
        r = rounds.c
        counted = select(r.declared_sha256, func.count().label("rounds")).where(
            r.state.in_(_COUNTED), r.declared_sha256.is_not(None)
        )
        if after is not None:
            counted = counted.where(r.round_id > after)
        found = {row.declared_sha256: row.rounds for row in await self._all(counted.group_by(r.declared_sha256))}
        if not found:
            newest = select(r.declared_sha256).where(r.declared_sha256.is_not(None)).order_by(r.round_id.desc())
            sha256 = await self._scalar(newest.limit(1))
            found = {} if sha256 is None else {sha256: 1}
        total, times = sum(found.values()), Counter[Pair]()
        for sha256, many in found.items():
            for skill_type, hotkeys in (await self._get(sha256)).items():
                for hotkey in hotkeys:
                    times[hotkey, skill_type] += many
        return Declared(total, times)

    async def _get(self, sha256: str) -> Mapping[str, list[str]]:
        blob = await self._scalar(select(declarations.c.document).where(declarations.c.sha256 == sha256))
        if blob is None:
            raise DamagedError(f"the declarations {sha256} of a round are missing")
        return typed.decode(await self._packing.unpack(blob, sha256), dict[str, list[str]])
