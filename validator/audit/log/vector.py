"""A vector computed again from the rounds of a log: reasons, scores, share, cap, row (SPEC 11; SPEC 16, D-23, D-24)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from validator.audit.log.claims import ASSESSMENTS, WORKFLOW, Claim, Window, paid_types, shares, windows_of
from validator.audit.log.faults import FaultError
from validator.chain.weight_rows import shares_of, to_u16
from validator.protocol.reasons import Reason
from validator.protocol.weights_document import WeightedMiner


class Recomputed(NamedTuple):
    """What of a vector did not follow from the file.

    Attributes:
        scores: of a kind, whose windows began before the file.
        reasons: why a window is unpaid, or that it is paid.
        bases: whether where its declarations begin, or its version, is from before the file.
        left_out: miners with a window who are left out as not registered.
    """

    scores: int
    reasons: int
    bases: int
    left_out: int

    @property
    def whole(self) -> bool:
        """Whether everything followed, but who was registered."""
        return not (self.scores or self.reasons or self.bases)


Windows = Mapping[tuple[str, str], Window]


class _Kinds(NamedTuple):
    """Scores by kind, how many windows make the workflows' share larger, and how many more may."""

    assessed: Mapping[str, float]
    planned: Mapping[str, float]
    full: int
    perhaps: int


def recompute(claim: Claim, hotkey: str) -> Recomputed:
    """Hold a vector against what it follows from.

    Args:
        claim: it, every round that was open being told.
        hotkey: the validator's, who is no miner.

    Raises:
        FaultError: the first place that does not follow.
    """
    _check_form(claim, hotkey)
    bases = _check_basis(claim)
    windows = windows_of(claim)
    reasons = sum(_reasons_of(claim, windows, i, miner) for i, miner in enumerate(claim.document.miners))
    kinds, scores = _kinds(claim, windows)
    _check_weights(claim, kinds)
    return Recomputed(scores, reasons, bases, claim.left_out)


def _fault(claim: Claim, what: str, path: str) -> FaultError:
    return FaultError(claim.line, "weights", None, what, path)


def _check_form(claim: Claim, hotkey: str) -> None:
    document = claim.document
    hotkeys = [miner.hotkey for miner in document.miners]
    uids = {miner.uid: miner.hotkey for miner in document.miners}
    if hotkeys != sorted(set(hotkeys)) or len(uids) != len(hotkeys):
        raise _fault(claim, "must be sorted by hotkey, each hotkey and uid once", "miners")
    if hotkey in hotkeys:
        raise _fault(claim, "the validator itself is no miner", f"miners[{hotkeys.index(hotkey)}]")
    if list(document.kinds) != sorted(set(document.kinds)) or not document.kinds:
        raise _fault(claim, "must be assessments, workflows or both, each once", "kinds")
    owner = document.owner
    if owner is not None and (
        uids.get(owner.uid, owner.hotkey) != owner.hotkey
        or (owner.hotkey in hotkeys and uids.get(owner.uid) != owner.hotkey)
    ):
        raise _fault(claim, "is not the uid that the miners have", "owner.uid")
    if claim.link.reason is None and not document.row:
        raise _fault(claim, "is empty, and it is sent", "row")
    if (claim.link.reason == Reason.WEIGHTS_NONE_POSITIVE) and document.row:
        raise _fault(claim, "has weights, and is not sent because nobody has a score", "row")


def _check_basis(claim: Claim) -> int:
    """Hold round and version against the rounds; return how much of it is the validator's word."""
    document, link = claim.document, claim.link
    if claim.opened is None:
        return 1
    rounds, exact = claim.state.shared.rounds, claim.state.exact
    before = [one for one in rounds if one.block <= link.block and one.number < claim.next_round]
    newest = before[-1] if before else None
    if newest is None and (not exact or document.round_id is None):
        return int(not exact)
    if newest is None:
        raise _fault(claim, f"{document.round_id}, and no round was frozen", "round_id")
    if document.round_id != str(newest.number):
        what = f"{document.round_id}, where round {newest.number} is the newest frozen by block {link.block}"
        raise _fault(claim, what, "round_id")
    if link.scoring_version != newest.version:
        raise _fault(
            claim, f"computed by {link.scoring_version}; round {newest.number} is of {newest.version}", "round_id"
        )
    return 0 if claim.since_known else 1


