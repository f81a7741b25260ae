"""Hostile attestations: well-formed JSON that is false, or is as heavy as the limits allow."""

import json
from typing import Any

import msgspec

from hostile.kinds import ACCEPTED, SCHEMA, Case, Made, kind
from hostile.strings import INJECTIONS, everything, injection
from sssa.protocol import limits
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.sssa import Dependency, LlmEvidence, Policy, Rule, SandboxManifest, signing_bytes

_LONG = limits.MAX_STRING
_MARKS = "\u0301\u0316"  # above and below: normalising sorts them
STRANGER = Signer.from_uri("//Stranger")


@kind("attestation", "answer", SCHEMA)
async def wrong_types(case: Case) -> Made:
    """A field of another type."""
    plain = case.plain()
    field = case.rng.choice(["verdict", "risk_score", "findings", "capabilities", "dependencies"])
    plain["sssa"]["analysis"][field] = case.rng.choice([None, {}, 17, [[]], True, "\x00"])
    return json.dumps(plain).encode()


@kind("attestation", "answer", SCHEMA)
async def lists_too_long(case: Case) -> Made:
    """One more finding, capability, character or CVE than is allowed."""
    plain = case.plain()
    analysis = plain["sssa"]["analysis"]
    which = case.rng.choice(["findings", "capabilities", "strings", "cves"])
    if which == "findings":
        analysis["findings"] *= limits.MAX_FINDINGS + 1
    elif which == "capabilities":
        analysis["capabilities"] = ["x"] * (limits.MAX_CAPABILITIES + 1)
    elif which == "strings":
        analysis["findings"][0]["description"] = "x" * (limits.MAX_DESCRIPTION + 1)
    else:
        entry = {"package": "p", "version": "1", "cves": ["CVE-2020-1234"] * limits.MAX_CVES_PER_ENTRY}
        analysis["dependencies"] = [entry] * (limits.MAX_CVES // limits.MAX_CVES_PER_ENTRY + 8)
    return json.dumps(plain).encode()


@kind("attestation", "answer", ACCEPTED, dear=True)
async def as_large_as_allowed(case: Case) -> Made:
    """4,096 dependencies in nearly 192 KiB, rightly signed."""
    return case.signed(dependencies=tuple(Dependency(f"p{i}", "1.0", ()) for i in range(4_096)))


@kind("attestation", "answer", Reason.PARSE_TOO_LARGE, dear=True)
async def larger_than_is_kept(case: Case) -> Made:
    """4,096 dependencies of 800 characters each, rightly signed: 3 MiB to keep permanently."""
    return case.signed(dependencies=tuple(Dependency(f"package-{i}", "1" * 800, ()) for i in range(4_096)))


@kind("attestation", "answer", ACCEPTED, dear=True)
async def as_many_cves_as_fit(case: Case) -> Made:
    """Nearly as many CVEs as an attestation has room for."""
    ids = [f"CVE-2020-{i:04}" for i in range(10_000)]
    step = limits.MAX_CVES_PER_ENTRY
    dependencies = [Dependency(f"p{i}", "1", tuple(ids[i * step : i * step + step])) for i in range(156)]
    return case.signed(dependencies=tuple(dependencies))


@kind("attestation", "answer", ACCEPTED, dear=True)
async def as_many_findings_as_allowed(case: Case) -> Made:
    """512 findings, each its own, with descriptions of 200 characters."""
    many = ({"id": str(i), "evidence_ref": f"a.py#L{i + 1}", "description": "d" * 200} for i in range(512))
    return case.findings(many)


@kind("attestation", "answer", ACCEPTED, dear=True)
async def paths_of_slashes(case: Case) -> Made:
    """45 evidence references that are almost nothing but slashes and dots."""
    return case.findings({"id": str(i), "evidence_ref": "./" * 2_000 + f"{i}.py"} for i in range(45))


@kind("attestation", "answer", ACCEPTED, dear=True)
async def paths_of_combining_marks(case: Case) -> Made:
    """Evidence references and targets of thousands of combining marks, which normalising has to sort."""
    marks = _MARKS * 900
    many = ({"id": str(i), "evidence_ref": f"{i}{marks}", "target_pattern": marks} for i in range(24))
    return case.findings(many)


@kind("attestation", "answer", ACCEPTED, dear=True)
async def package_urls_of_escapes(case: Case) -> Made:
    """Targets that are package urls of dashes and percent escapes, thousands in each."""
    texts = ["pkg:" + "/" * 4_000 + "x", "pkg:a/" + "%2d" * 1_300, "-_." * 1_300, "pkg:a/b@" + "@" * 4_000]
    category = {"category": "dependency_cve"}
    return case.findings({"id": str(i), "target_pattern": texts[i % 4] + str(i), **category} for i in range(45))


@kind("attestation", "answer", SCHEMA)
async def evidence_outside_the_grammar(case: Case) -> Made:
    """Evidence references with `..`, backslashes, lines that run backwards, endless digits or spans."""
    refs = [
        "../a",
        "/etc/passwd",
        "a\\b",
        "a#L0",
        "a#L2-L1",
        "a#L" + "9" * 4_000,
        "-" * 4_000 + "::a",
        "::a",
        "#L1",
        ".",
    ]
    plain = case.plain()
    plain["sssa"]["analysis"]["findings"][0]["evidence_ref"] = case.rng.choice(refs)
    return json.dumps(plain).encode()


@kind("attestation", "answer", SCHEMA)
async def cve_that_is_none(case: Case) -> Made:
    """CVE ids that are nearly ones, or made to keep a regular expression busy."""
    ids = [
        "CVE-20-1",
        "CVE-2020-" + "1" * 4_000 + "x",
        "GHSA-",
        "CVE-2020-123\n",
        "\u0661" * 100,
        "GHSA" + "-aaaa" * 800,
    ]
    plain = case.plain()
    plain["sssa"]["analysis"]["findings"][0]["cve_ids"] = [case.rng.choice(ids)]
    return json.dumps(plain).encode()


@kind("attestation", "answer", ACCEPTED)
async def injections_everywhere(case: Case) -> Made:
    """Escape codes, log lines, SQL, Markdown, HTML and markup in every free text, rightly signed."""
    finding = {"description": everything(), "target_pattern": everything(), "id": everything()}
    refs = [text.replace("\\", "").replace("/", "").replace("#", "").replace("::", "") for text in INJECTIONS]
    many = [{**finding, "evidence_ref": f"{i}{ref}".replace("..", "")} for i, ref in enumerate(refs)]
    findings = tuple(msgspec.structs.replace(case.answer.sssa.analysis.findings[0], **each) for each in many)
    answer = case.changed(
        "analysis",
        findings=findings,
        capabilities=INJECTIONS,
        dependencies=tuple(Dependency(text, text, ()) for text in INJECTIONS),
    )
    case.answer = answer
    evidence: dict[str, Any] = {
        "llm_evidence": LlmEvidence(everything(), injection(1), injection(2), "cve_explanation")
    }
    if case.runtime_primary and answer.sssa.evidence.sandbox_manifest is not None:
        digest = answer.sssa.evidence.sandbox_manifest.digest
        evidence["sandbox_manifest"] = SandboxManifest(everything(), digest, everything())
    case.answer = case.changed("evidence", **evidence)
    rules = Policy(tuple(Rule(text, text, text) for text in INJECTIONS))
    return msgspec.json.encode(case.changed("policy", rules=rules.rules))


@kind("attestation", "answer", Reason.VALIDITY_SIGNATURE)
async def forged(case: Case) -> Made:
    """A signature of random bytes, zeros or ones."""
    value = case.rng.choice([case.rng.randbytes(64).hex(), "0" * 128, "f" * 128])
    return resigned(case, value="0x" + value)


@kind("attestation", "answer", SCHEMA)
async def signature_of_another_length(case: Case) -> Made:
    """A signature a byte too short or too long, without 0x, or a megabyte of it."""
    value = case.rng.choice(["0x" + "0" * 126, "0x" + "0" * 130, "0" * 130, "0x" + "0" * 1_000_000, "", "0x"])
    return resigned(case, value=value)


@kind("attestation", "answer", Reason.VALIDITY_SIGNATURE)
async def other_curve(case: Case) -> Made:
    """The right signature under the name of the other scheme."""
    return resigned(case, crypto="ed25519")


@kind("attestation", "answer", Reason.VALIDITY_SIGNATURE)
async def wrapped_signature(case: Case) -> Made:
    """A signature over the bytes as browser wallets wrap them."""
    signed = case.signer.sign(b"<Bytes>" + signing_bytes(case.answer.sssa) + b"</Bytes>")
    return resigned(case, value=signed)


@kind("attestation", "answer", Reason.VALIDITY_SIGNATURE)
async def other_members_answer_under_own_name(case: Case) -> Made:
    """Return another member's signed answer with the sender's own hotkey in it."""
    signed = STRANGER.sign_document(case.answer.sssa)
    stolen = msgspec.structs.replace(signed.signature, hotkey=case.signer.hotkey)
    sssa = msgspec.structs.replace(signed, signature=stolen)
    return msgspec.json.encode(msgspec.structs.replace(case.answer, sssa=sssa))


@kind("attestation", "answer", Reason.VALIDITY_HOTKEY)
async def other_members_answer(case: Case) -> Made:
    """Return an exact copy of another member's signed answer."""
    return msgspec.json.encode(msgspec.structs.replace(case.answer, sssa=STRANGER.sign_document(case.answer.sssa)))


@kind("attestation", "answer", Reason.VALIDITY_NONCE)
async def replayed_nonce(case: Case) -> Made:
    """An answer to an earlier dispatch of the same bundle."""
    return msgspec.json.encode(case.changed("skill", nonce=sha256_hex(case.rng.randbytes(4))))


@kind("attestation", "answer", Reason.VALIDITY_BUNDLE, Reason.VALIDITY_SKILL_TYPE)
async def about_another_task(case: Case) -> Made:
    """An answer about another bundle or another type."""
    if case.rng.random() < 0.5:
        return msgspec.json.encode(case.changed("skill", bundle_sha256=sha256_hex(case.rng.randbytes(4))))
    other = "declarative" if case.dispatch.skill_type != "declarative" else "mcp_server"
    return msgspec.json.encode(case.changed("skill", skill_type=type(case.dispatch.skill_type)(other)))


@kind("attestation", "answer", Reason.VALIDITY_LLM_USE)
async def model_used_for_the_verdict(case: Case) -> Made:
    """A model used for what is not allowed, under a name that wants to be shown."""
    use = case.rng.choice(["verdict", injection(case.rng.randrange(99)) + "x"])
    return msgspec.json.encode(case.changed("evidence", llm_evidence=LlmEvidence("m", "", "", use)))


@kind("attestation", "answer", Reason.PROBES_ECHO)
async def wrong_probes(case: Case) -> Made:
    """Probe values of another nonce, or texts that want to be shown."""
    probes = msgspec.structs.replace(case.answer.probe_evidence, dns_host=injection(case.rng.randrange(99)))
    return msgspec.json.encode(msgspec.structs.replace(case.answer, probe_evidence=probes))


@kind("attestation", "answer", Reason.MANIFEST_MISSING, Reason.MANIFEST_DIGEST, traced=True)
async def other_image(case: Case) -> Made:
    """No sandbox manifest, or that of another image than the dispatch's."""
    manifest = case.rng.choice([None, SandboxManifest("x", "", "1"), SandboxManifest("x", everything(), "1")])
    return msgspec.json.encode(case.changed("evidence", sandbox_manifest=manifest))


def resigned(case: Case, **signature: str) -> bytes:
    """The honest answer's bytes with other fields of the signature."""
    plain = case.plain()
    plain["sssa"]["signature"] |= signature
    return json.dumps(plain).encode()
