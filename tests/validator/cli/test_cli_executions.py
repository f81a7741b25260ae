"""`validator waiting …` and explain, against a real store with executions in every state."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest
from cli_store import Example, called, copied, example_in, validator

from sssa.protocol.execution import AnswerFileReport, AnswerReport, AnswerResult, RunFileReport, RunReport
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import SkillType
from sssa.protocol.waiting_work import Executed, QueuedWork
from validator.store import open_store

NOW = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
PYTHON = SkillType.EXECUTABLE_PYTHON
RUNS = RunReport({"fs": RunFileReport(5, 9, 2, 2), "process": RunFileReport(1, 2, 1, 0)}, "/tmp/state-\x1b7.json")
CAUGHT = AnswerReport(
    ("mark", "fs missing"),
    False,
    {
        "fs": AnswerFileReport(3, 2, 3, 1, ('["read","/skill/a.py"]',), ('["write","/tmp/inv\x1bented"]',)),
        "process": AnswerFileReport(1, 1, 0, 0, (), ()),
    },
)
FINE = AnswerReport((), True, {"fs": AnswerFileReport(5, 5, 0, 0, (), ())})
IDS = [f"{0:016d}-{position:03d}" for position in range(4)]
Made = tuple[Example, tuple[str, str]]


async def _add(url: str) -> tuple[str, str]:
    """One done, one inconclusive with what the runs showed, one given up, one waiting: of round 0's first tasks."""
    async with open_store(url) as store, store.begin() as tx:
        tasks = (await tx.tasks.of_round(0))[:4]
        dispatches = await tx.dispatches.of_round(0)
        hotkeys = tuple(dict.fromkeys(one.key.hotkey for one in dispatches if one.key.task_id == tasks[0].task_id))[:2]
        await tx.executions.queue(
            [
                QueuedWork(execution_id, 0, task.task_id, PYTHON, place, hotkeys)
                for place, (execution_id, task) in enumerate(zip(IDS, tasks, strict=True))
            ],
            NOW,
        )
        taken = []
        for _ in IDS:
            one = await tx.executions.take(NOW)
            assert one is not None
            taken.append(one)
        caught, fine = AnswerResult(hotkeys[0], "rerun_fail", CAUGHT), AnswerResult(hotkeys[1], "rerun_pass", FINE)
        unclear = AnswerResult("5" * 48, None, CAUGHT)
        assert await tx.executions.end(
            taken[0], "done", Reason.EXECUTION_COMPARED, NOW, "said\x1b[31m so", Executed(RUNS, (caught, fine, unclear))
        )
        assert await tx.executions.end(taken[1], "inconclusive", Reason.EXECUTION_VARIES, NOW, "", Executed(RUNS))
        assert await tx.executions.end(taken[2], "inconclusive", Reason.SANDBOX_IMAGE, NOW, "no route")
        assert await tx.executions.postpone(taken[3], Reason.SANDBOX_NO_ENGINE, NOW + timedelta(days=400))
        return hotkeys[0], hotkeys[1]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("executions")
    own = copied(example_in(tmp_path_factory.getbasetemp() / "example"), folder)
    return own, asyncio.run(_add(f"sqlite:///{own.database}"))


def test_the_list(example: Made) -> None:
    store, _ = example
    done = validator("waiting", "list", "--config", str(store.config))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "executions: done 1, inconclusive 2, pending 1"
    assert [line.split()[0] for line in lines[2:-1]] == IDS[::-1]
    assert lines[-1] == "code checks: none"
    shown = json.loads(called("waiting", "list", "--json", "--config", str(store.config)).stdout)["executions"]
    assert shown["counts"] == {"done": 1, "inconclusive": 2, "pending": 1}
    some = called("waiting", "list", "--state", "done", "--limit", "1", "--json", "--config", str(store.config))
    (one,) = json.loads(some.stdout)["executions"]["listed"]
    assert (one["execution_id"], [each["event"] for each in one["results"]]) == (
        IDS[0],
        ["rerun_fail", "rerun_pass", None],
    )
    assert called("waiting", "list", "--state", "odd", "--config", str(store.config)).returncode == 2


def test_a_store_without_any(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = example_in(tmp_path_factory.getbasetemp() / "example")
    assert called("waiting", "list", "--config", str(store.config)).stdout == "executions: none\ncode checks: none\n"


def test_the_runs_next_to_what_each_miner_claims(example: Made) -> None:
    store, (caught, fine) = example
    done = called("waiting", "show", IDS[0], "--config", str(store.config))
    assert (done.returncode, done.stderr) == (0, "")
    shown = " ".join(done.stdout.split())
    for line in (
        "(said\\u001b[31m so)",
        "fs 5 2 2 9",
        f"{caught}: rerun_fail: mark, fs missing",
        "the execution mark is missing from its traces: /tmp/state-\\u001b7.json",
        "fs 5 3 2 3 1",
        'fs: every run shows it, the miner does not claim it: ["read","/skill/a.py"]',
        'fs: the miner claims it, no run shows it: ["write","/tmp/inv\\u001bented"]',
        f"{'5' * 48}: no event: mark, fs missing its traces pass when names that differ in digits alone count as one:",
        f"{fine}: rerun_pass the execution mark is in its traces: /tmp/state-",
        "the next round that is settled counts it",
    ):
        assert line in shown, line
    unsure = " ".join(called("waiting", "show", IDS[1], "--config", str(store.config)).stdout.split())
    assert "execution_varies: Two runs of the bundle differ by more than they have in common." in unsure
    assert "it says nothing of any miner" in unsure
    missing = called("waiting", "show", "no\x1bsuch", "--config", str(store.config))
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "no execution and no code check has this id: no\\u001bsuch" in missing.stderr


def test_explain_shows_a_miner_its_own_result_alone(example: Made) -> None:
    store, (caught, fine) = example
    done = called("explain", caught, "--round", "0", "--config", str(store.config))
    assert (done.returncode, done.stderr) == (0, "")
    assert "the miner claims it, no run shows it" in done.stdout
    assert f"{fine}: rerun_pass" not in done.stdout
    shown = json.loads(called("explain", caught, "--round", "0", "--json", "--config", str(store.config)).stdout)
    assert [one["execution_id"] for one in shown["executions"]] == IDS
    assert [one["hotkey"] for one in shown["executions"][0]["results"]] == [caught]


def test_what_waits_or_was_given_up_can_be_tried_again(example: Made) -> None:
    store, _ = example
    for execution_id in IDS[1:]:
        done = called("waiting", "retry", execution_id, "--config", str(store.config))
        assert (done.returncode, done.stderr) == (0, "")
    found = called("waiting", "list", "--state", "pending", "--json", "--config", str(store.config))
    shown = json.loads(found.stdout)
    assert {one["execution_id"] for one in shown["executions"]["listed"]} == set(IDS[1:])
    assert all(one["due_at"] < "2027" for one in shown["executions"]["listed"])
    refused = called("waiting", "retry", IDS[0], "--config", str(store.config))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "is done: only what waits or ended inconclusive can be tried again" in refused.stderr
    assert called("waiting", "retry", "nothing", "--config", str(store.config)).returncode == 1
