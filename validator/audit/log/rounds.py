"""One round of an audit file computed again: groups from the seed, answers by their signatures, scores, proofs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from msgspec import UNSET

from validator.audit.input_check import input_fault, late_counts
from validator.audit.log.answers import check_ends, read_answers
from validator.audit.log.documents import Planned, read_outcome, read_planned
from validator.audit.log.folders import Given
from validator.audit.log.lines import FaultError, LineReader
from validator.audit.log.report import Checked, Words
from validator.audit.log.scores import Scores
from validator.protocol.draws import round_seed, task_id
from validator.protocol.limits import MAX_LOG_MINERS, MAX_LOG_TASKS
from validator.protocol.receipt import Receipt, RoundEnd, plan_line
from validator.protocol.round import is_committed
from validator.scoring import UnknownScoringVersionError, Version, version
from validator.state import Change, Ended, State, UnknownFlagError, apply, clouded, known_from, learned


@dataclass(slots=True)
class Course:
    """What is carried from round to round.

    Attributes:
        state: what the rounds before left; each round is a step.
        words: what is counted of the validator's word.
        counted: late results, executed tasks, deferred answers, acts, and pasts that the file does not show.
    """

    state: State = field(default_factory=State)
    words: Words = field(default_factory=Words)
    counted: Counter[str] = field(default_factory=Counter)


def check_round(  # noqa: PLR0913, PLR0917 - a round, and what is known before it
    reader: LineReader, receipt: Receipt, end: RoundEnd, salt: bytes | None, course: Course, given: Given
) -> Checked:
    """Read a round's lines and compute again what follows from them.

    Args:
        reader: after the receipt's line.
        receipt: of the round.
        end: its round.
        salt: of the round's epoch, None while it is not public.
        course: what the rounds before came to; takes in what this one comes to.
        given: what a reader has beside the file.

    Raises:
        FaultError: a line is missing, was changed, or does not follow from the others.
    """
    lines = end.lines
    course.state = known_from(course.state, end.index)
    course.words.word["rounds without answers"] += end.state != "settled"
    if lines.input is None or lines.plan is None:
        if end.state == "abandoned":
            course.state = clouded(course.state, end.index)
        return Checked(end.state)
    seed = None if salt is None else round_seed(salt, end.round_id, end.block_hash).hex()
    planned = read_planned(reader, end, lines.input, lines.plan, seed)
    _check_sizes(planned, end)
    _check_input(planned, receipt, end, course.state)
    _check_time(planned, end, course.state)
    scored_by = _version(planned, end)
    before, acted = _begun(planned, end, course)
    truths = _truths(planned)
    if scored_by is None:
        acted.plan(planned.frozen, planned.plan, counted=False)
        course.state = apply(before, acted.delta())
        check_ends(reader, planned, end)
        return Checked(end.state, pending=not planned.drawn, planned=planned, truths=truths)
    course.words.planned(planned)
    _check_windows(planned, end, scored_by)
    given.hold_tasks(planned, end)
    _check_groups(planned, end, scored_by)
    if planned.drawn:
        _check_plan(planned, end, scored_by)
    wrong = input_fault(scored_by, apply(before, acted.delta()), planned.frozen)
    if wrong is not None:
        raise FaultError(planned.input_line, "input", end.round_id, wrong[1], wrong[0])
    if end.state != "settled" or lines.answers is None or lines.outcome is None:
        state: Literal["void", "abandoned"] = "abandoned" if end.state == "abandoned" else "void"
        ended = Ended(planned.frozen, planned.plan, state)
        course.state = apply(before, scored_by.step(before, ended))
        check_ends(reader, planned, end)
        return Checked(end.state, pending=not planned.drawn, planned=planned, truths=truths)
    answers = read_answers(reader, end, lines.answers, planned, scored_by)
    course.words.answered(planned, answers, given.judge(planned, answers, end))
    outcome, found = read_outcome(reader, end, lines.outcome)
    scores = Scores(reader, end, receipt.validator_hotkey, planned, answers, scored_by)
    scores.check(outcome, found)
    ended = Ended(planned.frozen, planned.plan, "settled", outcome, scores.measured)
    course.state = apply(before, scored_by.step(before, ended))
    course.counted.update(late_counts(before.shared, course.state.shared, planned.frozen))
    return Checked(
        end.state,
        tasks=len(planned.plan.groups),
        answers=len(answers.passed),
        proofs=scores.proofs,
        pending=not planned.drawn,
        planned=planned,
        truths=truths,
        untold=scores.untold,
    )


def _begun(planned: Planned, end: RoundEnd, course: Course) -> tuple[State, Change]:
    """Return the state before a round with what its input says of unknown miners, and what its acts change of it."""
    frozen = planned.frozen
    for miner in frozen.miners:
        unknown = not course.state.miner(miner.hotkey).known
        course.counted["pasts"] += unknown and bool(miner.reputations or miner.agreements)
    state = learned(course.state, frozen)
    for act in frozen.acts:
        course.counted["acts"] += 1
        course.counted["flags before"] += sum(flag not in state.miner(act.hotkey).flags for flag in act.flags)
    change = Change(state)
    try:
        change.clear(frozen.acts)
    except UnknownFlagError as error:
        what = "is not a flag that stands: it was never raised, or cleared before"
        raise FaultError(planned.input_line, "input", end.round_id, what, f"acts{error.place}") from None
    return state, change


def _check_time(planned: Planned, end: RoundEnd, state: State) -> None:
    """Refuse a round that is pinned to an earlier block than the one before it."""
    for name in ("block", "block_time"):
        now, before = getattr(planned.frozen.snapshot, name), getattr(state.shared, name)
        if now < before:
            what = f"{now} is before {before}, of the round frozen before it"
            raise FaultError(planned.input_line, "input", end.round_id, what, f"snapshot.{name}")


def _truths(planned: Planned) -> Mapping[bool, int]:
    """Return how many truths that the round commits to are shown, and how many are not."""
    return Counter(task.truth_sha256 is UNSET for task in planned.frozen.tasks if is_committed(task))


def _version(planned: Planned, end: RoundEnd) -> Version | None:
    """Return the round's version; None only for a round that was abandoned because nobody had it."""
    try:
        return version(planned.frozen.scoring_version)
    except UnknownScoringVersionError as error:
        if end.state == "abandoned":
            return None
        raise FaultError(planned.input_line, "input", end.round_id, str(error), "scoring_version") from None


