"""Stored attestations in replay and in the log."""

import msgspec
import pytest
from builders import MINER, OTHER, V1, expect, make_answer, make_task

from sssa.kinds.assessment.checks import fault
from sssa.kinds.assessment.judge import judge
from sssa.protocol.results import Packed, Submission
from sssa.protocol.skill_types import SkillType

TASK = make_task(SkillType.RAG_KNOWLEDGE)


def stored() -> Submission:
    passed = judge(expect(TASK), msgspec.json.encode(make_answer(TASK)), 2).result
    assert isinstance(passed, Packed)
    answer = passed.unpacked()
    assert isinstance(answer, Submission)
    return answer


def test_what_the_miner_signed_for_the_task_is_taken() -> None:
    assert fault(V1, TASK, stored()) is None


@pytest.mark.parametrize(
    "other",
    [{"nonce": "0" * 64}, {"bundle_sha256": "0" * 64}, {"skill_type": SkillType.DECLARATIVE}],
    ids=lambda other: next(iter(other)),
)
def test_an_attestation_for_another_dispatch_is_named(other: dict[str, object]) -> None:
    found = fault(V1, msgspec.structs.replace(TASK, **other), stored())
    assert found is not None
    assert found.path == "sssa.skill"


def test_an_attestation_of_another_miner_or_changed_after_signing_is_named() -> None:
    answer = stored()
    assert answer.hotkey == MINER.hotkey
    analysis = msgspec.structs.replace(answer.sssa.analysis, risk_score=0.9)
    changed = msgspec.structs.replace(answer.sssa, analysis=analysis)
    for touched in (
        msgspec.structs.replace(answer, hotkey=OTHER.hotkey),
        msgspec.structs.replace(answer, sssa=changed),
    ):
        found = fault(V1, TASK, touched)
        assert found is not None
        assert found.path == "sssa.signature"
