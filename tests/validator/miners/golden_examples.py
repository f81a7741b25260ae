"""The golden files of the miner protocol: reading them, working them out, and their place in the documentation."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sssa.protocol.answer import canary_line, canary_marker, probe_values
from sssa.protocol.archives import unpack
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.sssa import Finding
from sssa.protocol.workflow_task import WorkflowTask, parse_workflow_task
from sssa.scoring import key_parts

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "tests" / "golden"
DOC = ROOT / "docs" / "miner-protocol.md"
HOST = "192.0.2.7:8091"
NAMES = ("capabilities.json", "assessment-runtime.json", "assessment-content.json", "workflow.json")
_BLOCK = re.compile(r"(<!-- golden: (\S+) (\S+) -->\n\n```\w*\n)(.*?)(```\n)", re.DOTALL)
_WIDTH = 120
_CAPS = {"expanded": 1_000_000, "file_size": 1_000_000, "entries": 100}

Example = dict[str, Any]


def load(name: str) -> Example:
    """Return a golden file's document."""
    document: Example = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return document


def example_workflow() -> WorkflowTask:
    """Return the task of the golden plan."""
    return parse_workflow_task((FOLDER / "workflow-task.json").read_bytes())


def signed_string(method: str, target: str, body: bytes, headers: Mapping[str, str]) -> str:
    """Return what a request's signature is over, from the documentation's rules alone."""
    return "\n".join(
        (
            "btauth/1",
            headers.get("X-Bittensor-Crypto", "sr25519"),
            method,
            target,
            hashlib.sha256(body).hexdigest(),
            headers["X-Bittensor-Nonce"],
            headers["X-Bittensor-Hotkey"],
            headers["X-Bittensor-Receiver"],
        )
    )


def worked(example: Example) -> Example:
    """Return everything that the documentation works out of an example's request and response."""
    body = json.loads(example["response"]["body"])
    if "sssa" not in body:
        return {"canonical": canonical_without_value(body).decode()}
    dispatch = json.loads(example["request"]["body"])
    nonce, canary = dispatch["nonce"], dispatch["canary_spec"]
    result: Example = {
        "nonce": nonce,
        "bundle": {name: content.decode() for name, content in unpacked(dispatch["bundle"]).items()},
        "probes": {name: getattr(probe_values(nonce), name) for name in dispatch["probe_spec"]},
        "canonical": canonical_without_value(body["sssa"]).decode(),
        "keys": [finding_key(finding) for finding in body["sssa"]["analysis"]["findings"]],
    }
    if canary is not None:
        result["canary"] = {"marker": canary_marker(nonce), "line": canary_line(nonce, canary["file"])}
    if body["trace_bundle"] is not None:
        files = unpacked(body["trace_bundle"])
        result["traces"] = {name: content.decode() for name, content in files.items()}
        result["hashed"] = {name: trace_hash(content) for name, content in result["traces"].items()}
    return result


def canonical_without_value(document: Example) -> bytes:
    """Return the bytes that a document's signature is over."""
    signature = {name: value for name, value in document["signature"].items() if name != "value"}
    return canonical_bytes(document | {"signature": signature})


def unpacked(bundle: str) -> dict[str, bytes]:
    """Return the files of a base64 gzip tar."""
    return dict(unpack(base64.b64decode(bundle, validate=True), **_CAPS))


def trace_hash(content: str) -> Example:
    """Return a trace file's hash with the text it is the sha256 of."""
    lines = [(json.loads(line)["ts"], canonical_bytes(json.loads(line)).decode()) for line in content.splitlines()]
    text = "\n".join(line for _, line in sorted(lines))
    return {"text": text, "hash": "sha256:" + hashlib.sha256(text.encode()).hexdigest()}


def finding_key(finding: Example) -> Example:
    """Return a finding's key with the text it is the hash of."""
    joined = "|".join(key_parts(Finding(**(finding | {"cve_ids": tuple(finding["cve_ids"])}))))
    return {"joined": joined, "key": hashlib.sha256(joined.encode()).hexdigest()}


def filled(text: str) -> str:
    """Return the documentation with every golden block as the golden files have it."""
    return _BLOCK.sub(lambda match: match[1] + block(match[2], match[3]) + "\n" + match[5], text)


def blocks(text: str) -> list[tuple[str, str, str]]:
    """Return file, place and content of every golden block."""
    return [(match[2], match[3], match[4].rstrip("\n")) for match in _BLOCK.finditer(text)]


def block(name: str, place: str) -> str:
    """Return how one place of a golden file is shown."""
    example = load(name)
    side, _, part = place.partition(".")
    if part == "head":
        lines = [example[side]["line"], *(f"{header}: {value}" for header, value in example[side]["headers"])]
        return "\n".join(lines)
    if part == "body":
        return laid_out(json.loads(example[side]["body"]))
    value: Any = example
    for step in place.split("."):  # a dot within a name is written ~
        value = value[int(step)] if isinstance(value, list) else value[step.replace("~", ".")]
    return value.rstrip("\n") if isinstance(value, str) else laid_out(value)


def laid_out(value: Any, indent: str = "") -> str:
    """Return a value as JSON with one item a line, but for items that fit on a line."""
    flat = json.dumps(value)
    if len(indent) + len(flat) <= _WIDTH or not isinstance(value, dict | list):
        return flat
    inner = indent + "  "
    if isinstance(value, list):
        items = [laid_out(item, inner) for item in value]
    else:
        items = [f"{json.dumps(name)}: {laid_out(item, inner)}" for name, item in value.items()]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n" + ",\n".join(inner + item for item in items) + f"\n{indent}{end}"
