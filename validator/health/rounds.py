"""Conditions that a round's facts show (no tasks, no answers, …): each function returns the detail, else None. Pure."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sssa.protocol.reasons import Reason

if TYPE_CHECKING:
    from validator.rounds.facts import RoundFacts

_SHOWN: Final = 4  # reasons in a sentence
_NO_ROUND: Final = (Reason.SKIPPED_EPOCH_OVER,)


def no_tasks(facts: "RoundFacts") -> str | None:
    """Return the detail of a round without tasks."""
    return "the task source gave none" if facts.tasks == 0 and facts.reason not in _NO_ROUND else None


def no_miners(facts: "RoundFacts") -> str | None:
    """Return the detail of a round without miners."""
    ran = facts.reason != Reason.SKIPPED_NO_TASKS and facts.reason not in _NO_ROUND
    return "no registered miner has a declaration that counts" if ran and facts.miners == 0 else None


def no_dispatches(facts: "RoundFacts") -> str | None:
    """Return the detail of a round with miners and without dispatches."""
    if facts.reason in _NO_ROUND:
        return f"rounds end as {facts.reason}"
    return f"{facts.miners} miners, none of them in a group" if facts.miners and facts.dispatches == 0 else None


def no_valid_answers(facts: "RoundFacts") -> str | None:
    """Return the detail of a round with dispatches of which no answer passed."""
    if facts.dispatches == 0 or facts.passed:
        return None
    return f"{facts.dispatches} dispatches: {counted(facts.answers) or str(facts.reason)}"


def every_answer_early(facts: "RoundFacts") -> str | None:
    """Return the detail of a round in which every answer that passed came before t_min."""
    if not facts.early or facts.early < facts.passed:
        return None
    limits = ", ".join(f"{skill_type} {seconds:g} s" for skill_type, seconds in sorted(facts.t_min.items()))
    return f"all {facts.early} accepted answers came before t_min ({limits}), so that their emission is 0"


def declarations_refused(facts: "RoundFacts") -> str | None:
    """Return the detail of a round before which no declaration counted."""
    declared = facts.declared
    if declared is None or not declared.queried or declared.valid:
        return None
    cause = "; likely cause: this machine's clock" if 2 * declared.clock >= declared.queried else ""
    return f"{declared.queried} asked: {counted(declared.refused)}{cause}"


def counted(reasons: Mapping[Reason, int] | Mapping[str, int]) -> str:
    """Return reasons with the number of each, the most frequent first."""
    ordered = sorted(
        ((str(reason), number) for reason, number in reasons.items()), key=lambda item: (-item[1], item[0])
    )
    parts = [f"{number} {reason}" for reason, number in ordered[:_SHOWN]]
    others = sum(number for _, number in ordered[_SHOWN:])
    return ", ".join([*parts, f"{others} other"] if others else parts)
