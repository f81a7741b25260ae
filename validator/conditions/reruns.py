"""What keeps answers from being run again, and what nobody sees then."""

from typing import Final

from validator.conditions.condition import Condition

RERUNS: Final = (
    Condition(
        "reruns_off",
        "note",
        "There is no sandbox: whether miners ran what they attest stays unseen, and traces written by hand pass.",
        "Name a container engine in `sandbox.engine`, or leave it: miners lose nothing by it.",
    ),
    Condition(
        "sandbox_away",
        "degraded",
        "The container engine does not run what miners attest: reruns wait.",
        "Look at the engine and at what the detail names; reruns are tried again for hours, and count against nobody.",
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
        "reruns_full",
        "degraded",
        "So many reruns wait that a round's own may not fit: such a round has none of its answers run again.",
        "Look at what `validator reruns list` says of their tries; give the engine more, or more machines.",
    ),
    Condition(
        "code_off",
        "note",
        "There is no sandbox to judge code in: plans for code tasks wait, and enter no window before there is one.",
        "Name an engine and the runner's image in `sandbox`, or take the code tasks away; what waits is judged later.",
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
