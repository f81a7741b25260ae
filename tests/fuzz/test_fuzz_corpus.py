"""The targets of `python -m fuzz`: their valid documents are read, and what was found once is found no more."""

from pathlib import Path

import pytest

from fuzz.findings import DearError, kept, take
from fuzz.targets import TARGETS, Target
from sssa.protocol.errors import ValidatorError

CASES = [(name, file) for name in TARGETS for file in kept(name)]


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_begins_with_documents_that_it_reads(name: str) -> None:
    seeds = TARGETS[name].seeds()
    assert seeds
    for seed in seeds:
        assert len(seed) <= TARGETS[name].most
        TARGETS[name].read(seed)


@pytest.mark.parametrize("name", TARGETS)
def test_junk_is_refused(name: str) -> None:
    with pytest.raises(ValidatorError):
        TARGETS[name].read(b"\x00\xff[")


@pytest.mark.parametrize(("name", "file"), CASES, ids=[f"{name}-{file.name}" for name, file in CASES])
def test_what_was_found_once_is_read_or_refused(name: str, file: Path) -> None:
    take(TARGETS[name], file.read_bytes())


def test_a_crash_and_a_dear_input_are_findings() -> None:
    with pytest.raises(ZeroDivisionError):
        take(Target(lambda data: 1 // len(data), list), b"")
    with pytest.raises(DearError, match="for 1 bytes"):
        take(Target(lambda data: data, list, budget_s=0.0), b"1")
