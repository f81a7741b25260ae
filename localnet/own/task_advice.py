"""A line of advice for each task of an owner: does it tell miners apart, why not, and what to do. Pure."""

from collections.abc import Mapping
from typing import Final

from localnet.own.own_tasks import OwnTask
from localnet.own.results import Counts, Heard, Why
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import SkillType

_AXIS_NAMES: Final[Mapping[str, str]] = {
    "alpha": "verdict",
    "pi": "policy",
    "rho": "injections",
    "mu": "risk",
    "sigma": "commands",
    "psi": "manifest",
    "tau": "poisoned tools",
    "chi": "transitive risk",
    "epsilon": "evidence",
}
_HIGH: Final = 0.9
_LOW: Final = 0.6
_READABLE: Final = "the planners of the local network read only goals in the words of docs/workflows.md"
_PLAIN: Final[Mapping[Why, str]] = {
    "speed": "miners differ only in how fast they are: what they say is equal",
    "truth_missing": "has no truth, and miners agree: write its truth, or nobody can be wrong about it",
    "unjudged": "its plans' code waits to be judged: start a container engine",
    "not_given": "its turn did not come: a round gives two tasks of a type; run more --rounds",
}


def advice(  # noqa: PLR0911 - one line for each cause
    why: Why, task: OwnTask, counts: Counts, heard: Heard, by: tuple[str, ...]
) -> str:
    """Return the line.

    Args:
        why: verdict on the answers.
        task: whose answers.
        counts: of its dispatches.
        heard: what else is known.
        by: the parts of the score that differ.
    """
    match why:
        case "separates":
            return f"tells miners apart, by {_in_words(by)}"
        case "by_group":
            return _by_group(task, by)
        case "upside_down":
            return f"careless miners score higher, by {_in_words(by)}: check its truth"
        case "equal":
            return _equal(task, counts)
        case "late":
            return _late(task, counts, heard)
        case "failed":
            return _failed(task, counts)
        case "too_few":
            return _too_few(counts)
        case "nobody":
            return f"no miner could take it: name some in --miners that declare {task.skill_type}"
    return _PLAIN[why]


def _in_words(by: tuple[str, ...]) -> str:
    return ", ".join(_AXIS_NAMES.get(name, name) for name in by)


def _by_group(task: OwnTask, by: tuple[str, ...]) -> str:
    advice = f"tells miners apart only by what most of them say ({_in_words(by)})"
    if not task.has_truth:
        return f"{advice}: write its truth"
    return f"{advice}: its truth asks for nothing that some of them miss{_missing_fields(task)}"


def _equal(task: OwnTask, counts: Counts) -> str:
    score = counts.mean_score or 0.0
    more = _missing_fields(task)
    if score < _LOW:
        return f"everybody scores about {score:.2f}: check whether its truth can be met{more}"
    easy = "nothing in it is hard to see" if score >= _HIGH else "what is missed, everybody misses"
    return f"everybody scores about {score:.2f} by its truth: {easy}{more}"


def _missing_fields(task: OwnTask) -> str:
    return f"; say more in it: {', '.join(task.missing_fields)}" if task.missing_fields else ""


def _late(task: OwnTask, counts: Counts, heard: Heard) -> str:
    primary, auditor = (task.windows.of(role).deadline for role in ("primary", "auditor"))
    windows = f"primaries have {primary:g} s, auditors {auditor:g} s"
    who = "nearly everybody" if counts.passed else "everybody"
    took = heard.analysis_s
    if took is not None and took >= auditor:
        return f"{who} is late: an analysis takes {took:.1f} s, {windows}: give it longer windows"
    if heard.pace > 1:
        return f"{who} is late at this pace; on chain {windows}: lower --pace (it is {heard.pace:g})"
    return f"{who} is late: {windows}: give it longer windows, or see what holds up the miners"


def _failed(task: OwnTask, counts: Counts) -> str:
    reason = next(iter(counts.failed), None)
    if task.skill_type is SkillType.WORKFLOW and reason is Reason.DEADLINE_STATUS:
        return f"no plan came: {_READABLE}; bring your own planner (--miners)"
    return "no answer came" if reason is None else f"no answer passed: {reason}: {reason.meaning}"


def _too_few(counts: Counts) -> str:
    reason = next(iter(counts.failed), None)
    most = "" if reason is None else f"; most others: {reason}"
    return f"{counts.passed} of {counts.dispatches} answers passed, of too few miners to compare{most}"
