"""Cases of `validator score` for version 2.0.0: turns, groups, entries and weights (SPEC 17).

Pure. Each function refuses what its form cannot say by SchemaError, naming the field.
"""

from collections.abc import Sequence
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta

from sssa.cli.cases import Case, check_attestation, plan_document, refuse_repeated, require_types
from sssa.protocol.answer import Id, Role
from sssa.protocol.limits import MAX_CASE_MEMBERS
from sssa.protocol.round import GroupPlan
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.sssa import Document, Hex32, Sssa, Text, Unit
from sssa.protocol.strict_json import SchemaError
from sssa.protocol.tallies import NO_RECORD, Count, Presence, Record, Tally
from sssa.protocol.task import Truth, check_truth
from sssa.scoring import (
    Candidate,
    LastTurn,
    MinerStanding,
    PayBasis,
    TalliedAnswer,
    TallyPay,
    TurnCandidate,
    Version20,
    next_turns,
    tally_task,
    version,
)
from sssa.state.tallies import presence_after

Entry = Annotated[float, Meta(ge=0, le=1_000_000)]  # far above any emission, far below where sums overflow


class FrozenTurn(Document, frozen=True):
    """Turn and presence of a miner as last frozen for a type, and their result.

    Attributes:
        dispatched: dispatches of the round's plan; of these `entered` gave a tally, and `uncounted` count nowhere.
        stayed: that was the newest round, and its plan excluded the miner for no other reason than `in_flight`.
        absent: rounds frozen since the newest one that had it as a candidate.
    """

    turn: Count
    asked: Count
    answered: Count
    dispatched: Count
    entered: Count
    uncounted: Count
    stayed: bool
    absent: Count

    @property
    def last(self) -> LastTurn:
        """The same after the round."""
        presence = presence_after(Presence(self.asked, self.answered), self.dispatched - self.uncounted, self.entered)
        return LastTurn(self.turn + self.dispatched, presence, self.stayed, self.absent)


class TurnsCase(Case, frozen=True):
    """Turns of one type as last frozen, and the candidates of the round to come."""

    previous: dict[Text, FrozenTurn]
    candidates: tuple[Text, ...]


class TurnSelectionCase(Case, frozen=True):
    """A frozen pool; `seed` is the hex of round_seed."""

    candidates: tuple[TurnCandidate, ...]
    round_id: Id
    seed: Hex32
    skill_type: SkillType
    task_id: Id


class TallyMember(Document, frozen=True):
    """A member of a task's group; `sssa` null means that a gate failed."""

    hotkey: Text
    role: Role
    sssa: Sssa | None
    early: bool
    epsilon: Unit | None
    record: Record
    curated: Record = NO_RECORD


class TallyCase(Case, frozen=True):
    """One task's group; `truth` null without one, `planted`: made here for the round, `first`: of its source bundle."""

    task_id: Text
    truth: Truth | None
    planted: bool
    members: Annotated[tuple[TallyMember, ...], Meta(max_length=MAX_CASE_MEMBERS)]
    first: bool = False


class TallyWeightsCase(Case, frozen=True):
    """Windows of tallies and of workflows' numbers, entries of earlier versions, and what else decides a vector."""

    epoch: Count
    rounds: Count
    windows: dict[Text, dict[Text, tuple[Tally | Entry, ...]]]
    before: dict[Text, dict[Text, tuple[Entry, ...]]]
    standing: dict[Text, MinerStanding]
    records: dict[Text, Record]
    curated: dict[Text, Record]
    presence: dict[Text, dict[Text, Presence]]


def scoring(case: Case) -> Version20:
    """Return the version of a case whose form belongs to 2.0.0."""
    return cast("Version20", version(case.scoring_version))


def turns_case(case: TurnsCase) -> dict[str, Any]:
    """Return turn and presence of every candidate (D-34, D-48)."""
    refuse_repeated(case.candidates, "candidates", of_item="")
    for hotkey, one in case.previous.items():
        if one.answered > one.asked:
            raise SchemaError(f"must not exceed asked - at `$.previous.{hotkey}.answered`")
        if one.entered + one.uncounted > one.dispatched:
            raise SchemaError(f"must not exceed dispatched with uncounted - at `$.previous.{hotkey}.entered`")
    previous = {hotkey: one.last for hotkey, one in case.previous.items()}
    computed = next_turns(scoring(case), previous, case.candidates)
    return {
        "turns": {hotkey: turn for hotkey, (turn, _) in computed.items()},
        "presence": {hotkey: msgspec.to_builtins(presence) for hotkey, (_, presence) in computed.items()},
    }


def select_by_turn_case(case: TurnSelectionCase) -> dict[str, Any]:
    """Return primaries and auditors in draw order, excluded and mode (D-35)."""
    check_candidates(case.candidates)
    seed = bytes.fromhex(case.seed)
    return group_document(scoring(case).select_group(case.candidates, seed, case.round_id, case.task_id))


