"""How the toy is shown: a kind's file in cli/kinds/."""

from collections.abc import Sequence

from toy_kind import ToyExplanation

from validator.audit.views import DispatchView, TaskView
from validator.cli.explain_page import Page
from validator.cli.output import print_line
from validator.protocol.round import GroupOutcome
from validator.scoring import Rules


def write_toy(page: Page, _rules: Rules, task: ToyExplanation, hotkey: str) -> None:
    page.section(f"a toy, slot {task.slot}, for {hotkey}")


def subject(task: TaskView) -> str:
    return f"toy {task.bundle_sha256}"


def came_to(outcome: GroupOutcome) -> str:
    return f"{outcome.n_valid} toys"


def print_members(dispatches: Sequence[DispatchView]) -> None:
    print_line(f"{len(dispatches)} played")
