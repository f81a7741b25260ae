"""Text pages of the kinds of tasks: a file for each kind, and a row of `PAGES` by the kind's name.

Prints, and touches nothing else: explanations in, lines out. Called by `validator explain` and `validator rounds`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sssa.cli.rendering import Page
from sssa.kinds import registry
from sssa.protocol.round import GroupOutcome
from sssa.protocol.skill_types import SkillType
from sssa.scoring import Rules
from validator.audit.documents import DispatchDocument, TaskDocument
from validator.cli.kinds import assessment, workflow


class KindPage(NamedTuple):
    """The page of a kind: its explanation for a hotkey, a line on the subject, one on the outcome, a row per member."""

    explained: Callable[[Page, Rules, Any, str], None]
    subject: Callable[[TaskDocument], str]
    outcome_line: Callable[[GroupOutcome], str]
    dispatches: Callable[[Sequence[DispatchDocument]], None]


PAGES: Final[Mapping[str, KindPage]] = {
    "assessment": KindPage(
        assessment.write_assessment, assessment.subject, assessment.outcome_line, assessment.print_dispatches
    ),
    "workflow": KindPage(workflow.write_workflow, workflow.subject, workflow.outcome_line, workflow.print_plans),
}


def page_of(skill_type: SkillType) -> KindPage:
    """Return the page of tasks of this type."""
    return PAGES[registry.KINDS[skill_type].name]
