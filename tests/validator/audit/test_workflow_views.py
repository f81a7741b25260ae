"""The listing of a round with workflow tasks: measured values instead of verdicts, deferred ones named."""

import pytest
from explained import HOTKEYS
from planned import CYCLE, GOOD, MINERS, planned

from sssa.protocol.reasons import Reason
from validator.audit.documents import round_document
from validator.cli.rounds import print_round
from validator.store import Store


async def test_a_round_of_workflows_is_listed_by_what_was_measured(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    await planned(store)
    async with store.read() as tx:
        first, second = await round_document(tx, 0), await round_document(tx, 1)
    assert first is not None
    assert second is not None
    lines = {line.hotkey: line for line in first.tasks[0].dispatches}
    good, cycle = lines[HOTKEYS[GOOD]], lines[HOTKEYS[CYCLE]]
    assert good.workflow is not None
    assert good.emission == good.workflow.score.score
    assert (cycle.workflow, cycle.reason) == (None, "parse_plan")
    deferred = [[line.reason for line in task.dispatches].count(Reason.WORKFLOW_DEFERRED) for task in second.tasks]
    assert sorted(deferred) == [0, MINERS - 1]
    capsys.readouterr()
    print_round(first)
    page = capsys.readouterr().out
    assert f"goal {first.tasks[0].bundle_sha256}" in page
    assert "4 plans were run" in page
    own = next(line for line in page.splitlines() if HOTKEYS[GOOD] in line and "accepted" in line)
    assert {"2", "of", "1.0000", "0.02", "2.500", "0.9887"} <= set(own.split())
