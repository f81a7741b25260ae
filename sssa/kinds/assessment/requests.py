"""Request bodies of assessments: the same for every member of a role (SPEC 5, 13)."""

import base64
from collections.abc import Mapping
from typing import Final, get_args

from sssa.kinds.interface import Request
from sssa.protocol.answer import Dispatch, Role, answer_limit, encode_dispatch, probe_values
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.errors import ValidatorError
from sssa.protocol.round import AssessmentTask
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.skill_types import is_runtime

_PATH: Final = "/v1/assessments"


class WrongBundleError(ValidatorError):
    """The bundle is not the one that the task names."""


def requests(round_id: str, image: RuntimeImage, task: AssessmentTask, bundle: bytes | None) -> Mapping[Role, Request]:
    """Return what each role is sent; a runtime primary may answer at more length than others.

    Raises:
        WrongBundleError: the bundle is not the task's, or there is none.
    """
    bodies = dispatch_bodies(round_id, image, task, bundle or b"")
    runtime = is_runtime(task.skill_type)
    end = _same_end(bundle or b"")
    tail = bodies["primary"][-end:]
    return {
        role: Request(
            _PATH,
            body[:-end],
            answer_limit(runtime_primary=runtime and role == "primary"),
            sha256_hex(body),
            tail,
        )
        for role, body in bodies.items()
    }


def _same_end(bundle: bytes) -> int:
    """Return with how many same bytes all bodies end: the bundle in base64 and what closes the document."""
    return 4 * -(-len(bundle) // 3) + len('"}')


def dispatch_bodies(round_id: str, image: RuntimeImage, task: AssessmentTask, bundle: bytes) -> dict[Role, bytes]:
    """Return the body of `POST /v1/assessments` for each role; they differ in role and window only.

    Takes some 50 ms for the largest bundles: call it off the event loop.

    Args:
        round_id: the round.
        image: the round's, named in dispatches of runtime types.
        task: the task as frozen in the round input.
        bundle: as dispatched, a canary's marker included.

    Raises:
        WrongBundleError: the bundle's sha256 is not the task's; nobody could answer such a dispatch.
    """
    if sha256_hex(bundle) != task.bundle_sha256:
        raise WrongBundleError(f"task {task.task_id} names {task.bundle_sha256}")
    encoded = base64.b64encode(bundle).decode("ascii")
    probes = probe_values(task.nonce)
    bodies: dict[Role, bytes] = {}
    for role in get_args(Role):
        t_min_s, deadline_s = task.windows.of(role)
        bodies[role] = encode_dispatch(
            Dispatch(
                round_id=round_id,
                task_id=task.task_id,
                skill_type=task.skill_type,
                role=role,
                t_min_s=t_min_s,
                deadline_s=deadline_s,
                nonce=task.nonce,
                probe_spec=probes,
                canary_spec=task.canary,
                runtime_image=image if is_runtime(task.skill_type) else None,
                bundle_sha256=task.bundle_sha256,
                bundle=encoded,
            )
        )
    return bodies
