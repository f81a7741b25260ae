"""What a local miner declares: all six types, and for the runtime types what it runs them in (SPEC 13)."""

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Final

from validator.protocol.capabilities import Capabilities, SandboxImage
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType, is_runtime
from validator.protocol.sssa import SandboxManifest, Signature
from validator.protocol.times import format_time

SOFTWARE: Final = "sssa-local-miner/1"
TRACER_VERSION: Final = "1"
VALIDITY: Final = timedelta(hours=12)
_TRACED_CODE: Final = "localnet.tracing.inside"

Images = Callable[[SkillType], SandboxImage]
"""Which image a miner declares for a runtime type."""


@cache
def stand_in(skill_type: SkillType) -> SandboxImage:
    """Return what stands for a runtime type's image where no engine runs any: the digest is over the tracer's code."""
    total = hashlib.sha256(skill_type.encode())
    for path in sorted(files(_TRACED_CODE).iterdir(), key=lambda path: path.name):
        if path.name.endswith(".py"):
            total.update(path.name.encode() + b"\0" + path.read_bytes())
    return SandboxImage(image=f"sssa-local-tracer/{skill_type}", digest=f"sha256:{total.hexdigest()}")


def sandbox_manifest(image: SandboxImage) -> SandboxManifest:
    """Return the manifest that goes with an image of the local tracer."""
    return SandboxManifest(image=image.image, digest=image.digest, tracer_version=TRACER_VERSION)


def declare(
    signer: Signer,
    now: datetime,
    max_concurrent: int,
    skill_types: tuple[SkillType, ...] = ASSESSED_TYPES,
    images: Images = stand_in,
) -> Capabilities:
    """Return a signed declaration of these types, valid for 12 hours from `now` (UTC)."""
    runtime = [skill_type for skill_type in skill_types if is_runtime(skill_type)]
    document = Capabilities(
        document_version="1.0",
        hotkey=signer.hotkey,
        skill_types=skill_types,
        sandbox_images={skill_type: images(skill_type) for skill_type in runtime},
        software=SOFTWARE,
        issued_at=format_time(now),
        expires_at=format_time(now + VALIDITY),
        signature=Signature(signer.hotkey, "sr25519", ""),
        max_concurrent=max_concurrent,
    )
    return signer.sign_document(document)
