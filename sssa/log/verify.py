"""An audit file verified, round by round, with nothing but itself (SPEC 4 to 10, 14): no store, settings or network."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, Literal

from msgspec import UNSET

from sssa.log.answers import check_ends, read_answers
from sssa.log.chain import Chain
from sssa.log.folders import Given
from sssa.log.input_check import input_fault, late_counts
from sssa.log.lines import (
    START,
    FaultError,
    LineReader,
    Planned,
    Wrong,
    read_outcome,
    read_planned,
    require_audit_file,
)
from sssa.log.scores import Scores
from sssa.log.verify_report import NUMBERS, Counts, Verified
from sssa.log.weight_vectors import Vectors
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.draws import round_seed, task_id
from sssa.protocol.limits import MAX_LOG_HOTKEYS, MAX_LOG_MINERS, MAX_LOG_SALTS, MAX_LOG_TASKS, MAX_RECEIPT
from sssa.protocol.receipt import Receipt, RoundEnd, plan_line
from sssa.protocol.round import RoundInput, is_submitted
from sssa.protocol.strict_json import JsonError, decode
from sssa.scoring import UnknownScoringVersionError, Version, plan_round, version
from sssa.state.inputs import learn_miners
from sssa.state.mechanism_state import State
from sssa.state.round_end import (
    Change,
    Ended,
    UnknownFlagError,
    apply,
    mark_hidden_truths,
    mark_unknown_plan,
    start_at,
)


def check_round(  # noqa: PLR0913, PLR0917 - a round, and what is known before it
    reader: LineReader,
    receipt: Receipt,
    end: RoundEnd,
    salt: bytes | None,
    state: State,
    counts: Counts,
    given: Given,
) -> tuple[State, Planned | None]:
    """Read a round's lines after its receipt's, and compare them with the recomputed round.

    Args:
        reader: after the receipt's line.
        receipt: of the round.
        end: its round.
        salt: of the round's epoch, None while it is not public.
        state: that the rounds before left.
        counts: of the file; the round is added to them.
        given: what a reader has next to the file.

    Returns:
        The state after the round; its input and groups, None where it was not frozen, or nobody can read its input.

    Raises:
        FaultError: a line is missing, was changed, or does not follow from the others.
    """
    lines = end.lines
    state = start_at(state, end.index)
    counts.rounds[end.state] += 1
    counts.on_word["rounds without answers"] += end.state != "settled"
    if lines.input is None or lines.plan is None:
        return mark_unknown_plan(state, end.index) if end.state == "abandoned" else state, None
    seed = None if salt is None else round_seed(salt, end.round_id, end.block_hash).hex()
    planned = read_planned(reader, end, lines.input, lines.plan, seed)
    frozen = planned.frozen
    planned.input_line.refuse(_input_faults(planned, receipt, state))
    scored_by = _version(planned, end)
    counts.frozen(planned, readable=scored_by is not None)
    before, acted = _begun(planned, state, counts)
    if scored_by is None:
        acted.plan(frozen, planned.plan, counted=False)
        check_ends(reader, planned, end)
        return apply(before, acted.delta()), planned
    planned.input_line.refuse(_window_faults(planned, scored_by))
    given.check_tasks(planned)
    planned.plan_line.refuse(_size_faults(planned, scored_by))
    if planned.drawn:
        _check_plan(planned, scored_by)
    wrong = input_fault(scored_by, apply(before, acted.delta()), frozen)
    planned.input_line.refuse([] if wrong is None else [wrong])
    if end.state != "settled" or lines.answers is None or lines.outcome is None:
        ended_as: Literal["void", "abandoned"] = "abandoned" if end.state == "abandoned" else "void"
        after = apply(before, scored_by.step(before, Ended(frozen, planned.plan, ended_as)))
        check_ends(reader, planned, end)
        return after, planned
    answers = read_answers(reader, end, lines.answers, planned, scored_by)
    counts.answered(planned, answers, given.judge(planned, answers))
    outcome, outcome_line = read_outcome(reader, end, lines.outcome)
    scores = Scores(reader, end, receipt.validator_hotkey, planned, answers, scored_by)
    whole = scores.check(outcome, outcome_line)
    if scored_by.pays_tallies:
        outcome = whole
    after = apply(before, scored_by.step(before, Ended(frozen, planned.plan, "settled", outcome, scores.measured)))
    if scored_by.pays_tallies:
        hidden = [task.made_here for task in frozen.tasks if task.truth_sha256 is not UNSET]
        after = mark_hidden_truths(
            after, 2 if any(hidden) else 1 if hidden or frozen.curated_sha256 is not UNSET else 0
        )
        if frozen.curated_sha256 is not UNSET:
            counts.on_word["curated records"] += len(frozen.miners)
            counts.on_word["entries by curated records"] += scores.weighed
    late, waiting = late_counts(before.shared, after.shared, frozen)
    counts.numbers.update(late)
    counts.on_word.update(waiting)
    counts.numbers["proofs"] += scores.proofs
    counts.scores_without_truth.update(scores.scores_without_truth)
    return after, planned


def _begun(planned: Planned, state: State, counts: Counts) -> tuple[State, Change]:
    """Return the state before a round, with its input's facts on unknown miners, and the change by its acts."""
    frozen = planned.frozen
    for miner in frozen.miners:
        unknown = not state.miner(miner.hotkey).known
        counts.on_word["pasts from before the file"] += unknown and bool(miner.reputations or miner.agreements)
    state = learn_miners(state, frozen)
    for act in frozen.acts:
        counts.numbers["acts"] += 1
        counts.on_word["flags from before the file"] += sum(
            flag not in state.miner(act.hotkey).flags for flag in act.flags
        )
    change = Change(state)
    try:
        change.clear(frozen.acts)
    except UnknownFlagError as error:
        what = "is not an active flag: it was never raised, or cleared before"
        raise planned.input_line.fault(what, f"acts{error.place}") from None
    return state, change


