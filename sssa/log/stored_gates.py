"""Gates of stored answers, which are judged again from their bytes. No I/O."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec
from msgspec import UNSET

from sssa.kinds.judging import Judged, expected_of
from sssa.kinds.registry import kind_of
from sssa.protocol.answer import Role
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.differences import first_difference
from sssa.protocol.results import Packed, Rejection
from sssa.protocol.round import RoundInput, RoundTask
from sssa.scoring import version


@dataclass(slots=True)
class StoredGates:
    """Judges stored answers to a task of a round, one after the other."""

    frozen: RoundInput
    task: RoundTask
    _judged: dict[str, Judged] = field(default_factory=dict)

    def judge(self, hotkey: str, role: Role, body: bytes, seconds: float, stored: Packed | Rejection | None) -> None:
        """Send an answer through its gates; a run cannot be had again, so that of `stored` is used."""
        expected = expected_of(self.frozen, self.task, hotkey, role)
        judged = kind_of(self.task).judge(expected, body, seconds)
        self._judged[hotkey] = judged if isinstance(judged, Judged) else judged.as_ran(expected, seconds, stored)

    def judgements(self) -> dict[str, Packed | Rejection]:
        """Return the judgements by hotkey, with gate 7 filled in from the answers that were judged."""
        results = {hotkey: judged.result for hotkey, judged in self._judged.items()}
        return results | kind_of(self.task).completed(version(self.frozen.scoring_version), self._judged)

    def differences(self, stored: Mapping[str, Packed | Rejection]) -> Iterator[tuple[str, str]]:
        """Yield the hotkey and the path of each judgement that differs from the stored one.

        Gate 7 counts where all witnesses were judged; what rests on a truth counts where that is shown.
        """
        again = self.judgements()
        partial = any(
            isinstance(one, Packed) and one.is_witness(self.task.skill_type) and hotkey not in again
            for hotkey, one in stored.items()
        )
        for hotkey in (name for name in again if name in stored):
            before, now = (self._comparable(one[hotkey], partial=partial) for one in (stored, again))
            if before != now:
                pair = [canonical_bytes(one.unpacked() if isinstance(one, Packed) else one) for one in (before, now)]
                difference = first_difference(*map(msgspec.json.decode, pair))
                if difference is not None:
                    yield hotkey, difference.path

    def _comparable(self, one: Packed | Rejection, *, partial: bool) -> Packed | Rejection:
        """Return a judgement without the fields that rest on missing answers or a hidden truth."""
        if isinstance(one, Rejection):
            return one
        one = one.with_subset(None) if partial and one.run is None else one
        if self.task.truth_sha256 is UNSET:
            return one
        return one._replace(fields={**one.fields, ("shell_commands" if one.run is None else "quality"): None})
