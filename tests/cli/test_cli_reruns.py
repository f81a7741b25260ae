"""`validator reruns …` and explain, against a real store with reruns in every state."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from builders import IMAGE
from cli_store import Example, called, copied, example_in, validator

from validator.protocol.reasons import Reason
from validator.protocol.rerun import RerunReport, TraceReport
from validator.protocol.skill_types import SkillType
from validator.store import open_store
from validator.store.dispatch import Dispatch
from validator.store.rerun import QueuedRerun

NOW = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
PYTHON = SkillType.EXECUTABLE_PYTHON
REPORT = RerunReport(
    probes={"file": True, "network": False, "process": True},
    traces={
        "fs": TraceReport(2, 3, 1, 1 / 3, ('["write","/tmp/inv\x1bented"]',), ('["read","/skill/a.py"]',)),
        "process": TraceReport(1, 1, 1, 1.0, (), ()),
    },
    fs_equal=False,
    similarity=0.8333,
)


def ids(many: int) -> list[str]:
    return [f"{0:016d}-000-{rank:02d}" for rank in range(many)]


async def _add(url: str) -> list[Dispatch]:
    """One failed, one passed, one inconclusive, one waiting: of the first dispatches of round 0."""
    async with open_store(url) as store, store.begin() as tx:
        of_round = (await tx.dispatches.of_round(0))[:4]
        keys = [
            QueuedRerun(rerun_id, one.key, PYTHON, Reason.RERUN_DRAWN, IMAGE)
            for rerun_id, one in zip(ids(4), of_round, strict=True)
        ]
        await tx.reruns.queue(keys, NOW)
        taken = {}
        for _ in keys:
            rerun = await tx.reruns.take(NOW)
            assert rerun is not None
            taken[rerun.rerun_id] = rerun
        failed, passed, lost, waits = (taken[rerun_id] for rerun_id in ids(4))
        assert await tx.reruns.done(failed, "rerun_fail", Reason.RERUN_FS, REPORT, NOW, "said\x1b[31m so")
        assert await tx.reruns.done(passed, "rerun_pass", Reason.RERUN_SAME, None, NOW)
        assert await tx.reruns.give_up(lost, Reason.SANDBOX_IMAGE, NOW, "no route")
        assert await tx.reruns.again(waits, Reason.SANDBOX_NO_ENGINE, NOW + timedelta(days=400))
        return list(of_round)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Example, list[Dispatch]]:
    folder = tmp_path_factory.mktemp("reruns")
    own = copied(example_in(tmp_path_factory.getbasetemp() / "example"), folder)
    return own, asyncio.run(_add(f"sqlite:///{own.database}"))


def test_the_list(example: tuple[Example, list[Dispatch]]) -> None:
    store, dispatches = example
    done = validator("reruns", "list", "--config", str(store.config))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "done 2, inconclusive 1, pending 1"
    assert [line.split()[0] for line in lines[2:]] == ids(4)[::-1]
    shown = json.loads(called("reruns", "list", "--json", "--config", str(store.config)).stdout)
    assert shown["counts"] == {"done": 2, "inconclusive": 1, "pending": 1}
    assert [one["hotkey"] for one in shown["reruns"]] == [one.key.hotkey for one in dispatches[::-1]]
    some = called("reruns", "list", "--state", "done", "--limit", "1", "--json", "--config", str(store.config))
    assert [one["rerun_id"] for one in json.loads(some.stdout)["reruns"]] == ids(2)[1:]
    assert called("reruns", "list", "--state", "odd", "--config", str(store.config)).returncode == 2


def test_a_store_without_any(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = example_in(tmp_path_factory.getbasetemp() / "example")
    assert called("reruns", "list", "--config", str(store.config)).stdout == "no reruns\n"


def test_both_runs_side_by_side(example: tuple[Example, list[Dispatch]]) -> None:
    store, dispatches = example
    done = called("reruns", "show", ids(1)[0], "--config", str(store.config))
    assert (done.returncode, done.stderr) == (0, "")
    words = " ".join(done.stdout.split())
    for said in (
        f"Round 0, miner {dispatches[0].key.hotkey}",
        "rerun_fs: The repeated run touched other files than the miner's traces claim. (said\\u001b[31m so)",
        "probes in the repeated run: file seen, network not seen, process seen",
        "fs 2 3 1 0.3333",
        'fs: the miner claims, and was not seen: ["write","/tmp/inv\\u001bented"]',
        'fs: was seen, and the miner does not claim: ["read","/skill/a.py"]',
        "the next round that is settled counts it",
    ):
        assert said in words
    shown = json.loads(called("reruns", "show", ids(1)[0], "--json", "--config", str(store.config)).stdout)
    assert (shown["event"], shown["report"]["traces"]["fs"]["only_claimed"]) == (
        "rerun_fail",
        ['["write","/tmp/inv\x1bented"]'],
    )
    missing = called("reruns", "show", "no\x1bsuch", "--config", str(store.config))
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "no rerun has this id: no\\u001bsuch" in missing.stderr


def test_explain_shows_the_runs_of_the_miners_answers(example: tuple[Example, list[Dispatch]]) -> None:
    store, dispatches = example
    hotkey = dispatches[0].key.hotkey
    done = called("explain", "0", hotkey, "--config", str(store.config))
    assert (done.returncode, done.stderr) == (0, "")
    assert "the miner claims, and was not seen" in done.stdout
    shown = json.loads(called("explain", "0", hotkey, "--json", "--config", str(store.config)).stdout)
    mine = [one for one, dispatch in zip(ids(4), dispatches, strict=True) if dispatch.key.hotkey == hotkey]
    assert [one["rerun_id"] for one in shown["reruns"]] == mine


def test_what_waits_or_was_given_up_can_be_tried_again(example: tuple[Example, list[Dispatch]], tmp_path: Path) -> None:
    own = copied_again(example[0], tmp_path)
    for rerun_id in ids(4)[2:]:
        done = called("reruns", "retry", rerun_id, "--config", str(own.config))
        assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(called("reruns", "list", "--state", "pending", "--json", "--config", str(own.config)).stdout)
    assert {one["rerun_id"] for one in shown["reruns"]} == set(ids(4)[2:])
    assert all(one["due_at"] < "2027" for one in shown["reruns"])
    refused = called("reruns", "retry", ids(1)[0], "--config", str(own.config))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "is done: only what waits or ended inconclusive can be tried again" in refused.stderr
    assert called("reruns", "retry", "nothing", "--config", str(own.config)).returncode == 1


def copied_again(store: Example, folder: Path) -> Example:
    """A copy of a copy."""
    own = folder / "again"
    own.mkdir()
    for part in store.database.parent.glob("own.sqlite*"):
        (own / part.name.replace("own", "example")).write_bytes(part.read_bytes())
    return copied(Example(store.config, own / "example.sqlite"), folder)