def _version(planned: Planned, end: RoundEnd) -> Version | None:
    """Return the round's version; None only for a round that was abandoned because no program had it."""
    try:
        return version(planned.frozen.scoring_version)
    except UnknownScoringVersionError as error:
        if end.state == "abandoned":
            return None
        raise planned.input_line.fault(str(error), "scoring_version") from None


def _input_faults(planned: Planned, receipt: Receipt, state: State) -> Iterator[Wrong]:
    """Yield faults of an input: over a limit, or against its receipt or the round frozen before."""
    frozen, netuid = planned.frozen, state.shared.netuid
    for path, many, most in (
        ("tasks", len(frozen.tasks), MAX_LOG_TASKS),
        ("miners", len(frozen.miners), MAX_LOG_MINERS),
    ):
        if many > most:  # groups are drawn from all miners for each task
            yield path, f"{many} of them, at most {most}"
    if frozen.validator_hotkey != receipt.validator_hotkey:
        yield "validator_hotkey", "is not whose log this is"
    if netuid not in {None, frozen.snapshot.netuid}:
        yield "snapshot.netuid", f"{frozen.snapshot.netuid}; the rounds before are of {netuid}"
    if frozen.salt_commitment != receipt.commitment:
        yield "salt_commitment", "is not that of the receipt"
    for i, task in enumerate(frozen.tasks):
        if task.task_id != task_id(frozen.round_id, task.skill_type, task.slot, task.source_sha256):
            yield f"tasks[{i}].task_id", "does not follow from round, type, slot and bundle"
        misnamed = task.misnamed()
        if misnamed is not None:
            yield f"tasks[{i}].{misnamed[0]}", misnamed[1]
    yield from _submission_faults(frozen)
    yield from _time_faults(planned, state)


def _submission_faults(frozen: RoundInput) -> Iterator[Wrong]:
    """Yield submitted skills that are none: nothing counts against who answers them (SPEC 5, D-45)."""
    submitted = [i for i, task in enumerate(frozen.tasks) if is_submitted(task)]
    for i in submitted:
        if submitted[1:] or frozen.tasks[i].provenance != "none" or frozen.tasks[i].truth_sha256 is not UNSET:
            yield f"tasks[{i}].submitted", "is of a task with a truth, or of more than one"


