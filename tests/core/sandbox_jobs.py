"""Jobs for sandboxes."""

from typing import Any

from sssa.protocol.answer import probe_values
from sssa.protocol.archives import pack
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.skill_types import SkillType
from validator.sandbox.interface import SandboxJob

NONCE = "0123abcd" * 8
DIGEST = "sha256:" + "ab" * 32
IMAGE = RuntimeImage("registry.example/sandbox", DIGEST)
FILES = {"main.sh": b"echo hello\n", "folder/data.txt": b"some data\n"}


def make_job(**changed: Any) -> SandboxJob:
    given: dict[str, Any] = {
        "image": IMAGE,
        "skill_type": SkillType.EXECUTABLE_SCRIPT,
        "bundle": pack(FILES),
        "nonce": NONCE,
        "probes": probe_values(NONCE),
    }
    return SandboxJob(**given | changed)
