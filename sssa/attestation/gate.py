"""A gate before an install, `validator attestation gate`: reads a policy and a skill, asks validators over HTTP.

The answers are attestations, so nobody between can change one. A validator, or anyone who answers in its place, can
keep silent or hand out what it revoked since; the first is no consent, against the second there are TLS and `until`.
"""

import http.client
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Meta

from sssa.attestation.statement import PURL
from sssa.attestation.verify import (
    MAX_HANDED,
    Verified,
    Withdrawn,
    parse_handed,
    verify_attestation,
)
from sssa.files import read_at_most
from sssa.protocol import typed
from sssa.protocol.archives import ArchiveError
from sssa.protocol.bundles import read_bundle
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MAX_BUNDLE_COMPRESSED
from sssa.protocol.receipt import Digest, Hotkey
from sssa.protocol.sssa import Document, Unit, Verdict
from sssa.protocol.strict_json import JsonError, decode
from sssa.protocol.text import all_printable, printable
from sssa.sources import Clock

ALLOWED: Final = 0
REFUSED: Final = 1
UNKNOWN: Final = 2
_MAX_POLICY: Final = 64 * 1024
_STEP_S: Final = 10.0
_WHOLE_S: Final = 30.0
_CHUNK: Final = 64 * 1024
_OK: Final = 200
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
        ignore: names, from the top, of files and folders that bundles leave out and that are installed all the same,
            unseen; the decision repeats them.
    """

    validators: Annotated[tuple[Trusted, ...], Meta(min_length=1, max_length=16)]
    threshold: Annotated[int, Meta(ge=1, le=16)] = 1
    verdicts: Annotated[tuple[Verdict, ...], Meta(min_length=1)] = ("ALLOW",)
    max_risk: Unit = 0.3
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.threshold > len({one.hotkey for one in self.validators}):
            raise ValueError("`threshold` is above the number of hotkeys")

    def allows(self, verified: Verified) -> bool:
        """Return whether an attestation is good enough."""
        predicate = verified.statement.predicate
        return predicate.verdict in self.verdicts and predicate.risk <= self.max_risk


class Hashed(NamedTuple):
    """The digests that a path may be attested under, and what would be installed next to the hashed files."""

    digests: tuple[str, ...]
    left_out: tuple[str, ...] = ()


class Decision(NamedTuple):
    """The exit code of the gate, a line that says why, and what the policy's `ignore` let pass unseen."""

    code: Literal[0, 1, 2]
    line: str
    ignored: tuple[str, ...] = ()


class _RevokedError(ValidatorError):
    """The validator revoked its attestation."""


class _Listed(msgspec.Struct):
    sha256: Digest


class _Listing(msgspec.Struct):
    attestations: Annotated[tuple[_Listed, ...], Meta(max_length=64)]


def read_policy(file: Path) -> Policy:
    """Return the policy in a TOML file (PolicyError, OSError: it is none; the text names the field)."""
    data = read_at_most(file, _MAX_POLICY)
    if len(data) > _MAX_POLICY:
        raise PolicyError(f"larger than {_MAX_POLICY} bytes")
    try:
        return typed.convert(tomllib.loads(data.decode()), Policy)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        raise PolicyError(printable(str(error))) from None


def decide(policy: Policy, what: str, clock: Clock, hashed: Callable[[str], Hashed]) -> Decision:
    """Ask the policy's validators, and return the decision about a path or a package URL, as of now.

    Args:
        policy: the conditions.
        what: the path or the URL.
        clock: the time.
        hashed: returns the digests of a path.

    Raises:
        ValidatorError: the path cannot be hashed.
        PolicyError: it begins like a package URL and is none.
    """
    purl = what if what.startswith("pkg:") else None
    if purl is not None and not PURL.fullmatch(purl):
        raise PolicyError(f"{printable(purl, 80)} is no package URL")
    digests, left_out = Hashed(()) if purl is not None else hashed(what)
    shown = printable(" ".join((what, *digests)), 500)
    ignored = tuple(name for name in left_out if name in policy.ignore)
    if unseen := [name for name in left_out if name not in policy.ignore]:
        return Decision(UNKNOWN, f"cannot tell: {shown}: a bundle has no such file: {printable(unseen[0])}", ignored)
    allowed, silent = set[str](), list[str]()
    for trusted in policy.validators:
        try:
            for document in _documents(trusted, digests, purl, clock):
                verified = verify_attestation(*parse_handed(document.body), clock.now())
                document.require(verified, trusted, purl)
                if not policy.allows(verified):
                    predicate = verified.statement.predicate
                    verdict = f"{predicate.verdict} at risk {predicate.risk:.2f}, {len(predicate.findings)} findings"
                    return Decision(REFUSED, f"refused: {shown}: {trusted.hotkey} says {verdict}", ignored)
            allowed.add(trusted.hotkey)
        except _RevokedError:
            return Decision(REFUSED, f"refused: {shown}: {trusted.hotkey} revoked its attestation", ignored)
        except ValidatorError as error:
            silent.append(f"{trusted.url}: {error}")
    agreement_line = f"{len(allowed)} of {policy.threshold} needed validators allow it"
    if len(allowed) >= policy.threshold:
        unseen_line = f"; not judged, by `ignore`: {', '.join(all_printable(ignored))}" if ignored else ""
        return Decision(ALLOWED, f"allowed: {shown}: {agreement_line}{unseen_line}", ignored)
    return Decision(UNKNOWN, printable("; ".join([f"cannot tell: {shown}: {agreement_line}", *silent]), 2_000), ignored)


