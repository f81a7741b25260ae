"""Groups of legal attestations that are as dear to score as their bytes allow."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
from builders import make_sssa, make_task
from group_rounds import NAMES, VALIDATOR, Settled, group_proof, settled, signer

from sssa.proofs.document import Unsealed, signed
from sssa.protocol import limits
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Category, Dependency, Finding, Rule, Sssa
from sssa.scoring import FindingKeys
from validator.store.codec import compressed

_PLACES: Final = limits.MAX_STRING - 32  # the others tell entries and members apart
_CVES: Final = tuple(f"cve-2020-{number:04}" for number in range(limits.MAX_CVES_PER_ENTRY))
Part = Callable[[int, str], Any]
"""One entry of a list, by its number and by a text that is its member's own, or none."""


def _long(text: str) -> str:
    return (text * _PLACES)[:_PLACES]


def _target(text: str, category: Category = "other", cves: tuple[str, ...] = ()) -> Part:
    return lambda n, own: Finding(f"{n}", category, "low", "", "a.py", cves, f"{text}{own}{n}")


def _evidence(text: str) -> Part:
    return lambda n, own: Finding(f"{n}", "prompt_injection", "low", "", f"{own}{n}{text}", (), "")


def _dependency(text: str, cves: tuple[str, ...] = ()) -> Part:
    return lambda n, own: Dependency(f"{own}{n}{text}", "", cves)


def _rule(n: int, own: str) -> Rule:
    return Rule(f"{own}{n}", "", "")


def _capability(n: int, own: str) -> str:
    return f"{own}{n}"


# What targets, evidence and names of packages repeat as often as fits; and what package URLs do.
TEXTS: Final[Mapping[str, str]] = {
    "a note that decomposes to three": "\U0001d160",
    "a letter with four marks": "a\u0301\u0316\u0327\u0308",
    "a letter with fifteen marks": "a" + "\u0301\u0316" * 7 + "\u0301",
    "marks out of order": "\u0301\u0316",
    "marks that decompose to marks": "\u0344\u0f73",
    "letters of four parts": "\u1f82\u1faf",
    "Hangul in parts": "\u1112\u1161\u11ab",
    "Hangul": "\ud55c",
    "singletons": "\u212b\u2126\uf900",
    "percents": "%",
    "bars": "|",
    "dashes": "-_.",
    "spaces": " \t",
    "slashes": "/",
    "folders": "a/",
    "dots": "./",
    "colons": "a::",
    "escaped percents": "%25",
    "bars and percents": "|%",
    "controls": "\x01\x7f",
    "letters that grow in lower case": "\u0130",
    "letters of every plane": "\uffff\U0001f600",
}
ESCAPES: Final[Mapping[str, str]] = {
    "an escaped dash": "%2d",
    "a scope and dashes": "%40%2d",
    "an escaped mark": "%cc%81%cc%96",
    "broken escapes": "%e2%82",
    "escapes that are none": "%%2",
    "broken escapes and marks": "%2\u0344",
    "letters that grow": "\u0130",
    "escaped letters that grow": "%c4%b0",
    "dashes": "-_.",
    "at signs": "@",
}


def _shapes() -> Iterator[tuple[str, str, Part]]:
    """Yield name, the list that is filled, and its entries."""
    for name, text in TEXTS.items():
        yield f"targets: {name}", "findings", _target(_long(text))
        yield f"packages: {name}", "dependencies", _dependency(_long(text))
        if text != "/" and ":" not in text:
            yield f"evidence: {name}", "findings", _evidence(_long(text))
    for name, text in ESCAPES.items():
        yield f"package URLs: {name}", "findings", _target(f"pkg:npm/{_long(text)}", "dependency_cve")
        yield f"package URLs, 512: {name}", "findings", _target(f"pkg:npm/{text * 40}", "dependency_cve")
    yield "findings: as many as allowed", "findings", _target("")
    yield "findings: 64 CVEs each", "findings", _target("", "dependency_cve", _CVES)
    yield "dependencies: as many as allowed", "dependencies", _dependency("")
    yield "dependencies: 64 CVEs each", "dependencies", _dependency("", _CVES)
    yield "rules: as many as allowed", "rules", _rule
    yield "capabilities: as many as allowed", "capabilities", _capability


SHAPES: Final[Mapping[str, tuple[str, Part]]] = {name: (field, part) for name, field, part in _shapes()}
_MOST: Final = {
    "findings": limits.MAX_FINDINGS,
    "dependencies": limits.MAX_DEPENDENCIES,
    "capabilities": limits.MAX_CAPABILITIES,
    "rules": limits.MAX_RULES,
}


def dear_group(shape: str, size: int = limits.MAX_ATTESTATION, *, alike: bool = False) -> tuple[Any, dict[str, Sssa]]:
    """Return a task and its five attestations of one shape, each of at most `size` canonical bytes.

    Args:
        shape: one of `SHAPES`.
        size: bytes.
        alike: whether all members say the same.
    """
    field, part = SHAPES[shape]
    task = make_task(SkillType.RAG_KNOWLEDGE)
    return task, {name: _attested(task, name, field, part, "" if alike else name, size) for name in NAMES}


def _attested(task: Any, name: str, field: str, part: Part, own: str, size: int) -> Sssa:  # noqa: PLR0913, PLR0917
    base = make_sssa(task)
    room = size - len(canonical_bytes(base))
    entries: list[Any] = []
    for number in range(_MOST[field]):
        one = part(number, own)
        room -= len(canonical_bytes(one)) + 1
        if room < 0:
            break
        entries.append(one)
    signature = msgspec.structs.replace(base.signature, hotkey=signer(name).hotkey, crypto="ed25519")
    if field == "rules":
        base = msgspec.structs.replace(base, policy=msgspec.structs.replace(base.policy, rules=tuple(entries)))
    else:
        base = msgspec.structs.replace(base, analysis=msgspec.structs.replace(base.analysis, **{field: tuple(entries)}))
    return signer(name).sign_document(msgspec.structs.replace(base, signature=signature))


def settle(task: Any, attested: Mapping[str, Sssa]) -> bytes:
    """Do to a group what settling does: score it, prove it, seal the proof."""
    keys = FindingKeys()
    round_: Settled = settled(task, attested, keys=keys)
    proof = group_proof(*round_, task.task_id, keys=keys)
    if proof is None:
        raise AssertionError("every group of the shapes has a proof")
    made = Unsealed.of(proof)
    return made.under(signed(made, VALIDATOR))


def cost_of_group(task: Any, attested: Mapping[str, Sssa]) -> float:
    """Return the seconds of CPU that settling a group takes, storing its proof included."""
    gc.disable()  # as settling does
    try:
        began = time.process_time()
        compressed(settle(task, attested))
        return time.process_time() - began
    finally:
        gc.enable()
