from pathlib import Path

import pytest

from localnet.executions.local_engine import Executions
from localnet.network_tasks import OwnStock
from localnet.own.own_tasks import OwnTask, OwnTasks, Pace
from localnet.own.results import Counts, Heard
from localnet.own.task_advice import advice
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Windows

TASK = OwnTask("a", Path("a"), SkillType.DECLARATIVE, Windows((1, 20), (0, 10)), has_truth=True)


def test_what_keeps_executions_away_is_told_before_that_no_bundle_of_an_owner_is_run() -> None:
    stock = OwnStock(OwnTasks({}, (), Pace()))
    assert stock.executions(Executions.none("no engine")).why_not == "no engine"
    assert "no bundle of yours" in stock.executions(Executions(None)).why_not


@pytest.mark.parametrize(("took", "todo"), [(9.9, "see what holds up the miners"), (10.0, "an analysis takes 10.0 s")])
def test_an_analysis_as_long_as_the_auditors_window_makes_everybody_late(took: float, todo: str) -> None:
    said = advice("late", TASK, Counts(4, 0, {}, None, None, None), Heard(1, 0, took, 1.0), ())
    assert todo in said
