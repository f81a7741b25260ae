"""Reasons as values: the same type for codes of this version and of another one's."""

import msgspec
import pytest

from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.reasons import Reason, gate_of, meaning_of
from sssa.protocol.receipt import AnswersDocument
from sssa.protocol.results import VoidTask
from sssa.protocol.workflow_run import Attempt, StepRecord

FOREIGN = "local_of_tomorrow"


def test_every_reason_of_this_version_is_known_and_has_a_meaning() -> None:
    for reason in Reason:
        assert reason.known
        assert meaning_of(reason) == reason.meaning != ""
        assert gate_of(reason) == (reason.gate or None)
    assert (meaning_of(None), gate_of(None)) == (None, None)


def test_a_code_of_another_version_is_a_reason_that_says_nothing() -> None:
    foreign = Reason(FOREIGN)
    assert (foreign.known, foreign.gate, meaning_of(foreign), gate_of(foreign)) == (False, 0, None, None)
    assert (str(foreign), foreign == Reason(FOREIGN), foreign in set(Reason)) == (FOREIGN, True, False)
    for no_code in (None, 1, b"settled"):
        with pytest.raises(ValueError, match="not a valid Reason"):
            Reason(no_code)  # type: ignore[arg-type]


def test_documents_keep_codes_that_this_version_does_not_know() -> None:
    stored = (
        b'{"raw":[],"rejections":[],"submissions":[],"void":[{"reason":"local_of_tomorrow","task_id":"t1"}],'
        b'"void_dispatches":[],"workflows":[]}'
    )
    results = msgspec.json.decode(stored, type=AnswersDocument)
    assert results.void == (VoidTask("t1", Reason(FOREIGN)),)
    assert canonical_bytes(results) == stored


def test_a_run_whose_outcomes_this_version_does_not_know_is_refused() -> None:
    attempt = b'{"started":0,"ended":1,"outcome":"%s","cost_tao":0,"charged_tao":null,"received":0,'
    attempt += b'"output_sha256":null,"detail":""}'
    step = b'{"node_id":"n","outcome":"%s","attempts":[],"output":null,"detail":""}'
    kinds: tuple[tuple[bytes, type[Attempt | StepRecord]], ...] = ((attempt, Attempt), (step, StepRecord))
    for document, kind in kinds:
        assert msgspec.json.decode(document % b"step_timeout", type=kind).outcome is Reason.STEP_TIMEOUT
        with pytest.raises(msgspec.ValidationError, match="`step_of_tomorrow` is no outcome that this version knows"):
            msgspec.json.decode(document % b"step_of_tomorrow", type=kind)
