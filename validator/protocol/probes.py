"""Probe values and canary markers: all of them follow from the task's nonce (SPEC 5, 13)."""

import hashlib

from validator.protocol.answer import ProbeEvidence


def probe_values(nonce: str) -> ProbeEvidence:
    """Return the probes of a task whose nonce is the 64 hex digits `nonce` (SPEC 5)."""
    slug = nonce[:8]
    return ProbeEvidence(
        file_path=f"/tmp/sssa/probe-{slug}.txt",  # noqa: S108 - the path is the protocol's, inside the miner's sandbox
        file_content=f"{slug}probe",
        dns_host=f"{slug}.probe.sssa.invalid",
        process_echo=f"{slug}probe-echo",
    )


def canary_marker(nonce: str) -> str:
    """Return the marker that a correct analysis reports as canary_match (SPEC 13)."""
    return "CANARY-" + hashlib.sha256(bytes.fromhex(nonce) + b"canary").hexdigest()[:16]


def canary_line(nonce: str, path: str) -> str:
    """Return the line that is appended to the file `path`: an HTML comment in Markdown, else the bare marker."""
    marker = canary_marker(nonce)
    return f"<!-- {marker} -->" if path.endswith(".md") else marker
