"""A third kind of task is a room and a row: built here, played, computed again, explained, and thrown away."""

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from audit_file import export
from replays import replayed
from toy_kind import TOY, Stamper, ToyExplanation
from toy_miners import ToyWorld
from toy_page import outcome_line, print_members, subject, write_toy
from world import VALIDATOR, on_virtual_time, tasks_of_all_types

from sssa.kinds import registry
from sssa.log.lines import FaultError
from sssa.log.verify import verify_file
from sssa.proofs.document import verify_document
from sssa.protocol.reasons import Reason
from validator.audit.documents import round_document
from validator.audit.explain.round_explanation import explain_round
from validator.cli import kinds as pages
from validator.cli.explain import print_round_explanation
from validator.cli.rounds import print_round
from validator.rounds.receipts import close_epoch
from validator.store import Store
from validator.store.rows import TaskRecord
from validator.tasks.source import MemorySource


async def test_a_third_kind_is_sent_run_settled_replayed_proven_verified_and_explained(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = pages.KindPage(write_toy, subject, outcome_line, print_members)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "KINDS", MappingProxyType({**registry.KINDS, **dict.fromkeys(TOY.types, TOY)}))
        patch.setattr(pages, "PAGES", {**pages.PAGES, TOY.name: page})
        stamper, world = Stamper(), ToyWorld(store, source=MemorySource(tasks_of_all_types(each=2)))
        world.dispatcher = replace(world.dispatcher, runners={**world.dispatcher.runners, TOY.name: stamper})
        world.service.dispatcher = world.dispatcher
        end = await on_virtual_time(world, world.service.one_round())

        assert end.outcome is not None
        assert end.returned is not None
        toys = {task.task_id for task in await tasks_of(store) if task.skill_type in TOY.types}
        reasons = [str(judged.reason) for (task, _), judged in end.returned.judged.items() if task in toys]
        assert len(toys) == 2
        assert world.toys == len(reasons) > len(toys)
        assert set(reasons) <= {Reason.ACCEPTED, Reason.PARSE_SCHEMA}
        assert stamper.stamps == reasons.count(Reason.ACCEPTED) > 0
        assert all(member.reason == Reason.ACCEPTED for member in end.outcome.members if member.task_id not in toys)

        assert (await replayed(store)).verdict == "equal"
        assert await close_epoch(store, VALIDATOR, world.clock)
        log = await export(store, tmp_path / "log.jsonl")
        verified = verify_file(log)
        assert (dict(verified.rounds), verified.pending) == ({"settled": 1}, 0)
        assert await kinds_of_proofs(store, toys) == {"toy"}

        async with store.read() as tx:
            for hotkey in world.signers:
                explained = await explain_round(tx, 0, hotkey)
                toy_tasks = [task for task in explained.tasks if task.task_id in toys]
                assert len(toy_tasks) == len(toys)
                assert all(isinstance(task, ToyExplanation) and task.as_stored for task in toy_tasks)
                print_round_explanation(explained)
                assert capsys.readouterr().out.count("a toy, slot") == len(toys)
            view = await round_document(tx, 0)
        assert view is not None
        print_round(view)
        assert f"{len(reasons) // 2} played" in capsys.readouterr().out

    # Without its row nothing of it is known any more: its answers are no assessments.
    assert (await replayed(store)).verdict == "different"
    with pytest.raises(FaultError, match="does not follow"):
        verify_file(log)


async def tasks_of(store: Store) -> tuple[TaskRecord, ...]:
    async with store.read() as tx:
        return await tx.tasks.of_round(0)


async def kinds_of_proofs(store: Store, tasks: set[str]) -> set[str]:
    found = set()
    async with store.read() as tx:
        for task in tasks:
            record = await tx.proofs.of_task(task)
            assert record is not None
            found.add(verify_document(record.document, VALIDATOR.hotkey).proof.metadata["kind"])
    return found
