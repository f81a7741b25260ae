"""What the rounds of a log leave of who was assigned as what: the histories in a later input (SPEC 8).

An assignment that is void alone counts for the roles (D-26). A round without an answers line does not tell which were:
there a role may stand in a history, or not.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from validator.audit.log.declared import Pair
from validator.audit.log.documents import Planned
from validator.protocol.answer import Role
from validator.protocol.reasons import OURS
from validator.protocol.round import MinerState, RoundOutcome, RoundResults
from validator.protocol.skill_types import SkillType
from validator.store.records import MAX_ROLES, task_state

_KEPT: Final = 2 * MAX_ROLES  # entries of a pair; each is one of the letters below
_PRIMARY, _AUDITOR, _EITHER = "pax"
_ROLES: Final = {_PRIMARY: ("primary",), _AUDITOR: ("auditor",), _EITHER: ("primary", "auditor")}


@dataclass(slots=True)
class Histories:
    """Roles by (hotkey, skill type), newest first: a letter for each round, a capital one where it may be missing.

    Attributes:
        clouded: a round was read whose plan nobody can read: from then on roles are taken at their word.
    """

    clouded: bool = False
    _roles: dict[Pair, str] = field(default_factory=dict)

    def fault(self, miner: MinerState, *, whole: bool) -> SkillType | None:
        """Return the first type whose roles in an input do not follow from the rounds before it; learn unknown ones.

        Args:
            miner: of the input.
            whole: the file shows all rounds, so that nobody has a past which it does not tell.
        """
        for name in SkillType:
            told = miner.history[name].recent_roles if name in miner.history else ()
            known = self._roles.get((miner.hotkey, str(name)), "" if whole else None)
            if known is None or self.clouded:
                self._roles[miner.hotkey, str(name)] = "".join(
                    _PRIMARY if role == "primary" else _AUDITOR for role in told[:_KEPT]
                )
            elif not _follows(told, known):
                return name
        return None

    def settle(self, planned: Planned, results: RoundResults, outcome: RoundOutcome) -> None:
        """Take in a round that settled."""
        settled = {group.task_id for group in outcome.groups if task_state(group.reason) == "settled"}
        alone = {(one.task_id, one.hotkey) for one in results.alone if one.reason in OURS}
        sure: defaultdict[Pair, set[Role]] = defaultdict(set)
        maybe: defaultdict[Pair, set[Role]] = defaultdict(set)
        for task_id, pair, role in _assigned(planned):
            (sure if task_id in settled or (task_id, pair[0]) in alone else maybe)[pair].add(role)
        self._add(sure, maybe)

    def unsettled(self, planned: Planned | None) -> None:
        """Take in a round that ended in another way; None: nobody can read its plan."""
        if planned is None:
            self.clouded = True
            return
        maybe: defaultdict[Pair, set[Role]] = defaultdict(set)
        for _, pair, role in _assigned(planned):
            maybe[pair].add(role)
        self._add({}, maybe)

    def _add(self, sure: dict[Pair, set[Role]], maybe: dict[Pair, set[Role]]) -> None:
        for pair in sorted({*sure, *maybe}):
            entry = _entry(sure.get(pair, set()), maybe.get(pair, set()))
            self._roles[pair] = (entry + self._roles.get(pair, ""))[:_KEPT]


def _assigned(planned: Planned) -> Iterator[tuple[str, Pair, Role]]:
    for task, group in zip(planned.frozen.tasks, planned.plan.groups, strict=True):
        for hotkey, role in group.members:
            yield task.task_id, (hotkey, str(task.skill_type)), role


def _entry(sure: set[Role], maybe: set[Role]) -> str:
    if "primary" in sure:
        return _PRIMARY
    if sure:
        return _EITHER if "primary" in maybe else _AUDITOR
    return (_EITHER if len(maybe) > 1 else _PRIMARY if "primary" in maybe else _AUDITOR).upper()


def _follows(told: Sequence[Role], known: str) -> bool:
    """Whether a history of roles is one that these entries leave."""
    places = {0}
    for role in told:
        places = {after for place in places for after in _after(known, place, role)}
        if not places:
            return False
    cut = len(told) >= MAX_ROLES or len(known) >= _KEPT
    return cut or any(known[place:].isupper() or place == len(known) for place in places)


def _after(known: str, place: int, role: Role) -> Iterator[int]:
    """Yield the places behind every entry that may be the next one's, `role`."""
    for i in range(place, len(known)):
        if role in _ROLES[known[i].lower()]:
            yield i + 1
        if not known[i].isupper():
            return
