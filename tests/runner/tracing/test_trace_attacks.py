"""Bundles that hide, forge or end their traces; in containers: `tests/validator/sandbox/test_hostile_bundles.py`."""

import pytest
from hostile_bundles import ATTACKS, HELPERS
from tracing_kit import PYTHON, fields, python_bundle, traced

HERE = {"to leave evidence", "to read and write the watcher"}  # what only a container holds


@pytest.mark.parametrize("name", sorted(ATTACKS.keys() - HERE))
async def test_an_attack_shows_and_breaks_nothing(name: str) -> None:
    attack = ATTACKS[name]
    body = "".join(f"    {line}\n" for line in attack.code.splitlines())
    result = await traced(python_bundle(f"{HELPERS}\ndef run():\n{body}"), PYTHON)
    assert result.runs[0].ended == "done", result.runs[0].detail
    records = result.records
    assert ("/skill/broken",) not in fields(records, "fs", "path")
    for trace, field, value in attack.shows:
        assert any(value in str(record.get(field)) for record in records[trace]), (trace, value, records[trace])
    text = str(records)
    assert "/forged" not in text
    assert "6.6.6.6" not in text
    assert not any(record["cmd"] == "forged" for record in records["process"])
