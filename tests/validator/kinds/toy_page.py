"""View of the toy kind: the file of a kind in cli/kinds/."""

from collections.abc import Sequence

from toy_kind import ToyExplanation

from sssa.cli.output import print_line
from sssa.cli.rendering import Page
from sssa.protocol.round import GroupOutcome
from sssa.scoring import Rules
from validator.audit.documents import DispatchDocument, TaskDocument


def write_toy(page: Page, _rules: Rules, task: ToyExplanation, hotkey: str) -> None:
    page.section(f"a toy, slot {task.slot}, for {hotkey}")


def subject(task: TaskDocument) -> str:
    return f"toy {task.bundle_sha256}"


def outcome_line(outcome: GroupOutcome) -> str:
    return f"{outcome.n_valid} toys"


def print_members(dispatches: Sequence[DispatchDocument]) -> None:
    print_line(f"{sum(one.uid is not None for one in dispatches)} played")