def _check_sizes(planned: Planned, end: RoundEnd) -> None:
    """Refuse what no round has: groups are drawn from all miners for each task."""
    for path, many, most in (
        ("tasks", len(planned.frozen.tasks), MAX_LOG_TASKS),
        ("miners", len(planned.frozen.miners), MAX_LOG_MINERS),
    ):
        if many > most:
            raise FaultError(planned.input_line, "input", end.round_id, f"{many} of them, at most {most}", path)


def _check_groups(planned: Planned, end: RoundEnd, scored_by: Version) -> None:
    """Refuse groups that no round of the version has: their members are compared in pairs."""
    most = scored_by.rules.groups
    for i, group in enumerate(planned.plan.groups):
        if len(group.primaries) > most.primaries or len(group.auditors) > most.auditors:
            what = f"more than {most.primaries} primaries or {most.auditors} auditors"
            raise FaultError(planned.plan_line, "plan", end.round_id, what, f"groups[{i}]")


def _check_input(planned: Planned, receipt: Receipt, end: RoundEnd, state: State) -> None:
    frozen, netuid = planned.frozen, state.shared.netuid

    def fault(path: str, what: str) -> FaultError:
        return FaultError(planned.input_line, "input", end.round_id, what, path)

    if frozen.validator_hotkey != receipt.validator_hotkey:
        raise fault("validator_hotkey", "is not whose log this is")
    if netuid not in {None, frozen.snapshot.netuid}:
        raise fault("snapshot.netuid", f"{frozen.snapshot.netuid}; the rounds before are of {netuid}")
    if frozen.salt_commitment != receipt.commitment:
        raise fault("salt_commitment", "is not that of the receipt")
    for i, task in enumerate(frozen.tasks):
        if task.task_id != task_id(end.round_id, task.skill_type, task.slot, task.source_sha256):
            raise fault(f"tasks[{i}].task_id", "does not follow from round, type, slot and bundle")
        found = task.misnamed()
        if found is not None:
            raise fault(f"tasks[{i}].{found[0]}", found[1])


def _check_windows(planned: Planned, end: RoundEnd, scored_by: Version) -> None:
    """Refuse windows that are neither the task's own nor those of the version, and who cannot be a candidate."""
    frozen = planned.frozen
    for i, task in enumerate(frozen.tasks):
        if not task.brings_windows and task.windows != scored_by.rules.windows_of(task.skill_type):
            what = f"are not those of version {frozen.scoring_version}, and the task has none of its own"
            raise FaultError(planned.input_line, "input", end.round_id, what, f"tasks[{i}].windows")
    registered = {neuron.hotkey for neuron in frozen.snapshot.neurons}
    names = [miner.hotkey for miner in frozen.miners]
    for i, name in enumerate(names):
        if name not in registered or name == frozen.validator_hotkey or (i and names[i - 1] >= name):
            what = "is not registered in the snapshot, is the validator, or is out of order"
            raise FaultError(planned.input_line, "input", end.round_id, what, f"miners[{i}].hotkey")


def _check_plan(planned: Planned, end: RoundEnd, scored_by: Version) -> None:
    try:
        again = scored_by.plan(planned.frozen)
    except Exception as error:  # noqa: BLE001 - whatever strangers wrote there, it ends in a line
        raise FaultError(
            planned.input_line, "input", end.round_id, f"no groups can be drawn from it: {error}"
        ) from None
    if plan_line(again) == plan_line(planned.plan):
        return
    pairs = zip(planned.plan.groups, again.groups, strict=True)
    place = next((i for i, (given, drawn) in enumerate(pairs) if given != drawn), 0)
    raise FaultError(
        planned.plan_line, "plan", end.round_id, "is not the group that seed and pool give", f"groups[{place}]"
    )
