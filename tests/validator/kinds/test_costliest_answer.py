"""Cost of judging, measured on an answer at the limits (SPEC 5, D-27)."""

import base64
import time
from typing import Any

import pytest
from structlog.testing import capture_logs

from sssa.kinds.assessment.costliest_answer import SHARE, dearest_answer, dearest_cost
from sssa.kinds.assessment.judge import judge
from sssa.kinds.judging import Expected
from sssa.protocol import limits
from sssa.protocol.answer import parse_answer
from sssa.protocol.archives import unpack
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.reasons import Reason
from validator.daemon.watches import BudgetService
from validator.workers.interface import Budget, Here
from validator.workers.pool import WorkerPool

pytestmark = pytest.mark.attack

Whole = tuple[Expected[Any], bytes]


@pytest.fixture(scope="module")
def whole() -> Whole:
    return dearest_answer(1)


def test_the_whole_answer_is_legal_and_at_the_limits(whole: Whole) -> None:
    expected, body = whole
    assert judge(expected, body, 1.0).reason == Reason.ACCEPTED
    answer = parse_answer(body, limit=limits.MAX_BODY_RUNTIME_PRIMARY)
    assert len(answer.sssa.analysis.findings) == limits.MAX_FINDINGS
    assert 0.9 < len(canonical_bytes(answer.sssa)) / limits.MAX_ATTESTATION <= 1
    assert answer.trace_bundle is not None
    files = dict(
        unpack(
            base64.b64decode(answer.trace_bundle),
            expanded=limits.MAX_TRACES_EXPANDED,
            file_size=limits.MAX_TRACES_EXPANDED,
            entries=64,
        )
    )
    assert sum(content.count(b"\n") for content in files.values()) == limits.MAX_TRACE_RECORDS
    assert sum(map(len, files.values())) > 0.95 * limits.MAX_TRACES_EXPANDED


def test_a_share_of_it_tells_what_the_whole_costs(whole: Whole) -> None:
    expected, body = whole
    estimate = min(dearest_cost() for _ in range(2))
    began = time.process_time()
    judge(expected, body, 1.0)
    cost = time.process_time() - began
    assert 0.5 < estimate / cost < 2.5
    assert SHARE > 1


async def test_the_budget_is_ten_times_as_much_and_told() -> None:
    pool = WorkerPool(1, budget=Budget(cpu_s=60))
    try:
        with capture_logs() as logged:
            await BudgetService(pool).run()
    finally:
        await pool.close()
    assert pool.budget is not None
    assert 10 <= pool.budget.cpu_s < 600
    assert pool.budget.cpu_s != 60
    assert pool.budget.memory == Budget().memory
    assert [(line["event"], line["memory"]) for line in logged] == [("judging_budget", Budget().memory)]


async def test_where_nothing_is_bounded_nothing_is_measured() -> None:
    workers = Here()
    await BudgetService(workers).run()
    assert workers.budget is None


async def test_a_machine_that_cannot_measure_keeps_the_budget_it_has() -> None:
    pool = WorkerPool(1, budget=Budget(cpu_s=0.001))
    try:
        with capture_logs() as logged:
            await BudgetService(pool).run()
    finally:
        await pool.close()
    assert pool.budget == Budget(cpu_s=0.001)
    assert [line["event"] for line in logged] == ["worker_ended", "worker_ended"]
