"""Rounds that come to nothing."""

from collections.abc import Mapping
from typing import Final

from validator.conditions.condition import Condition
from validator.conditions.seen import SeenRound
from validator.protocol.reasons import Reason

_SHOWN: Final = 4  # reasons in a sentence
_NO_ROUND: Final = (Reason.SKIPPED_EPOCH_OVER,)


def _no_tasks(seen: SeenRound) -> str | None:
    return "the task source gave none" if seen.tasks == 0 and seen.reason not in _NO_ROUND else None


def _no_miners(seen: SeenRound) -> str | None:
    ran = seen.reason != Reason.SKIPPED_NO_TASKS and seen.reason not in _NO_ROUND
    return "no registered miner has a declaration that counts" if ran and seen.miners == 0 else None


def _no_dispatches(seen: SeenRound) -> str | None:
    if seen.reason in _NO_ROUND:
        return f"rounds end as {seen.reason}"
    return f"{seen.miners} miners, none of them in a group" if seen.miners and seen.dispatches == 0 else None


def _no_valid_answers(seen: SeenRound) -> str | None:
    if seen.dispatches == 0 or seen.passed:
        return None
    return f"{seen.dispatches} dispatches: {counted(seen.answers) or str(seen.reason)}"


def _all_early(seen: SeenRound) -> str | None:
    if not seen.early or seen.early < seen.passed:
        return None
    limits = ", ".join(f"{skill_type} {seconds:g} s" for skill_type, seconds in sorted(seen.t_min.items()))
    return f"all {seen.early} accepted answers came before t_min ({limits}), so that their emission is 0"


def _refused(seen: SeenRound) -> str | None:
    declared = seen.declared
    if declared is None or not declared.asked or declared.valid:
        return None
    cause = "; likely cause: this machine's clock" if 2 * declared.clock >= declared.asked else ""
    return f"{declared.asked} asked: {counted(declared.refused)}{cause}"


def counted(reasons: Mapping[Reason, int] | Mapping[str, int]) -> str:
    """Return reasons with how many of each, the most frequent first."""
    found = sorted(((str(reason), number) for reason, number in reasons.items()), key=lambda item: (-item[1], item[0]))
    words = [f"{number} {reason}" for reason, number in found[:_SHOWN]]
    left = sum(number for _, number in found[_SHOWN:])
    return ", ".join([*words, f"{left} other"] if left else words)


ROUNDS: Final = (
    Condition(
        "rounds_no_tasks",
        "degraded",
        "Rounds have no task but the validator's own canaries.",
        "Put tasks into `tasks.directory`, or look whether `tasks.server_url` answers.",
        _no_tasks,
    ),
    Condition(
        "rounds_no_miners",
        "degraded",
        "No miner that is registered has a valid declaration.",
        "Look at `validator.netuid`, at `validator miners list`, and at what keeps miners from being reached.",
        _no_miners,
    ),
    Condition(
        "rounds_no_dispatches",
        "degraded",
        "There are tasks and miners, and no request goes out.",
        "`validator rounds show` has the exclusions and which types the miners declare; `skipped_epoch_over` again and "
        "again: the store is of another chain.",
        _no_dispatches,
    ),
    Condition(
        "rounds_no_valid_answers",
        "degraded",
        "Dispatches go out, and no answer passes its gates.",
        "Where all have one reason the cause is here: look at the network, the clock and the version of this program.",
        _no_valid_answers,
    ),
    Condition(
        "rounds_all_early",
        "degraded",
        "Every accepted answer came before its t_min and earns nothing.",
        "Look at the tasks' own windows (`task.json`): their t_min is larger than honest work takes.",
        _all_early,
    ),
    Condition(
        "declarations_refused",
        "degraded",
        "Every miner that was asked for its declaration gave none that counts.",
        "Compare this machine's clock with a time server (`timedatectl`), then look at the network.",
        _refused,
    ),
)