def _time_faults(planned: Planned, state: State) -> Iterator[Wrong]:
    for name in ("block", "block_time"):
        now, before = getattr(planned.frozen.snapshot, name), getattr(state.shared, name)
        if now < before:
            yield f"snapshot.{name}", f"{now} is before {before}, of the round frozen before it"


def _window_faults(planned: Planned, scored_by: Version) -> Iterator[Wrong]:
    """Yield windows that are neither the task's own nor those of the version, and who cannot be a candidate."""
    frozen = planned.frozen
    for i, task in enumerate(frozen.tasks):
        if not task.brings_windows and task.windows != scored_by.rules.windows_of(task.skill_type):
            what = f"are not those of version {frozen.scoring_version}, and the task has no windows"
            yield f"tasks[{i}].windows", what
    registered = {neuron.hotkey for neuron in frozen.snapshot.neurons}
    names = [miner.hotkey for miner in frozen.miners]
    for i, name in enumerate(names):
        if name not in registered or name == frozen.validator_hotkey or (i and names[i - 1] >= name):
            yield f"miners[{i}].hotkey", "is not registered in the snapshot, is the validator, or is out of order"


def _size_faults(planned: Planned, scored_by: Version) -> Iterator[Wrong]:
    """Yield groups that no round of the version has: their members are compared in pairs."""
    most = scored_by.rules.groups
    for i, group in enumerate(planned.plan.groups):
        if len(group.primaries) > most.primaries or len(group.auditors) > most.auditors:
            yield f"groups[{i}]", f"more than {most.primaries} primaries or {most.auditors} auditors"


def _check_plan(planned: Planned, scored_by: Version) -> None:
    try:
        again = plan_round(scored_by, planned.frozen)
    except Exception as error:  # noqa: BLE001 - whatever strangers wrote there, it ends in a line
        raise planned.input_line.fault(f"no groups can be drawn from it: {error}") from None
    if plan_line(again) == plan_line(planned.plan):
        return
    pairs = zip(planned.plan.groups, again.groups, strict=True)
    place = next((i for i, (given, drawn) in enumerate(pairs) if given != drawn), 0)
    raise planned.plan_line.fault("is not the group that seed and pool give", f"groups[{place}]")


Progress = Callable[[int], None]

_PREFIX: Final = b'{"receipt":'
_SALTS: Final = b'"salts":[{'  # in canonical form; without it there is nothing to find


@dataclass(slots=True)
class Reading:
    """Everything that a verification knows of the lines that it has read; nothing else decides about the next one.

    `blocks`: the first and the last one that a round or a vector was taken at, None before there was any.
    """

    chain: Chain
    state: State = field(default_factory=State)
    vectors: Vectors = field(default_factory=Vectors)
    counts: Counts = field(default_factory=Counts)
    first_round: int | None = None
    last_round: int | None = None
    blocks: tuple[int, int] | None = None

    def note_block(self, receipt: Receipt) -> None:
        """Take note of the block that a receipt's round or vector was taken at."""
        if receipt.weights is not UNSET:
            block = receipt.weights.block
        elif receipt.round is not None and receipt.round.lines.input is not None:
            block = receipt.round.block
        else:
            return
        first, last = self.blocks or (block, block)
        self.blocks = min(first, block), max(last, block)

    def report(self, given: Given) -> Verified:
        """Return the report (FaultError: there was no receipt)."""
        chain, vectors, fates, counts = self.chain, self.vectors, self.vectors.fates, self.counts
        if chain.last is None or chain.last_digest is None or chain.first is None or chain.hotkey is None:
            raise FaultError(1, "receipt", None, "the file has no receipt")
        on_word = (
            counts.on_word
            + vectors.on_word
            + vectors.snapshots.waiting()
            + Counter({"vectors of other kinds": fates.turned})
        )
        numbers = counts.numbers + vectors.counted
        numbers.update(
            first=chain.first,
            last=chain.last.sequence,
            vectors_pending=vectors.waiting,
            fates_before=fates.before,
        )
        return Verified(
            **{name: numbers[name] for name in NUMBERS},
            hotkey=chain.hotkey,
            head=chain.last_digest,
            first_round=self.first_round,
            last_round=self.last_round,
            rounds=_counts(counts.rounds),
            versions=_counts(counts.versions),
            scores_without_truth=_counts(counts.scores_without_truth),
            unshown=_counts(counts.unshown),
            whole_unpaid=_counts(counts.whole_unpaid),
            on_word=_counts(on_word),
            given=_counts(given.counted),
            fates=_counts(fates.states),
            confirmed=tuple(newest for _, newest in sorted(fates.newest.items())),
            mechanisms=fates.mechanisms,
            blocks=self.blocks,
            issued=(chain.first_issued, chain.last.issued_at),
        )


