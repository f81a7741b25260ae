"""The rows of the registry: every type has a kind, and every kind all that the rest of the program looks for."""

import pickle
import subprocess
import sys
from typing import Any

import pytest

from sssa.kinds.interface import Kind
from sssa.kinds.registry import KINDS
from sssa.protocol.skill_types import SkillType
from validator.cli.kinds import PAGES
from validator.daemon.world import PRELOAD

ROWS = list({kind.name: kind for kind in KINDS.values()}.values())
HEAVY = {"sqlalchemy", "alembic", "psycopg", "aiohttp", "bittensor", "structlog", "pydantic", "typer", "rich"}


def test_every_type_of_task_is_of_one_kind() -> None:
    assert set(KINDS) == set(SkillType)
    assert sorted(kind for row in ROWS for kind in row.types) == sorted(SkillType)
    assert all(KINDS[kind] is row for row in ROWS for kind in row.types)


def test_every_kind_has_its_page() -> None:
    assert set(PAGES) == {row.name for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_gates_can_be_sent_to_a_worker_that_has_them_already(row: Kind[Any, Any]) -> None:
    assert pickle.loads(pickle.dumps(row.judge)) is row.judge
    assert row.judge.__module__ in PRELOAD


def test_what_workers_import_is_light() -> None:
    program = (
        f"import sys\nfor name in {PRELOAD!r}: __import__(name)\nprint(*{{n.partition('.')[0] for n in sys.modules}})"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "validator" in found
    assert not HEAVY & set(found)