def check_candidates(candidates: Sequence[Candidate | TurnCandidate]) -> None:
    """Refuse a pool that no round can have."""
    refuse_repeated([candidate.hotkey for candidate in candidates], "candidates")
    for i, candidate in enumerate(candidates):
        if candidate.failures > candidate.dispatches:
            raise SchemaError(f"must not exceed dispatches - at `$.candidates[{i}].failures`")


def group_document(group: GroupPlan) -> dict[str, Any]:
    """Return a group as `groups select` prints it."""
    document: dict[str, Any] = msgspec.to_builtins(group)
    del document["task_id"]
    return document


def tally_case(case: TallyCase) -> dict[str, Any]:
    """Return weight, entry, answer score and event of every member (D-37, D-38)."""
    refuse_repeated([one.hotkey for one in case.members], "members")
    if case.truth is not None:
        check_truth(case.truth, "$.truth")
    for i, one in enumerate(case.members):
        if one.sssa is not None:
            check_attestation(one.sssa, f"$.members[{i}].sssa")
        if (one.sssa is None) != (one.epsilon is None):
            raise SchemaError(f"must be null exactly where `sssa` is - at `$.members[{i}].epsilon`")
        for name in ("record", "curated"):
            check_record(getattr(one, name), f"$.members[{i}].{name}")
    members = [
        TalliedAnswer(one.hotkey, one.sssa, one.early, one.epsilon, one.record, one.curated) for one in case.members
    ]
    tallied = tally_task(scoring(case), members, case.truth, made_here=case.planted, first=case.first)
    return {"members": [one._asdict() for one in tallied]}


def check_record(record: Record, where: str) -> None:
    """Refuse a record that no answers give."""
    if record.score > record.answers:
        raise SchemaError(f"must not exceed answers - at `{where}.score`")


def pay_tallies_case(case: TallyWeightsCase) -> dict[str, Any]:
    """Return components, scores per kind, unpaid windows and capped weights (D-41, D-42)."""
    for hotkey, windows in case.windows.items():
        require_types(windows, f"$.windows.{hotkey}")
        for name, entries in windows.items():
            _check_entries(entries, f"$.windows.{hotkey}.{name}", numbers=name == SkillType.WORKFLOW)
    for hotkey, before in case.before.items():
        require_types(before, f"$.before.{hotkey}", tuple(map(str, ASSESSED_TYPES)))
    for hotkey, miner in case.standing.items():
        require_types(miner.types, f"$.standing.{hotkey}.types")
    for name in ("records", "curated"):
        for hotkey, record in getattr(case, name).items():
            check_record(record, f"$.{name}.{hotkey}")
    for hotkey, presence in case.presence.items():
        require_types(presence, f"$.presence.{hotkey}", tuple(map(str, ASSESSED_TYPES)))
    basis = PayBasis(case.epoch, case.rounds, case.before, case.records, case.curated, case.presence)
    plan = scoring(case).mechanism_weights(case.windows, standing=case.standing, basis=basis)
    tallied = cast("TallyPay", plan.tallied)
    return {
        "parts": _parts_document(tallied),
        "factors": tallied.factors,
        **plan_document(plan),
    }


def _parts_document(tallied: TallyPay) -> dict[str, Any]:
    return {
        hotkey: {
            name: {component: ratio.value for component, ratio in one.components.items()}
            | {"epsilon": one.epsilon, "quality": one.quality, "presence": one.presence}
            for name, one in of_types.items()
        }
        for hotkey, of_types in tallied.parts.items()
    }


def _check_entries(entries: Sequence[Tally | float], where: str, *, numbers: bool) -> None:
    for i, entry in enumerate(entries):
        if numbers is isinstance(entry, Tally):
            raise SchemaError(f"must be {'a number' if numbers else 'a tally'} - at `{where}[{i}]`")
        if isinstance(entry, Tally):
            _check_tally(entry, f"{where}[{i}]")


def _check_tally(entry: Tally, where: str) -> None:
    """Refuse an entry that no answer can have."""
    for name in ("verdict", "epsilon"):
        if (getattr(entry, name) is None) is entry.ok:
            raise SchemaError(f"must be null exactly where `ok` is false - at `{where}.{name}`")
    for name in ("said", "known"):
        if (getattr(entry, name) is None) != (entry.hits is None):
            raise SchemaError(f"must be null exactly where `hits` is - at `{where}.{name}`")
        if entry.hits is not None and entry.ok and entry.hits > getattr(entry, name):
            raise SchemaError(f"must not exceed {name} - at `{where}.hits`")
    if (entry.risk is None) != (entry.risk_null is None):
        raise SchemaError(f"must be null exactly where `risk` is - at `{where}.risk_null`")
    for name in ("capabilities", "dependencies", "rules"):
        share = getattr(entry, name)
        if share is not None and share[0] > share[1]:
            raise SchemaError(f"the first must not exceed the second - at `{where}.{name}`")
