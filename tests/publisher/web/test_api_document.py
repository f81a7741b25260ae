"""The API against its own OpenAPI document, by schemathesis: no 5xx, and no answer that the document does not name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explained import ASSORTED_ROUNDS, HOTKEYS
from hypothesis import HealthCheck, Phase, given, settings
from web_kit import TOKEN, played, served

schemathesis = pytest.importorskip("schemathesis", reason="pytest -m pages tests/publisher/web installs schemathesis")

pytestmark = pytest.mark.pages
AS_OPERATOR = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chosen: Path = tmp_path_factory.mktemp("documented")
    with served(played(chosen), token=TOKEN) as address:
        yield schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json", headers=AS_OPERATOR)


def test_no_answer_is_a_fault_of_ours_or_undocumented(schema: Any) -> None:
    operations = [one.ok() for one in schema.get_all_operations()]
    assert len(operations) == 16
    for operation in operations:
        _tried(operation)


def _tried(operation: Any) -> None:
    @given(case=operation.as_strategy())
    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    def check(case: Any) -> None:
        case.call_and_validate(headers=AS_OPERATOR)

    check()
    known = {"round_id": ASSORTED_ROUNDS - 1, "hotkey": HOTKEYS[4], "sequence": 1, "task_id": "x", "sha256": "ab" * 32}
    case = operation.Case(path_parameters={p: known[p] for p in known if f"{{{p}}}" in operation.path})
    case.call_and_validate(headers=AS_OPERATOR)
