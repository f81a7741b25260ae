"""What the commands do. A module of this folder is imported when a command first names it, so that help needs none."""

from typing import TYPE_CHECKING

from validator.cli.lazy import when_named

if TYPE_CHECKING:
    from miner.cli.work import miner, miner_check, miner_new, task_draft, task_goals
else:
    __getattr__ = when_named(__name__)

__all__ = ["miner", "miner_check", "miner_new", "task_draft", "task_goals"]
