"""What /readyz looks at: each check is some conditions of the board, none of which may stand, and what was seen."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from validator.conditions import CONDITIONS, Board


class Check(NamedTuple):
    """One row of the report.

    Attributes:
        holds: one sentence: what is so while the check is passed.
        conditions: by name; the check fails while one of them stands, unless that is a note.
        known: whether it holds from the start; else nothing is known before something was seen.
        theirs: whether others can make it fail, miners or a slow node, while this validator does all of its work; then
            `/readyz` names it and stays 200.
    """

    holds: str
    conditions: tuple[str, ...]
    known: bool = False
    theirs: bool = False


CHECKS: Final[Mapping[str, Check]] = {
    "rounds": Check("Rounds begin and end.", ("rounds_silent", "rounds_failing", "parked"), known=True),
    "dispatches": Check(
        "Rounds send requests to miners.", ("rounds_no_tasks", "rounds_no_miners", "rounds_no_dispatches")
    ),
    "answers": Check(
        "Some answers pass their gates and earn.", ("rounds_no_valid_answers", "rounds_all_early"), theirs=True
    ),
    "declarations": Check("Some of the miners' declarations are accepted.", ("declarations_refused",), theirs=True),
    "miners": Check("Most miners that answered in the last day are drawn and answer.", ("miners_out",), theirs=True),
    "pay": Check(
        "At least 7 miners are paid where so many answer, and nobody gets more than half.",
        ("weights_few_paid", "weights_concentrated"),
        theirs=True,
    ),
    "weights": Check(
        "The chain takes weights, and the last are not older than `health.weights_epochs`.",
        ("weights_old", "weights_failing", "weights_refused"),
    ),
    "standing": Check("The hotkey is registered and has a validator permit.", ("no_standing",)),
    "chain": Check(
        "The chain answers, and its blocks move on.",
        ("chain_away", "subnet_gone", "other_chain", "chain_behind", "chain_stale"),
    ),
    "latency": Check("The chain answers within a second.", ("chain_slow",), theirs=True),
    "clock": Check("The clock agrees with the chain's.", ("local_clock",)),
    "store": Check("The database takes writes.", ("store_away", "store_no_write", "store_damaged"), known=True),
    "disk": Check("A round's answers find room.", ("local_disk",)),
    "descriptors": Check("A round's requests find file descriptors.", ("local_descriptors",)),
    "loop": Check("The event loop runs.", ("loop_stuck",), known=True),
    "workers": Check("Answers are judged as they come.", ("gates_behind",)),
    "executions": Check(
        "Bundles of runtime types are executed.",
        ("sandbox_away", "sandbox_image", "sandbox_slow", "workers_away", "executions_late", "executions_off"),
    ),
    "code": Check("No code of plans waits for its sandbox.", ("code_waits", "code_off")),
}


def checked(seen: Mapping[str, Mapping[str, Any]], board: Board) -> dict[str, dict[str, Any]]:
    """Return the report's rows: `ok`, the sentence, the advice where the check fails, and what was seen.

    Args:
        seen: by check, the facts.
        board: which conditions stand.
    """
    return {name: _row(check, seen.get(name), board) for name, check in CHECKS.items()}


def _row(check: Check, seen: Mapping[str, Any] | None, board: Board) -> dict[str, Any]:
    standing = [CONDITIONS[name] for name in check.conditions if board.stands(name)]
    failing = [condition for condition in standing if condition.severity != "note"]
    told = [{"condition": one.name, "advice": one.advice} for one in (*failing, *standing)]
    known = check.known or (seen is not None and not standing)
    return {
        "ok": False if failing else True if known else None,
        "holds": check.holds,
        **dict(*told[:1]),
        **(seen or {}),
    }
