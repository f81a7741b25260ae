"""Which types miners declared in the frozen inputs of rounds (SPEC 16, D-23)."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import msgspec
from sqlalchemy import func, select

from validator.protocol.round import RoundInput
from validator.store.errors import DamagedError
from validator.store.repositories.base import Repository
from validator.store.tables import declarations, rounds

_COUNTED: Final = ("settled", "void")
Pair = tuple[str, str]


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

    async def standing(self, after: int | None) -> frozenset[Pair]:
        """Return the (hotkey, skill_type) that are not missing in more than half of the rounds that count.

        Those are the settled and void rounds with an id above `after`; without any, the last round frozen counts.
        Rounds from before declarations were kept (an older program's) do not count.

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
        return frozenset(pair for pair, many in times.items() if 2 * (total - many) <= total)

    async def _get(self, sha256: str) -> Mapping[str, list[str]]:
        blob = await self._scalar(select(declarations.c.document).where(declarations.c.sha256 == sha256))
        if blob is None:
            raise DamagedError(f"the declarations {sha256} of a round are missing")
        return msgspec.json.decode(await self._packing.unpack(blob, sha256), type=dict[str, list[str]])
