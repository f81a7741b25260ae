"""Waiting work: executions, code of plans, and the processes that work on it."""

from typing import Final

from validator.telemetry.catalogue.entry import Entry, Subject

_NAMED: Final = "kind work_id round_id task_id skill_type hotkeys attempts"

WAITING: Final[Subject] = {
    "work_ended": Entry(
        "The end of an execution or a code check, its canonical line: done with a result, or inconclusive.",
        f"{_NAMED} outcome reason detail seconds",
        todo="Nothing; `validator executions show` and `validator checks show` have the rest. Code that is inconclusive"
        " with `sandbox_tests`: correct the task.",
    ),
    "work_postponed": Entry(
        "A try showed nothing of any miner: it is made again after so many seconds, an execution only until the next"
        " round settles.",
        f"{_NAMED} reason detail seconds",
        todo="Look up `reason` in [the sandbox](../operators/sandbox.md) where it comes again and again.",
    ),
    "work_handed_back": Entry(
        "A worker had to stop in the middle of a try: it is as if the try had not begun.", _NAMED
    ),
    "work_failed": Entry(
        "An error of the validator in waiting work, which is tried again; said once per change.",
        "kind reason repeats exception",
        todo="Report it with the traceback; it is tried again, and no miner loses anything by it.",
    ),
    "sandbox_left": Entry(
        "The container engine does not remove what a run left; it is set aside, and bars no other run.",
        "name detail",
        todo="Remove it in the engine by this name; an engine that removes nothing wants to be restarted.",
    ),
    "queue_failed": Entry(
        "An error of the validator over the jobs of waiting work; said once per change.",
        "reason repeats exception",
        todo="Look whether the database answers; with a traceback: report it. The jobs come again.",
    ),
    "worker_started": Entry("A worker process takes jobs from now on.", "version name queues concurrency"),
    "worker_alive": Entry(
        "What a worker process does and has done so far; every minute.", "name queues ready running done"
    ),
    "worker_stopped": Entry("A worker process ends.", "name done seconds"),
}
