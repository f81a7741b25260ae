"""The declaration that a local miner serves at `GET /v1/capabilities`: all six types (SPEC 13)."""

from datetime import datetime, timedelta
from typing import Final

from validator.protocol.capabilities import Capabilities
from validator.protocol.runtime_image import RuntimeImage
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.protocol.sssa import SandboxManifest, Signature
from validator.protocol.times import format_time

SOFTWARE: Final = "sssa-local-miner/1"
TRACER_VERSION: Final = "1"
VALIDITY: Final = timedelta(hours=12)


def sandbox_manifest(image: RuntimeImage) -> SandboxManifest:
    """Return the manifest of a run by the tracer of the dispatch's image."""
    return SandboxManifest(image=image.reference, digest=image.digest, tracer_version=TRACER_VERSION)


def declare(
    signer: Signer,
    now: datetime,
    max_concurrent: int,
    skill_types: tuple[SkillType, ...] = ASSESSED_TYPES,
) -> Capabilities:
    """Return a signed declaration of these types, valid for 12 hours from `now` (UTC)."""
    document = Capabilities(
        document_version="1.0",
        hotkey=signer.hotkey,
        skill_types=skill_types,
        software=SOFTWARE,
        issued_at=format_time(now),
        expires_at=format_time(now + VALIDITY),
        signature=Signature(signer.hotkey, "sr25519", ""),
        max_concurrent=max_concurrent,
    )
    return signer.sign_document(document)
