"""Five signed answers to one task of a content type, 20 findings each, 9.6 KB each: what an honest group sends."""

from typing import Final

import msgspec
from builders import make_task

from sssa.protocol.answer import Answer, probe_values
from sssa.protocol.round import GroupPlan
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import (
    Analysis,
    Category,
    Dependency,
    Evidence,
    Finding,
    Policy,
    Rule,
    Severity,
    Signature,
    Skill,
    Sssa,
)

MEMBERS: Final = 5
FINDINGS: Final = 20
TASK: Final = make_task(SkillType.DECLARATIVE)
SIGNERS: Final = [Signer.from_uri(f"//Measured{i}") for i in range(MEMBERS)]
PLAN: Final = GroupPlan(
    task_id=TASK.task_id,
    mode="full",
    primaries=tuple(signer.hotkey for signer in SIGNERS[:3]),
    auditors=tuple(signer.hotkey for signer in SIGNERS[3:]),
    promoted=(),
    demoted=(),
    excluded={},
)
_CATEGORIES: Final[tuple[Category, ...]] = (
    "prompt_injection",
    "secrets_exposure",
    "excessive_capability",
    "dependency_cve",
    "other",
)
_SEVERITIES: Final[tuple[Severity, ...]] = ("low", "medium", "high", "critical")
_CAPABILITIES: Final = ("file_io", "network", "exec", "secrets", "dns", "mcp")
_FILLER: Final = "reads what it was not asked to and sends it to a host that nobody named; see there. "


def answers(findings: int = FINDINGS) -> list[Answer]:
    """Return the answers, so many findings each: most are everybody's, every member leaves out some and has its own."""
    return [Answer(_attested(i, findings), probe_values(TASK.nonce), None) for i in range(MEMBERS)]


def _attested(member: int, findings: int) -> Sssa:
    common = [n for n in range(findings + 2) if n % (MEMBERS + 1) != member]
    own = [(1 + member) * 1_000 + n if findings > FINDINGS else 100 + 10 * member + n for n in range(findings)]
    numbers = [*common[: findings - 2], *own][:findings]
    analysis = Analysis(
        verdict="REVIEW" if member == 0 else "BLOCK",
        risk_score=0.71 + member / 100,
        findings=tuple(_finding(n, member) for n in numbers),
        capabilities=_CAPABILITIES[member % 2 :],
        dependencies=tuple(
            Dependency(f"Package_{n}", f"1.{n}.0", (f"CVE-2022-{2000 + n}",) if n % 3 == 0 else ())
            for n in range(12 - member % 2)
        ),
    )
    unsigned = Sssa(
        schema_version="1.0",
        skill=Skill(TASK.skill_type, TASK.bundle_sha256, TASK.nonce),
        analysis=analysis,
        evidence=Evidence({}, None, None, None),
        policy=Policy(tuple(Rule("network", "deny", f"host-{n}.example.invalid") for n in range(8 - member % 2))),
        signature=Signature(SIGNERS[member].hotkey, "sr25519", "0x" + "0" * 128),
    )
    return SIGNERS[member].sign_document(unsigned)


def _finding(number: int, member: int) -> Finding:
    category = _CATEGORIES[number % len(_CATEGORIES)]
    place = f"src/module_{number % 7}/file_{number}.py"
    about_package = category == "dependency_cve"
    return Finding(
        id=f"f-{number:03d}",
        category=category,
        severity=_SEVERITIES[number % len(_SEVERITIES)],
        description=f"Finding {number}: the tool {_FILLER}{_FILLER[:80]}",
        evidence_ref=f"m{member}-{number}::{place}#L{number + 1}-L{number + 9}",
        cve_ids=(f"CVE-2023-{10000 + number}",) if about_package else (),
        target_pattern=f"pkg:pypi/requests-{number}@2.{number}" if about_package else place,
    )


def bodies(answers_: list[Answer]) -> list[bytes]:
    """Return the bodies without spaces."""
    return [msgspec.json.encode(answer) for answer in answers_]