def bundle_digest(path: Path) -> tuple[str, ...]:
    """Return the digest of a file that is a bundle as it is; none of any other path."""
    if path.is_file():
        data = read_at_most(path, MAX_BUNDLE_COMPRESSED)
        with suppress(ArchiveError):
            read_bundle(data)
            return (sha256_hex(data),)
    return ()


class _Document(NamedTuple):
    """The document that a validator has of a bundle."""

    sha256: str
    body: bytes

    def require(self, verified: Verified, trusted: Trusted, purl: str | None) -> None:
        """Check that the attestation is this validator's, and about the bundle or package (NoAnswerError)."""
        if verified.hotkey != trusted.hotkey or verified.sha256 != self.sha256:
            raise NoAnswerError(f"it answers for {verified.hotkey} about {verified.sha256}")
        if purl is not None and verified.statement.subject[0].uri != purl:
            raise NoAnswerError(f"what it says of {self.sha256} is not about the package")


def _documents(trusted: Trusted, digests: Sequence[str], purl: str | None, clock: Clock) -> Iterator[_Document]:
    """Yield what a validator has of the first digest that it knows, or of every bundle of a package.

    Raises:
        _RevokedError: it took that back.
        NoAnswerError, AttestationError: it has nothing.
    """
    base = f"{trusted.url.rstrip('/')}/api/v1/attestations"
    named = digests if purl is None else _listed(fetched(f"{base}?purl={quote(purl, safe='')}", clock))
    known = False
    for sha256 in named:
        status, body = fetched(f"{base}/{sha256}", clock)
        if status == _MISSING and purl is None:
            continue
        if status == _GONE:
            withdrawn = Withdrawn()
            withdrawn.add(body.rstrip())
            if sha256 in withdrawn.bundles[trusted.hotkey]:
                raise _RevokedError
        if status != _OK:
            raise NoAnswerError(f"status {status}")
        yield _Document(sha256, body)
        known = True
        if purl is None:
            return
    if not known:
        raise NoAnswerError("it knows nothing of it")


def _listed(answer: tuple[int, bytes]) -> list[str]:
    """Return the bundles of a listing; none where there is no such package (NoAnswerError: it is no listing)."""
    status, body = answer
    if status != _OK:
        return []
    try:
        return [one.sha256 for one in decode(body, _Listing, limit=MAX_HANDED, depth=8, values=2_000).attestations]
    except JsonError as error:
        raise NoAnswerError(str(error)) from None


def fetched(url: str, clock: Clock) -> tuple[int, bytes]:
    """Return status and body of a URL, at most `MAX_HANDED` bytes in bounded time; no redirects (NoAnswerError)."""
    parts, until = urlsplit(url), clock.monotonic() + _WHOLE_S
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        with closing(kind(parts.hostname or "", parts.port, timeout=_STEP_S)) as connection:
            connection.request("GET", f"{parts.path}?{parts.query}" if parts.query else parts.path)
            response = connection.getresponse()
            body = b""
            while chunk := response.read1(_CHUNK):
                body += chunk
                if len(body) > MAX_HANDED or clock.monotonic() > until:
                    raise NoAnswerError("too large, or too slow")
            return response.status, body
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise NoAnswerError(printable(getattr(error, "strerror", None) or str(error) or type(error).__name__)) from None
