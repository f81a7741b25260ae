import asyncio
import dataclasses
import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from miner.analysis import Analysis
from miner.analysis_pool import NICENESS, AnalysisPool, analyse_bundle
from miner.behaviours import NOTHING
from miner.bundles.written import written_bundles
from sssa.protocol.skill_types import SkillType
from validator.workers.interface import TooCostlyError

DOCUMENT = SkillType.RAG_KNOWLEDGE


def counted(files: Mapping[str, bytes], skill_type: SkillType, marker: str | None) -> Analysis:
    """Note each call in the file that the bundle names, then do what it says."""
    with Path(files["log"].decode()).open("a") as log:
        log.write(f"{marker}\n")
    while not Path(files["gate"].decode()).exists():
        time.sleep(0.005)
    if "fail" in files:
        raise ValueError("no")
    if "die" in files and len(Path(files["log"].decode()).read_text().splitlines()) <= int(files["die"]):
        os._exit(3)
    return dataclasses.replace(NOTHING, capabilities=(str(os.getpid()), str(marker)))


class Log:
    """Counts the calls; they wait until the gate is open."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "log"
        self.gate = folder / "gate"

    def bundle(self, **more: str) -> dict[str, bytes]:
        return {name: str(value).encode() for name, value in {"log": self.path, "gate": self.gate, **more}.items()}

    def calls(self) -> list[str]:
        return self.path.read_text().splitlines()


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


async def test_one_analysis_serves_all_who_ask_and_happens_in_another_process(log: Log) -> None:
    pool = AnalysisPool(1, counted)
    try:
        asked = [asyncio.ensure_future(pool.analyse("aa", log.bundle(), DOCUMENT, None)) for _ in range(5)]
        await asyncio.sleep(0)
        asked[0].cancel()  # one stops waiting; the others get theirs
        log.gate.touch()
        results = await asyncio.gather(*asked[1:])
        later = await pool.analyse("aa", log.bundle(), DOCUMENT, None)
    finally:
        await pool.close()
    assert all(result is later for result in results)
    assert log.calls() == ["None"]
    assert later.capabilities[0] != str(os.getpid())


async def test_markers_types_and_bundles_are_analysed_apart(log: Log) -> None:
    log.gate.touch()
    pool = AnalysisPool(1, counted)
    try:
        await pool.analyse("aa", log.bundle(), DOCUMENT, None)
        marked = await pool.analyse("aa", log.bundle(), DOCUMENT, "CANARY-1")
        await pool.analyse("aa", log.bundle(), SkillType.DECLARATIVE, None)
        await pool.analyse("bb", log.bundle(), DOCUMENT, None)
    finally:
        await pool.close()
    assert log.calls() == ["None", "CANARY-1", "None", "None"]
    assert marked.capabilities[1] == "CANARY-1"


async def test_a_failure_reaches_everybody_and_is_not_kept(log: Log) -> None:
    log.gate.touch()
    pool = AnalysisPool(1, counted)
    try:
        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                await pool.analyse("aa", log.bundle(fail="1"), DOCUMENT, None)
    finally:
        await pool.close()
    assert len(log.calls()) == 2


async def test_a_worker_that_dies_is_replaced_once(log: Log) -> None:
    log.gate.touch()
    pool = AnalysisPool(1, counted)
    try:
        await pool.analyse("aa", log.bundle(die="1"), DOCUMENT, None)
        with pytest.raises(TooCostlyError):
            await pool.analyse("bb", log.bundle(die="9"), DOCUMENT, None)
        await pool.analyse("cc", log.bundle(), DOCUMENT, None)
    finally:
        await pool.close()


async def test_closing_ends_what_is_waiting(log: Log) -> None:
    pool = AnalysisPool(1, counted)
    waiting = [asyncio.ensure_future(pool.analyse(name, log.bundle(), DOCUMENT, None)) for name in ("aa", "bb", "cc")]
    await asyncio.sleep(0)
    log.gate.touch()
    await pool.close()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)


def told_niceness(_: Mapping[str, bytes], __: SkillType, ___: str | None) -> Analysis:
    return dataclasses.replace(NOTHING, capabilities=(str(os.getpriority(os.PRIO_PROCESS, 0)),))


async def test_workers_take_a_back_seat() -> None:
    pool = AnalysisPool(1, told_niceness)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        result = await pool.analyse("aa", {}, DOCUMENT, None)
    finally:
        await pool.close()
    assert result.capabilities == (str(min(own + NICENESS, 19)),)


async def test_each_analysis_costs_what_it_cost_its_worker(log: Log) -> None:
    log.gate.touch()
    pool = AnalysisPool(1, counted)
    try:
        for sha256 in ("aa", "aa", "bb"):
            await pool.analyse(sha256, log.bundle(), DOCUMENT, None)
    finally:
        await pool.close()
    assert [(one.sha256, one.skill_type) for one in pool.spent] == [("aa", DOCUMENT), ("bb", DOCUMENT)]
    assert all(0 <= one.seconds < 5 for one in pool.spent)


async def test_the_reference_analysis_survives_the_journey() -> None:
    pool = AnalysisPool(1)
    bundle = written_bundles()[0]
    try:
        result = await pool.analyse("aa", bundle.files, bundle.skill_type, None)
    finally:
        await pool.close()
    assert result == analyse_bundle(bundle.files, bundle.skill_type, None)
