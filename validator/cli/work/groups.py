"""What `validator groups …` does: recompute a verification group (SPEC 8)."""

from validator.cli.cases import score_files
from validator.cli.group_cases import SelectionCase, select_case


def select(files: list[str]) -> None:
    """Select the group of a task from its frozen pool and seed."""
    score_files(files, SelectionCase, select_case)
