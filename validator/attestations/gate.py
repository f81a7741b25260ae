"""A gate before an install: validators that a policy trusts are asked about what is to be installed.

The answers are attestations, so nobody between can change one. A validator, or whoever answers in its place, can keep
silent or hand out what it revoked since; the first is no consent, against the second stand TLS and `until`.
"""

import http.client
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Meta

from validator.attestations.statement import PURL
from validator.attestations.verify import (
    MAX_HANDED,
    Verified,
    Withdrawn,
    parse_handed,
    verify_attestation,
)
from validator.files import read_at_most
from validator.protocol import typed
from validator.protocol.errors import ValidatorError
from validator.protocol.receipt import Digest, Hotkey
from validator.protocol.sssa import Document, Unit, Verdict
from validator.protocol.strict_json import JsonError, decode
from validator.protocol.text import printable
from validator.tasks.packing import pack_task

ALLOWED: Final = 0
REFUSED: Final = 1
UNKNOWN: Final = 2
_MAX_POLICY: Final = 64 * 1024
_STEP_S: Final = 10.0
_WHOLE_S: Final = 30.0
_CHUNK: Final = 64 * 1024
_FOUND: Final = 200
_MISSING: Final = 404
_GONE: Final = 410


class PolicyError(ValidatorError):
    """The policy cannot be used."""


class NoAnswerError(ValidatorError):
    """A validator gave no answer."""


class Trusted(Document, frozen=True):
    """A validator: where its API is, and the hotkey that must vouch for its answers."""

    url: Annotated[str, Meta(pattern=r"\Ahttps?://[A-Za-z0-9.\[\]:-]{1,260}(/[A-Za-z0-9._~/-]{0,200})?\Z")]
    hotkey: Hotkey


class Policy(Document, frozen=True):
    """Conditions of an install.

    Attributes:
        validators: that are asked, each of which refuses alone.
        threshold: number of them that must allow it.
        verdicts: that allow it.
        max_risk: above it nothing is allowed.
    """

    validators: Annotated[tuple[Trusted, ...], Meta(min_length=1, max_length=16)]
    threshold: Annotated[int, Meta(ge=1, le=16)] = 1
    verdicts: Annotated[tuple[Verdict, ...], Meta(min_length=1)] = ("ALLOW",)
    max_risk: Unit = 0.3

    def __post_init__(self) -> None:
        if self.threshold > len({one.hotkey for one in self.validators}):
            raise ValueError("`threshold` is above the number of hotkeys")

    def allows(self, found: Verified) -> bool:
        """Whether an attestation is good enough."""
        predicate = found.statement.predicate
        return predicate.verdict in self.verdicts and predicate.risk <= self.max_risk


class Decision(NamedTuple):
    """The exit code of the gate, and a line that says why."""

    code: Literal[0, 1, 2]
    line: str


class _RevokedError(ValidatorError):
    """The validator took back what it said."""


class _Listed(msgspec.Struct):
    sha256: Digest


class _Listing(msgspec.Struct):
    attestations: Annotated[tuple[_Listed, ...], Meta(max_length=64)]


Get = Callable[[str], tuple[int, bytes]]


def read_policy(file: Path) -> Policy:
    """Return the policy in a TOML file (PolicyError, OSError: it is none; the text names the field)."""
    data = read_at_most(file, _MAX_POLICY)
    if len(data) > _MAX_POLICY:
        raise PolicyError(f"larger than {_MAX_POLICY} bytes")
    try:
        return typed.convert(tomllib.loads(data.decode()), Policy)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        raise PolicyError(printable(str(error))) from None


