"""The listing of a round with workflow tasks: measured values instead of verdicts, deferred ones named."""

import pytest
from explained import HOTKEYS
from planned import CYCLE, GOOD, MINERS, planned

from validator.audit.views import round_view
from validator.cli.rounds import print_round
from validator.protocol.reasons import Reason
from validator.protocol.round import FailedMember, RanMember
from validator.store import Store


async def test_a_round_of_workflows_is_listed_by_what_was_measured(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    await planned(store)
    async with store.read() as tx:
        first, second = await round_view(tx, 0), await round_view(tx, 1)
    assert first is not None
    assert second is not None
    lines = {line.key.hotkey: line for line in first.tasks[0].dispatches}
    good, cycle = lines[HOTKEYS[GOOD]], lines[HOTKEYS[CYCLE]]
    assert isinstance(good.score, RanMember)
    assert good.score.workflow is not None
    assert good.window_entry == good.score.workflow.score.score
    assert isinstance(cycle.score, FailedMember)
    assert cycle.end == "parse_plan"
    deferred = [[line.end for line in task.dispatches].count(Reason.WORKFLOW_DEFERRED) for task in second.tasks]
    assert sorted(deferred) == [0, MINERS - 1]
    capsys.readouterr()
    print_round(first)
    page = capsys.readouterr().out
    assert f"goal {first.tasks[0].task.bundle_sha256}" in page
    assert "4 plans were run" in page
    own = next(line for line in page.splitlines() if HOTKEYS[GOOD] in line and "accepted" in line)
    assert {"2", "of", "1.0000", "0.02", "2.500", "0.9887"} <= set(own.split())