def _reasons_of(claim: Claim, windows: Windows, i: int, miner: WeightedMiner) -> int:
    """Hold a miner's unpaid windows against its standing; return how many of them are the validator's word."""
    given = miner.unpaid or {}
    unsure = 0
    for name in sorted({*given, *paid_types(claim.document)}):
        window = windows.get((miner.hotkey, name))
        if window is None or (window.whole and not window.entries):
            if name in given:
                raise _fault(claim, "there is no such window", f"miners[{i}].unpaid.{name}")
            continue
        may = window.reasons(claim.version)
        if not window.entries:
            may |= {None}  # perhaps there is none
        if given.get(name) not in may:
            follows = ", ".join(sorted(one or "paid" for one in may))
            raise _fault(claim, f"{given.get(name, 'paid')}, where {follows} follows", f"miners[{i}].unpaid.{name}")
        unsure += len(may) > 1 and (bool(window.entries) or name in given)
    return unsure


def _kinds(claim: Claim, found: Windows) -> tuple[_Kinds, int]:
    """Return the scores of each kind, those from before the file as they are given, and how many those are."""
    assessed: dict[str, float] = {}
    planned: dict[str, float] = {}
    word = full = perhaps = 0
    warm = claim.version.rules.pay.warm_up
    for i, miner in enumerate(claim.document.miners):
        given = miner.unpaid or {}
        for kind, types, told, into in (
            ("assessments", ASSESSMENTS, miner.assessments, assessed),
            ("workflows", (WORKFLOW,), miner.workflows, planned),
        ):
            windows = {name: found[miner.hotkey, name] for name in types if kind in claim.document.kinds}
            paid = {name: window for name, window in windows.items() if name not in given}
            if all(window.whole for window in paid.values()):
                again = claim.version.miner_score({name: one.entries for name, one in paid.items()}, types)
                if again != told:
                    raise _fault(claim, f"{told!r}, where the windows give {again!r}", f"miners[{i}].{kind}")
            else:
                word += 1
            into[miner.hotkey] = told
        window = found.get((miner.hotkey, WORKFLOW))
        if miner.workflows > 0 and window is not None:
            full += len(window.entries) >= warm
            perhaps += not window.whole and len(window.entries) < warm
    return _Kinds(assessed, planned, full, perhaps), word


def _check_weights(claim: Claim, kinds: _Kinds) -> None:
    """Hold share, weights, what is left over and the row against the scores."""
    document = claim.document
    share = document.workflow_share
    possible = (
        [claim.version.share_of(kinds.full + more) for more in range(kinds.perhaps + 1)]
        if len(document.kinds) > 1
        else [None]
    )
    if share not in possible:
        raise _fault(claim, f"{share!r}, where {possible[0]!r} follows", "workflow_share")
    plan = claim.version.kind_weights(shares(document), kinds.assessed, kinds.planned, share or 0.0)
    for i, miner in enumerate(document.miners):
        again = plan.weights.get(miner.hotkey, 0.0)
        if miner.weight != again:
            raise _fault(claim, f"{miner.weight!r}, where the scores give {again!r}", f"miners[{i}].weight")
    if document.unallocated != plan.unallocated:
        what = f"{document.unallocated!r}, where the weights leave {plan.unallocated!r}"
        raise _fault(claim, what, "unallocated")
    uids = {miner.hotkey: miner.uid for miner in document.miners}
    owner = None if document.owner is None else document.owner.uid
    sent = shares_of(plan.weights, plan.unallocated, uids, owner) if plan.weights else {}
    row = tuple(to_u16(sent).items())
    if document.row != row:
        place = next(_differences(document.row, row))
        raise _fault(claim, "is not what the weights give", f"row[{place}]")


def _differences(given: tuple[tuple[int, int], ...], again: tuple[tuple[int, int], ...]) -> Iterator[int]:
    yield from (i for i, (one, other) in enumerate(zip(given, again, strict=False)) if one != other)
    yield min(len(given), len(again))
