"""A small miner: it reads rag_knowledge and declarative skills, and signs what it finds. See docs/tutorial-miner.md."""

import argparse
import asyncio
import base64
import gzip
import hashlib
import io
import json
import re
import sys
import tarfile
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from aiohttp import web
from bittensor import Wallet, http_auth
from bittensor_core import Keypair

TYPES: Final = ("rag_knowledge", "declarative")
MIB: Final = 1024 * 1024
ENTRIES: Final = 4_096


def sign(document: dict[str, Any], key: Any) -> dict[str, Any]:
    """Return the document with the key's signature over its canonical bytes."""
    unsigned = document | {"signature": {"hotkey": key.ss58_address, "crypto": "sr25519"}}
    # RFC 8785 as far as these documents need it: a number such as 1.0 would have to be written 1, and there is none.
    canonical = json.dumps(unsigned, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return document | {"signature": unsigned["signature"] | {"value": "0x" + key.sign(canonical).hex()}}


def declaration(key: Any) -> dict[str, Any]:
    """Return what this miner can do, for the next 12 hours."""
    now = datetime.now(UTC).replace(microsecond=0)
    issued, expires = (f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in (now, now + timedelta(hours=12)))
    document = {
        "document_version": "1.0",
        "hotkey": key.ss58_address,
        "skill_types": list(TYPES),
        "max_concurrent": 2,
        "software": "my-miner 0.1",
        "issued_at": issued,
        "expires_at": expires,
    }
    return sign(document, key)


def read_bundle(data: bytes) -> dict[str, bytes]:
    """Return the bundle's files by path, within the protocol's bounds; nothing is written to a disk.

    Raises:
        ValueError: it is over a bound, or not exactly what packing its files gives.
    """
    with gzip.open(io.BytesIO(data)) as stream:
        raw = stream.read(80 * MIB + 1)
    if len(raw) > 80 * MIB:
        raise ValueError("the bundle unpacks to too much")
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
        for number, member in enumerate(tar, start=1):
            if number > ENTRIES or member.size > 16 * MIB or not (member.isreg() or member.isdir()):
                raise ValueError("the bundle is none")
            if member.isreg() and (content := tar.extractfile(member)) is not None:
                files[member.name] = content.read()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(files):
            info = tarfile.TarInfo(name)
            info.size = len(files[name])
            tar.addfile(info, io.BytesIO(files[name]))
    if packed.getvalue() != raw:  # another program could see other files in it
        raise ValueError("the bundle is not in canonical form")
    return files


class Find(NamedTuple):
    """Something that was found: what kind, how bad, and the line."""

    category: str
    severity: str
    description: str
    path: str
    line: int


ORDERS: Final = re.compile(
    r"(?:ignore|disregard|forget)\b.{0,40}\b(?:instructions|rules)"
    r"|(?:do not|don't|never) (?:mention|tell)\b.{0,40}\b(?:user|customer)"
    r"|without (?:asking|telling) the user"
    r"|(?:reveal|print|repeat)\b.{0,20}\bsystem prompt"
    r"|(?:send|forward)\b.{0,40}\b(?:credentials|conversation|chat history|password)",
    re.IGNORECASE,
)
LEAKS: Final = re.compile(r"https?://[^\s)]*[?&][^\s)]*(?:\{\{|\$\{)")
SECRETS: Final = re.compile(r"AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]")
LOOKS: Final = (
    (ORDERS, "prompt_injection", "high", "Gives orders to the assistant."),
    (LEAKS, "excessive_capability", "medium", "Puts what was said into an address."),
    (SECRETS, "secrets_exposure", "high", "Holds a key."),
)


def find(files: dict[str, bytes]) -> Iterator[Find]:
    """Yield what the lines of the text files show."""
    for path, content in sorted(files.items()):
        if "#" in path or b"\0" in content[:1024] or len(content) > MIB:
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), start=1):
            # JSON may spell a letter as \u0049; look at what it stands for.
            text = re.sub(r"\\u00([0-7][0-9a-f])", lambda code: chr(int(code[1], 16)), line[:4_096])
            for pattern, category, severity, description in LOOKS:
                if pattern.search(text):
                    yield Find(category, severity, description, path, number)


def marker_of(dispatch: dict[str, Any], files: dict[str, bytes]) -> Iterator[Find]:
    """Yield the canary: the marker that follows from the nonce, at its line."""
    if dispatch["canary_spec"] is not None:
        path = dispatch["canary_spec"]["file"]
        marker = b"CANARY-" + hashlib.sha256(bytes.fromhex(dispatch["nonce"]) + b"canary").hexdigest()[:16].encode()
        for number, line in enumerate(files[path].split(b"\n"), start=1):
            if marker in line:
                yield Find("canary_match", "low", "The marker of this dispatch.", path, number)


RESOURCES: Final = ("code", "environment", "file_read", "file_write", "network", "process")
RISK: Final = {"ALLOW": 0.05, "REVIEW": 0.4, "BLOCK": 0.95}


def verdict_of(found: list[Find]) -> str:
    """Return BLOCK for orders to the assistant, REVIEW for anything else that was found, else ALLOW."""
    categories = {one.category for one in found} - {"canary_match"}
    if "prompt_injection" in categories:
        return "BLOCK"
    return "REVIEW" if categories else "ALLOW"


