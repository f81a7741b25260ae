"""Rounds, their dispatches, and the workers that judge what comes back."""

from typing import Final

from validator.telemetry.catalogue.entry import Entry, Subject

_ROUND: Final = "round_id"
_SCORES: Final = "mean_quality mean_consensus flags unpaid"
_LINE: Final = f"{_ROUND} reason seconds beyond_s tasks dispatches most_open void_tasks advice {_SCORES}"

ROUNDS: Final[Subject] = {
    "round_started": Entry(
        "A round's input is frozen and stored; its dispatches go out.", f"{_ROUND} block epoch tasks dispatches"
    ),
    "dispatch": Entry(
        "What one dispatch came to: the canonical line of a (round, task, miner).",
        f"{_ROUND} task_id skill_type hotkey role reason gate seconds http_status detail",
        "hotkey reason",
        todo="Nothing for one miner. The same `reason` for all miners: look at this machine's network, clock and load.",
    ),
    "workflow_ran": Entry(
        "A miner's plan was run on the step services; the quality is absent while it is deferred.",
        f"{_ROUND} task_id hotkey run_id reason quality steps completed cost_tao seconds timeouts hard_failures",
        "hotkey reason",
    ),
    "dispatch_voided": Entry(
        "A dispatch that was charged to its miner is void after all: the validator stood still before its deadline.",
        f"{_ROUND} task_id hotkey reason detail",
        "reason",
        todo="As for `stalled`.",
    ),
    "dispatch_failed": Entry(
        "An error of the validator: the dispatch is void.",
        f"{_ROUND} task_id hotkey exception",
        "exception",
        todo="Report it with the traceback; the miner loses nothing.",
    ),
    "judging_budget": Entry(
        "What judging one answer may cost from now on: CPU seconds, measured in a worker, and bytes of memory.",
        "cpu_s memory",
    ),
    "worker_ended": Entry(
        "A worker died, or ran out of what an answer or a base of canaries may cost; made `again` once, then never.",
        "task_id hotkey reached detail again cpu_s memory",
        "hotkey reached",
        todo="`reached` cpu, memory, died: keep and report the answer, or remove the base. Else: memory, load, swap.",
    ),
    "workers_unavailable": Entry(
        "No worker process can be started; answers wait until one can.",
        "reason",
        todo="Raise the limits of processes and memory (`ulimit -u`, the container's).",
    ),
    "round_settled": Entry(
        "A round is scored and stored: its canonical line.", _LINE, todo="Nothing, unless `advice` says something."
    ),
    "round_ended": Entry(
        "A round ended without scores: skipped or void, the reason says which.",
        _LINE,
        todo="`skipped_no_tasks`: `validator tasks check`; `void_offline`: this machine's network.",
    ),
    "round_resumed": Entry(
        "A round that a crash left open was settled from what was stored.",
        f"{_ROUND} settled void_tasks tasks",
        todo="Find out why the process ended within a round: memory, `kill -9`, a grace time that is too short.",
    ),
    "round_abandoned": Entry(
        "A round that a crash left open could not be settled.",
        f"{_ROUND} reason",
        todo="`abandoned_version`: drain before the next upgrade. Else `validator db check`, and the disk.",
    ),
    "round_failed": Entry(
        "An error of the validator ended a round; said once per change.",
        "reason repeats exception",
        todo="Report it with the traceback; a restart is safe.",
    ),
}
