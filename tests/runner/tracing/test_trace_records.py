import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracer.places import Folder
from tracer.records import empty_records, is_record, merge

from miner.tracing import pack_traces, trace_hashes
from sssa.protocol.answer import probe_values
from sssa.protocol.skill_types import SkillType
from sssa.protocol.traces import read_traces

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
TIMES = st.floats(min_value=0, max_value=1e6, allow_nan=False)
RECORDS = st.fixed_dictionaries(
    {
        "network": st.lists(st.fixed_dictionaries({"domain": TEXT, "dst_port": st.integers(0, 65535), "ts": TIMES})),
        "fs": st.lists(st.fixed_dictionaries({"op": TEXT, "path": TEXT, "ts": TIMES})),
        "process": st.lists(st.fixed_dictionaries({"cmd": TEXT, "ts": TIMES})),
        "secrets": st.just([]),
        "imports": st.lists(st.fixed_dictionaries({"module": st.none() | TEXT, "ts": TIMES})),
    }
)


@given(RECORDS)
def test_the_validator_computes_the_same_hashes_from_the_packed_form(records: dict[str, list[dict[str, Any]]]) -> None:
    traces = read_traces(pack_traces(records), SkillType.EXECUTABLE_PYTHON, probe_values("00" * 32))
    assert traces.hashes == trace_hashes(records)


@given(RECORDS, st.randoms())
def test_the_order_of_records_does_not_matter(records: dict[str, list[dict[str, Any]]], random: Any) -> None:
    shuffled = {name: random.sample(entries, len(entries)) for name, entries in records.items()}
    assert trace_hashes(shuffled) == trace_hashes(records)
    assert pack_traces(shuffled) == pack_traces(records)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("disk", {"ts": 1.5}),
        ("fs", {"op": "read", "path": "x"}),
        ("fs", {"op": "read", "path": "x", "ts": 1}),
        ("fs", {"op": "read", "path": "x", "ts": 1.5, "more": "x"}),
        ("fs", {"op": ["read"], "ts": 1.5}),
        ("fs", {"op": True, "ts": 1.5}),
        ("fs", {"op": "x" * 5_000, "ts": 1.5}),
        ("fs", []),
        (7, {"ts": 1.5}),
    ],
)
def test_other_things_are_no_records(name: object, fields: object) -> None:
    assert not is_record(name, fields)


def test_merging_adds_only_to_the_names_a_type_has() -> None:
    records = empty_records(SkillType.AGENT_COMPOSITION)
    merge(records, {"fs": [{"ts": 1.5}], "imports": [{"ts": 1.5}]})
    assert records["fs"] == [{"ts": 1.5}]
    assert "imports" not in records


def test_places_have_the_same_names_everywhere() -> None:
    with Folder({"a/b.txt": b"x"}) as folder:
        assert (folder.skill / "a" / "b.txt").read_bytes() == b"x"
        text = f"cp {folder.skill}/a {folder.tmp}/tmp.Xk39dkAq2 {folder.tmp}/notes {folder.home}/.ssh"
        assert folder.public(text) == "cp /skill/a /tmp/* /tmp/notes /home/skill/.ssh"
    assert not folder.base.exists()


def test_the_traced_process_loads_little() -> None:
    root = str(Path(__file__).parents[3] / "runner")
    load = "import tracer.inside.bootstrap; print(*sys.modules)"
    code = f"import sys; sys.path.insert(0, {root!r}); {load}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, check=True, text=True)
    heavy = {"re", "json", "typing", "enum", "collections", "dataclasses", "pathlib", "asyncio", "socket", "signal"}
    assert heavy & set(done.stdout.split()) == set()