def _counts(counted: Mapping[str, int]) -> dict[str, int]:
    return {name: many for name, many in sorted(counted.items()) if many}


def verify_file(
    path: Path, hotkey: str | None = None, progress: Progress = lambda _: None, given: Given | None = None
) -> Verified:
    """Check everything that the file says, line by line; it is read twice, because salts come after their rounds.

    `hotkey` is whose log it must be, None for anybody's; `progress` is called with the number of bytes read.

    Raises:
        NotAnAuditFileError: the file is something else.
        FaultError: the first thing that does not hold, with its line.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        require_audit_file(file)
        salts = public_salts(file)
        file.seek(0)
        return _verify_lines(LineReader(file), Reading(Chain(hotkey)), salts, progress, given or Given())


def public_salts(file: BinaryIO) -> Mapping[str, bytes]:
    """Return commitment to salt, of every salt in the file. Unchecked lines may say anything: a salt proves itself."""
    salts: dict[str, bytes] = {}
    number = 1
    while raw := file.readline(MAX_RECEIPT + 1):
        if len(salts) > MAX_LOG_SALTS:
            raise FaultError(number, "receipt", None, f"more than {MAX_LOG_SALTS} salts in one file")
        number += raw.endswith(b"\n")
        if not raw.startswith(START) or _SALTS not in raw:
            continue
        try:
            receipt = decode(raw.rstrip()[len(_PREFIX) : -1], Receipt, limit=MAX_RECEIPT)
        except JsonError:
            continue
        for revealed in receipt.salts:
            salt = bytes.fromhex(revealed.salt)
            salts[sha256_hex(salt)] = salt
    return salts


def _verify_lines(
    reader: LineReader, reading: Reading, salts: Mapping[str, bytes], progress: Progress, given: Given
) -> Verified:
    """Check all lines (FaultError: the first thing that does not hold, with its line)."""
    while (line := reader.next("receipt", None)) is not None:
        if line.kind != "receipt":
            raise line.fault("no receipt names this line: repeated, out of order or added")
        receipt = reading.chain.add(line)
        if receipt.first_round == "0":
            reading.state = start_at(reading.state, 0)
        reading.state = reading.vectors.add(reader, line, receipt, reading.chain.next_round, reading.state)
        reading.note_block(receipt)
        reading.counts.numbers.update(keys=receipt.kind == "key", revocations=receipt.kind == "revocation")
        if receipt.round is not None:
            _take_round(reader, reading, receipt, receipt.round, salts, given)
            if len(reading.state.miners) > MAX_LOG_HOTKEYS:
                raise line.fault(f"more than {MAX_LOG_HOTKEYS} miners in one file")
        progress(reader.offset)
    given.finish()
    return reading.report(given)


def _take_round(  # noqa: PLR0913, PLR0917 - a round, and what is known before it
    reader: LineReader, reading: Reading, receipt: Receipt, end: RoundEnd, salts: Mapping[str, bytes], given: Given
) -> None:
    if reading.first_round is None:
        reading.first_round = end.index
    salt = salts.get(receipt.commitment or "")
    reading.state, planned = check_round(reader, receipt, end, salt, reading.state, reading.counts, given)
    reading.vectors.end(end, planned, receipt.validator_hotkey)
    reading.last_round = end.index
