"""What waits beside the rounds: executions, code of plans, and the processes that work on it."""

from typing import Final

from validator.telemetry.catalogue.entry import Entry, Subject

_ROUND: Final = "round_id"

EXECUTIONS: Final[Subject] = {
    "execution_ended": Entry(
        "What the execution of one task came to, its canonical line: done, a result for each answer, or inconclusive.",
        f"execution_id {_ROUND} task_id skill_type outcome reason detail attempts seconds",
        todo="Nothing; `validator executions show` has both sides.",
    ),
    "execution_postponed": Entry(
        "A try told nothing of any miner: it is made again after so many seconds, unless a round settles before.",
        f"execution_id {_ROUND} task_id skill_type reason detail attempts seconds",
        todo="Look up `reason` in [the sandbox](../operators/sandbox.md) where it comes again and again.",
    ),
    "sandbox_left": Entry(
        "The container engine does not remove what a run left; it is set aside, and bars no other run.",
        "name detail",
        todo="Remove it in the engine by this name; an engine that removes nothing wants to be restarted.",
    ),
    "executions_failed": Entry(
        "An error of the validator in an execution, which is tried again; said once per change.",
        "reason repeats exception",
        todo="Report it with the traceback; it is tried again, and counts against nobody.",
    ),
    "work_handed_back": Entry(
        "A worker had to stop in the middle of a try: it is as if the try had not begun.",
        f"execution_id {_ROUND} task_id skill_type attempts",
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
CODE_OF_PLANS: Final[Subject] = {
    "code_checked": Entry(
        "What judging one plan's code came to, its canonical line: judged, or inconclusive.",
        f"check_id {_ROUND} task_id skill_type hotkey outcome reason detail attempts seconds",
        todo="Nothing; inconclusive with `sandbox_tests`: correct the task.",
    ),
    "code_postponed": Entry(
        "A try told nothing of the code: it is made again after so many seconds.",
        f"check_id {_ROUND} task_id skill_type hotkey reason detail attempts seconds",
        todo="Look up `reason` in [the sandbox](../operators/sandbox.md) where it comes again and again.",
    ),
    "code_failed": Entry(
        "An error of the validator in judging code, which is tried again; said once per change.",
        "reason repeats exception",
        todo="Report it with the traceback; it is tried again, at no planner's cost.",
    ),
}