def attestation(dispatch: dict[str, Any], files: dict[str, bytes], key: Any) -> dict[str, Any]:
    """Return the signed attestation about a bundle."""
    found = [*marker_of(dispatch, files), *find(files)][:512]
    verdict = verdict_of(found)
    document = {
        "schema_version": "1.0",
        "skill": {name: dispatch[name] for name in ("skill_type", "bundle_sha256", "nonce")},
        "analysis": {
            "verdict": verdict,
            "risk_score": RISK[verdict],
            "findings": [
                {
                    "id": f"f{number}",
                    "category": one.category,
                    "severity": one.severity,
                    "description": one.description,
                    "evidence_ref": f"{one.path}#L{one.line}-L{one.line}",
                    "cve_ids": [],
                    "target_pattern": one.path,
                }
                for number, one in enumerate(found, start=1)
            ],
            "capabilities": [],
            "dependencies": [],
        },
        "evidence": {"trace_hashes": {}, "manifest_sha256": None, "sandbox_manifest": None, "llm_evidence": None},
        "policy": {"rules": [{"resource": name, "action": "deny", "pattern": "*"} for name in RESOURCES]},
    }
    return sign(document, key)


def answer(body: bytes, key: Any) -> tuple[dict[str, Any], float]:
    """Return the answer to a dispatch and the seconds before which it earns nothing.

    Raises:
        ValueError, KeyError, TypeError: it is no dispatch that this miner can answer.
    """
    dispatch = json.loads(body)
    bundle = base64.b64decode(dispatch["bundle"], validate=True)
    if dispatch["skill_type"] not in TYPES or hashlib.sha256(bundle).hexdigest() != dispatch["bundle_sha256"]:
        raise ValueError("not for this miner, or another bundle than it says")
    sssa = attestation(dispatch, read_bundle(bundle), key)
    response = {"sssa": sssa, "probe_evidence": dispatch["probe_spec"], "trace_bundle": None}
    return response, float(dispatch["t_min_s"])


UNREADABLE: Final = (ValueError, KeyError, TypeError, OSError, EOFError, RecursionError, zlib.error, tarfile.TarError)


class Miner:
    """Answers validators, and nobody else.

    Args:
        key: the miner's hotkey.
        validators: the hotkeys that are answered.
    """

    def __init__(self, key: Any, validators: frozenset[str]) -> None:
        self.key = key
        self.validators = validators
        self.nonces = http_auth.InMemoryNonceStore()

    async def body_of(self, request: web.Request) -> bytes:
        """Return the request's body once a validator is known to have signed it."""
        arrived = time.time_ns()  # of the headers: the upload of a large bundle is not the nonce's age
        if request.headers.get("X-Bittensor-Hotkey") not in self.validators:
            raise web.HTTPForbidden(text="not a validator that this miner answers")
        async with asyncio.timeout(60):
            body = await request.read()
        try:
            http_auth.verify(
                request.headers,
                body,
                method=request.method,
                path=request.raw_path,
                self_hotkey_ss58=self.key.ss58_address,
                nonce_store=self.nonces,
                now_ns=arrived,
            )
        except (http_auth.AuthError, ValueError) as error:
            raise web.HTTPUnauthorized(text=str(error)) from None
        return body

    async def capabilities(self, request: web.Request) -> web.Response:
        """Answer GET /v1/capabilities."""
        await self.body_of(request)
        return web.json_response(declaration(self.key))

    async def assessments(self, request: web.Request) -> web.Response:
        """Answer POST /v1/assessments, not before t_min."""
        began = time.monotonic()
        body = await self.body_of(request)
        try:
            response, t_min_s = await asyncio.to_thread(answer, body, self.key)
        except UNREADABLE as error:
            raise web.HTTPBadRequest(text=f"{type(error).__name__}: {error}") from None
        await asyncio.sleep(began + t_min_s - time.monotonic())
        return web.json_response(response)

    def app(self) -> web.Application:
        """Return the server."""
        app = web.Application(client_max_size=12 * MIB)
        app.router.add_get("/v1/capabilities", self.capabilities)
        app.router.add_post("/v1/assessments", self.assessments)
        return app


def main() -> None:
    """Serve until Ctrl-C."""
    options = argparse.ArgumentParser(description="A small SSSA miner.")
    options.add_argument("--key-uri", help="a development key such as //my-miner; else the wallet's hotkey")
    options.add_argument("--wallet", default="default")
    options.add_argument("--hotkey", default="default")
    options.add_argument("--validator", action="append", required=True, help="a hotkey to answer; again for more")
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", type=int, default=8091)
    said = options.parse_args()
    key = Keypair.create_from_uri(said.key_uri) if said.key_uri else Wallet(said.wallet, said.hotkey).hotkey
    miner = Miner(key, frozenset(said.validator))

    def tell(_: str) -> None:
        sys.stderr.write(f"miner {key.ss58_address} at http://{said.host}:{said.port}\n")

    web.run_app(miner.app(), host=said.host, port=said.port, print=tell)


if __name__ == "__main__":
    main()
