"""Request bodies are the encoding of the Dispatch document, one per role (SPEC 13)."""

import base64
import hashlib
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workflow_builders import make_workflow

from sssa.kinds.assessment.requests import WrongBundleError, dispatch_bodies, requests
from sssa.kinds.registry import kind_of
from sssa.protocol.answer import CanarySpec, Dispatch, Role, probe_values
from sssa.protocol.round import AssessmentTask, GoalTask
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType, is_runtime
from sssa.protocol.task import Windows


def task_for(bundle: bytes, nonce: str = "0f" * 32, canary: str | None = None) -> AssessmentTask:
    return AssessmentTask(
        task_id="t-1",
        skill_type=SkillType.DECLARATIVE,
        slot=0,
        source_sha256="00" * 32,
        bundle_sha256=hashlib.sha256(bundle).hexdigest(),
        nonce=nonce,
        windows=Windows(primary=(10, 90), auditor=(3, 30.5)),
        provenance="none",
        truth=None,
        canary=None if canary is None else CanarySpec(canary),
        index=(),
    )


@given(
    bundle=st.binary(max_size=2000),
    nonce=st.binary(min_size=32, max_size=32).map(bytes.hex),
    canary=st.none() | st.text(max_size=20),
)
def test_bodies_are_the_encoded_documents(bundle: bytes, nonce: str, canary: str | None) -> None:
    task = task_for(bundle, nonce, canary)
    bodies = dispatch_bodies("7", UNPUBLISHED, task, bundle)
    expected: dict[Role, tuple[float, float]] = {"primary": (10, 90), "auditor": (3, 30.5)}
    assert tuple(bodies) == get_args(Role)
    for role, (t_min, deadline) in expected.items():
        document = Dispatch(
            round_id="7",
            task_id="t-1",
            skill_type=SkillType.DECLARATIVE,
            role=role,
            t_min_s=t_min,
            deadline_s=deadline,
            nonce=nonce,
            probe_spec=probe_values(nonce),
            canary_spec=task.canary,
            runtime_image=None,
            bundle_sha256=task.bundle_sha256,
            bundle=base64.b64encode(bundle).decode(),
        )
        assert bodies[role] == msgspec.json.encode(document)
        assert msgspec.json.decode(bodies[role], type=Dispatch) == document
    sent = requests("7", UNPUBLISHED, task, bundle)
    assert {role: request.whole for role, request in sent.items()} == bodies
    assert sent["primary"].tail is sent["auditor"].tail  # once in memory, however large it is
    assert sent["primary"].tail == base64.b64encode(bundle) + b'"}'


@pytest.mark.parametrize("kind", ASSESSED_TYPES)
def test_the_image_is_named_to_both_roles_of_runtime_types_alone(kind: SkillType) -> None:
    task = msgspec.structs.replace(task_for(b"bundle"), skill_type=kind)
    for body in dispatch_bodies("0", UNPUBLISHED, task, b"bundle").values():
        named = msgspec.json.decode(body)["runtime_image"]
        assert named == (msgspec.to_builtins(UNPUBLISHED) if is_runtime(kind) else None)


def test_another_bundle_than_the_tasks_is_refused() -> None:
    with pytest.raises(WrongBundleError, match="t-1"):
        dispatch_bodies("0", UNPUBLISHED, task_for(b"one"), b"another")


def test_every_request_comes_with_the_digest_of_its_body() -> None:
    goal = GoalTask("t-2", SkillType.WORKFLOW, 0, "0", "1", "2", Windows((0, 10), (0, 5)), make_workflow("code"))
    for task in (task_for(b"bundle"), goal):
        sent = kind_of(task).send("7", UNPUBLISHED, task, b"bundle")
        assert [request.sha256 for request in sent.values()] == [
            hashlib.sha256(request.whole).hexdigest() for request in sent.values()
        ]