def decide(policy: Policy, what: str, now: datetime, get: Get | None = None) -> Decision:
    """Return the decision about a path, which is packed and hashed as tasks are, or about a package URL.

    `get` returns status and body of a URL (NoAnswerError), in place of HTTP.

    Raises:
        TaskError: the path cannot be packed.
        PolicyError: it begins like a package URL and is none.
    """
    sha256 = None if what.startswith("pkg:") else pack_task(what).task.task.bundle_sha256
    if sha256 is None and not PURL.fullmatch(what):
        raise PolicyError(f"{printable(what, 80)} is no package URL")
    allowed, silent = set[str](), list[str]()
    for trusted in policy.validators:
        try:
            for found in _asked(trusted, sha256, what, now, get or fetched):
                if not policy.allows(found):
                    predicate = found.statement.predicate
                    said = f"{predicate.verdict} at risk {predicate.risk:.2f}, {len(predicate.findings)} findings"
                    return _decided(REFUSED, what, sha256, f"{trusted.hotkey} says {said}")
                allowed.add(trusted.hotkey)
        except _RevokedError:
            return _decided(REFUSED, what, sha256, f"{trusted.hotkey} revoked what it said")
        except ValidatorError as error:
            allowed.discard(trusted.hotkey)
            silent.append(f"{trusted.url}: {error}")
    told = f"{len(allowed)} of {policy.threshold} needed validators allow it"
    if len(allowed) < policy.threshold:
        return _decided(UNKNOWN, what, sha256, "; ".join([told, *silent]))
    return _decided(ALLOWED, what, sha256, told)


def _decided(code: Literal[0, 1, 2], what: str, sha256: str | None, why: str) -> Decision:
    word = ("allowed", "refused", "cannot tell")[code]
    digest = "" if sha256 is None else f" (sha256 {sha256})"
    return Decision(code, printable(f"{word}: {printable(what, 200)}{digest}: {why}", 1_000))


def _asked(trusted: Trusted, sha256: str | None, what: str, now: datetime, get: Get) -> Iterator[Verified]:
    """Yield what a validator says of a bundle, or of every bundle of a package (_RevokedError; ValidatorError)."""
    base = f"{trusted.url.rstrip('/')}/api/v1/attestations"
    named = [sha256] if sha256 is not None else _listed(get(f"{base}?purl={quote(what, safe='')}"))
    if not named:
        raise NoAnswerError("it knows nothing of the package")
    for each in named:
        status, body = get(f"{base}/{each}")
        if status == _GONE:
            withdrawn = Withdrawn()
            withdrawn.add(body)
            if each in withdrawn.bundles[trusted.hotkey]:
                raise _RevokedError
        if status != _FOUND:
            raise NoAnswerError("it knows nothing of the bundle" if status == _MISSING else f"status {status}")
        found = verify_attestation(*parse_handed(body), now)
        if found.hotkey != trusted.hotkey or found.sha256 != each:
            raise NoAnswerError(f"it answers for {found.hotkey} about {found.sha256}")
        if sha256 is None and found.statement.subject[0].uri != what:
            raise NoAnswerError(f"what it says of {each} is not about the package")
        yield found


def _listed(answer: tuple[int, bytes]) -> list[str]:
    """Return the bundles of a listing; none where there is no such package (NoAnswerError: it is no listing)."""
    status, body = answer
    if status != _FOUND:
        return []
    try:
        return [one.sha256 for one in decode(body, _Listing, limit=MAX_HANDED, depth=8, values=2_000).attestations]
    except JsonError as error:
        raise NoAnswerError(str(error)) from None


def fetched(url: str) -> tuple[int, bytes]:
    """Return status and body of a URL, at most `MAX_HANDED` bytes in bounded time; no redirects (NoAnswerError)."""
    parts, until = urlsplit(url), time.monotonic() + _WHOLE_S
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        with closing(kind(parts.hostname or "", parts.port, timeout=_STEP_S)) as connection:
            connection.request("GET", f"{parts.path}?{parts.query}" if parts.query else parts.path)
            response = connection.getresponse()
            body = b""
            while chunk := response.read1(_CHUNK):
                body += chunk
                if len(body) > MAX_HANDED or time.monotonic() > until:
                    raise NoAnswerError("too large, or too slow")
            return response.status, body
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise NoAnswerError(printable(getattr(error, "strerror", None) or str(error) or type(error).__name__)) from None
