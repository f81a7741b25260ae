"""Advice for a miner's author on each reason that a validator may give; docs/miner-protocol.md tells the same."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from validator.protocol.reasons import Reason


class Advice(NamedTuple):
    """Advice on one answer: the place, and the change; `field` is of the answer or the request, "" if of neither."""

    field: str
    todo: str


ADVICE: Final[Mapping[str, Advice]] = MappingProxyType(
    {
        Reason.ACCEPTED_EARLY: Advice("t_min_s", "answer after t_min_s"),
        Reason.DEADLINE_CONNECT: Advice("", "open the port; check firewall, TLS and the announced port"),
        Reason.DEADLINE_TRANSPORT: Advice("", "send one plain response; keep headers small"),
        Reason.DEADLINE_STATUS: Advice("", "look into your log: authentication, errors, overload"),
        Reason.DEADLINE_LATE: Advice("deadline_s", "be faster; mind deadline_s and the upload"),
        Reason.PARSE_TOO_LARGE: Advice(
            "",
            "send at most 4 MiB (primaries of runtime types 16 MiB), an attestation of 192 KiB; keep traces short",
        ),
        Reason.PARSE_TOO_DEEP: Advice("", "nest at most 32 deep, a plan 16"),
        Reason.PARSE_DUPLICATE_KEY: Advice("", "write every key of an object once"),
        Reason.PARSE_SCHEMA: Advice(
            "", "send every field of sections 4, 5 or 10 and no other, within their limits; validate before you send"
        ),
        Reason.PARSE_TOO_COSTLY: Advice("", "send less: fewer findings, rules and traces"),
        Reason.PARSE_PLAN: Advice("nodes, edges", "make it a graph without a circle, of 1 to 10 steps (section 10)"),
        Reason.PARSE_TOTALS: Advice("totals", "declare at least the sums"),
        Reason.VALIDITY_GOAL: Advice("task.goal_sha256", "copy goal_sha256"),
        Reason.VALIDITY_SCORING_VERSION: Advice("scoring_version", "copy it, once you know the version"),
        Reason.VALIDITY_SERVICE: Advice(
            "nodes[].service, nodes[].action", "call what goal.tools names and allowed_services allows (section 10)"
        ),
        Reason.VALIDITY_SKILL_TYPE: Advice("sssa.skill.skill_type", "copy it"),
        Reason.VALIDITY_BUNDLE: Advice("sssa.skill.bundle_sha256", "copy it in lower case; never answer from a cache"),
        Reason.VALIDITY_NONCE: Advice("sssa.skill.nonce", "copy it; never answer from a cache"),
        Reason.VALIDITY_HOTKEY: Advice("sssa.signature.hotkey", "sign with the hotkey that is registered"),
        Reason.VALIDITY_LLM_USE: Advice(
            "sssa.evidence.llm_evidence.allowed_use", "name one of the three uses, or send null (section 5)"
        ),
        Reason.VALIDITY_SIGNATURE: Advice(
            "signature.value",
            "sign the canonical bytes of the document that you send; check yours with the golden files (section 6)",
        ),
        Reason.MANIFEST_MISSING: Advice(
            "sssa.evidence.sandbox_manifest", "run the skill in the dispatch's runtime_image and name it (section 5)"
        ),
        Reason.MANIFEST_DIGEST: Advice(
            "sssa.evidence.sandbox_manifest.digest",
            "copy the digest of the dispatch's runtime_image, which you ran",
        ),
        Reason.TRACES_MISSING: Advice(
            "trace_bundle", "send what the run did, or declare content types alone (section 8)"
        ),
        Reason.TRACES_TOO_LARGE: Advice("trace_bundle", "record less (section 8)"),
        Reason.TRACES_UNDECODABLE: Advice(
            "trace_bundle", "pack all files of the type and no others, a number ts in every line (section 8)"
        ),
        Reason.TRACES_HASH: Advice(
            "sssa.evidence.trace_hashes",
            "hash the files that you send, sorted as section 8 says, all of the type and no others",
        ),
        Reason.PROBES_ECHO: Advice("probe_evidence", "copy probe_spec"),
        Reason.PROBES_ABSENT: Advice("trace_bundle", "perform the probes inside the traced sandbox"),
        Reason.DECLARATION_INVALID: Advice("", "send the document of section 3, signed as section 6 says"),
        Reason.DECLARATION_FUTURE: Advice("issued_at", "mind your clock; renew in time"),
        Reason.DECLARATION_EXPIRED: Advice("expires_at", "mind your clock; renew in time"),
    }
)
"""By reason code. Sections are those of docs/miner-protocol.md."""

_REDIRECTS: Final = range(300, 400)
_REFUSED: Final = frozenset({401, 403})
_TOO_LARGE: Final = 413
_NO_PATH: Final = frozenset({404, 405})
_ITS_ERROR: Final = 500


def advice_of(reason: Reason, status: int | None, caller: str) -> Advice:
    """Return what to do about a reason; of a status other than 200, by the status."""
    known = ADVICE.get(reason, Advice("", "section 9"))
    if reason is not Reason.DEADLINE_STATUS or status is None or status >= _ITS_ERROR:
        return known
    if status in _REDIRECTS:
        return Advice("", "answer at the path itself: a validator follows no redirect (section 1)")
    if status in _REFUSED:
        return Advice("", f"answer requests signed by {caller}; if you do, section 2 has what else you checked")
    if status == _TOO_LARGE:
        return Advice("", "take request bodies of 12 MiB: bundles of 8 MiB in base64")
    if status in _NO_PATH:
        return Advice("", "serve GET /v1/capabilities and POST /v1/assessments, or POST /v1/workflows")
    return Advice("", "your miner refused a request that is right: its log should say why")
