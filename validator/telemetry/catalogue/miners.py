"""Tasks and miners, those of the local network too; what is removed of their answers."""

from typing import Final

from validator.telemetry.catalogue.entry import Entry, Subject

_ROUND: Final = "round_id"

TASKS_AND_MINERS: Final[Subject] = {
    "task_refused": Entry(
        "A task is not used.",
        "task bundle_sha256 reason",
        todo="`validator tasks check` lists every fault of it: correct the task, or take it away.",
    ),
    "canary_failed": Entry(
        "A canary could not be made: the slot goes to a task of the source.",
        "skill_type reason",
        todo="Look at the folder `tasks.bases`: `validator doctor` says what is wrong with it.",
    ),
    "canary_built_in": Entry(
        "`tasks.bases` has no usable base of a type: its canaries are made of built-in bundles, which miners can tell.",
        "skill_type",
        todo="Put a benign task of the type there; `task_refused` and `validator doctor` name those that are broken.",
    ),
    "tasks_retired": Entry(
        "A source holds tasks that are retired: they are passed over.",
        "skill_type skipped left",
        todo="Nothing. Once few are `left`, add tasks of the type; the retired ones may go.",
    ),
    "task_source_failed": Entry(
        "A task source gave nothing.",
        "skill_type reason",
        "reason",
        todo="A folder: can it be read? A server: is it up, is `tasks.server_hotkey` right, do the clocks agree?",
    ),
    "capabilities_refreshed": Entry(
        "The miners were asked what they can do.",
        "asked valid refused reasons seconds",
        todo="Nothing; with few `valid` look at `reasons`: all of one kind means this machine's network or clock.",
    ),
    "flag_raised": Entry(
        "A miner agrees with its fellow primaries far more than with auditors.",
        f"{_ROUND} hotkey skill_type mean_with_primaries mean_with_auditors samples flags",
        todo="Look at their answers and decide: [flags](../operators/miners.md#flags).",
    ),
    "miner_started": Entry("A reference miner listens.", "hotkey host port behaviour"),
    "miner_announced": Entry("A reference miner's address stands on chain.", "netuid uid ip port"),
    "local_run_failed": Entry(
        "A miner of the local network could not run a bundle.",
        "detail",
        todo="Look at `detail`: the miner's machine lacks what the bundle needs. No validator is concerned.",
    ),
    "retention_postponed": Entry(
        "The store was busy; retention tries again in an hour.",
        "reason",
        todo="Nothing; often: look for a long transaction in the database.",
    ),
    "retention_pruned": Entry("Raw answers and bundles past their time were removed.", "answers bundles"),
}
