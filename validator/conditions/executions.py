"""What keeps bundles from being executed, and what nobody sees then."""

from typing import Final

from validator.conditions.condition import Condition

EXECUTIONS: Final = (
    Condition(
        "executions_off",
        "note",
        "There is no sandbox, and nothing is executed: this validator cannot see whether miners ran what they attest.",
        "Name a container engine in `sandbox.engine`, or leave it: miners lose nothing by it.",
    ),
    Condition(
        "sandbox_away",
        "degraded",
        "The container engine does not run bundles: executions wait.",
        "Look at the engine and at what the detail names; what waits counts against nobody.",
    ),
    Condition(
        "sandbox_image",
        "degraded",
        "The container engine does not have the runtime image and cannot pull it: nothing is executed.",
        "Pull the image that the detail names into the engine, or correct `scoring.runtime_images`.",
    ),
    Condition(
        "sandbox_slow",
        "degraded",
        "A call to the container engine took too long: what was being executed is tried again.",
        "Look at the load of the engine's machine and at what the detail names; restart an engine that is stuck.",
    ),
    Condition(
        "executions_late",
        "degraded",
        "More than a third of the last day's tasks were not executed in time: they say nothing of any miner.",
        "Look at what `validator executions list` says of their tries; give the engine more, or add worker machines.",
    ),
    Condition(
        "code_off",
        "note",
        "There is no sandbox to judge code in: plans for code tasks wait, and enter no window before there is one.",
        "Name an engine in `sandbox.engine`, or take the code tasks away; what waits is judged later.",
    ),
    Condition(
        "code_waits",
        "degraded",
        "Code of plans waits to be judged: its sandbox does not run.",
        "Look at the engine and at what the detail names; code is tried until it is judged, at no planner's cost.",
    ),
    Condition(
        "workers_away",
        "degraded",
        "No worker process takes waiting work from the queue: it waits.",
        "Start `validator worker`, or look at the log of those that run: without its engine one takes none.",
    ),
)
