"""A gate before an install, `attestation gate`: asks the validators of a policy about a skill, over HTTP.

The answers are attestations, so nobody between can change one. A validator, or anyone who answers in its place, can
keep silent or hand out what it revoked since; the first is no consent, against the second there are TLS and `until`.
All are asked at the same time and have `WHOLE_S` seconds, name resolution included.
"""

import http.client
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Annotated, Final, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Meta

from sssa.attestation.policy import (
    MAX_POLICY,
    UNKNOWN,
    Answer,
    Decision,
    Policy,
    PolicyError,
    Trusted,
    judge,
    parse_policy,
)
from sssa.attestation.statement import PURL
from sssa.attestation.verify import (
    MAX_HANDED,
    Verified,
    Withdrawn,
    parse_handed,
    verify_attestation,
)
from sssa.files import read_at_most
from sssa.protocol.archives import ArchiveError
from sssa.protocol.bundles import read_bundle
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MAX_BUNDLE_COMPRESSED
from sssa.protocol.receipt import Digest
from sssa.protocol.strict_json import JsonError, decode
from sssa.protocol.text import all_printable, printable
from sssa.sources import Clock

WHOLE_S: Final = 10.0
_CHUNK: Final = 64 * 1024
_OK: Final = 200
_MISSING: Final = 404
_GONE: Final = 410


class NoAnswerError(ValidatorError):
    """A validator gave no answer."""


class _RevokedError(ValidatorError):
    """The validator revoked its attestation."""


class Hashed(NamedTuple):
    """The digests that a path may be attested under, and what would be installed next to the hashed files."""

    digests: tuple[str, ...]
    left_out: tuple[str, ...] = ()


class _Listed(msgspec.Struct):
    sha256: Digest


class _Listing(msgspec.Struct):
    attestations: Annotated[tuple[_Listed, ...], Meta(max_length=64)]


def read_policy(file: Path) -> Policy:
    """Return the policy in a TOML file (PolicyError, OSError: it is none; the text names the field)."""
    return parse_policy(read_at_most(file, MAX_POLICY))


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
    code, line, _ = judge(policy, shown, _ask_all(policy.validators, digests, purl, clock), clock.now())
    unseen_line = f"; not judged, by `ignore`: {', '.join(all_printable(ignored))}" if code == 0 and ignored else ""
    return Decision(code, line + unseen_line, ignored)


def _ask_all(validators: Sequence[Trusted], digests: Sequence[str], purl: str | None, clock: Clock) -> list[Answer]:
    """Return the answers in the validators' order; one that is not there within `WHOLE_S` is missing.

    A thread that still waits then is a daemon: it ends with the process, whatever keeps it.
    """
    came: SimpleQueue[tuple[int, Answer]] = SimpleQueue()

    def ask(number: int, trusted: Trusted) -> None:
        came.put((number, _answer(trusted, digests, purl, clock)))

    until = clock.monotonic() + WHOLE_S
    for number, trusted in enumerate(validators):
        Thread(target=ask, args=(number, trusted), daemon=True).start()
    answers = [Answer(one.hotkey, one.url, missing=f"no answer within {WHOLE_S:g} s") for one in validators]
    with suppress(Empty):
        for _ in validators:
            number, answer = came.get(timeout=max(0.0, until - clock.monotonic()))
            answers[number] = answer
    return answers


def _answer(trusted: Trusted, digests: Sequence[str], purl: str | None, clock: Clock) -> Answer:
    """Return what a validator attests; what came before a fault counts: it may refuse."""
    attestations, revoked, missing = list[Verified](), False, ""
    try:
        for verified in _attestations(trusted, digests, purl, clock):
            attestations.append(verified)
    except _RevokedError:
        revoked = True
    except ValidatorError as error:
        missing = str(error)
    return Answer(trusted.hotkey, trusted.url, tuple(attestations), revoked, missing)


def bundle_digest(path: Path) -> tuple[str, ...]:
    """Return the digest of a file that is a bundle as it is; none of any other path."""
    if path.is_file():
        data = read_at_most(path, MAX_BUNDLE_COMPRESSED)
        with suppress(ArchiveError):
            read_bundle(data)
            return (sha256_hex(data),)
    return ()


def _attestations(trusted: Trusted, digests: Sequence[str], purl: str | None, clock: Clock) -> Iterator[Verified]:
    """Yield what a validator attests of the first digest that it knows, or of every bundle of a package.

    Raises:
        _RevokedError: it took that back.
        NoAnswerError, AttestationError: it has nothing.
    """
    base = f"{trusted.url.rstrip('/')}/api/v1/attestations"
    named = digests if purl is None else _listed(fetched(f"{base}?purl={quote(purl, safe='')}"))
    known = False
    for sha256 in named:
        status, body = fetched(f"{base}/{sha256}")
        if status == _MISSING and purl is None:
            continue
        if status == _GONE:
            withdrawn = Withdrawn()
            withdrawn.add(body.rstrip())
            if sha256 in withdrawn.bundles[trusted.hotkey]:
                raise _RevokedError
        if status != _OK:
            raise NoAnswerError(f"status {status}")
        verified = verify_attestation(*parse_handed(body), clock.now())
        if verified.hotkey != trusted.hotkey or verified.sha256 != sha256:
            raise NoAnswerError(f"it answers for {verified.hotkey} about {verified.sha256}")
        if purl is not None and verified.statement.subject[0].uri != purl:
            raise NoAnswerError(f"what it says of {sha256} is not about the package")
        yield verified
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


def fetched(url: str) -> tuple[int, bytes]:
    """Return status and body of a URL, at most `MAX_HANDED` bytes; no redirects (NoAnswerError).

    Each read waits at most `WHOLE_S`, which bounds no server that sends a little now and then: the caller does.
    """
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        with closing(kind(parts.hostname or "", parts.port, timeout=WHOLE_S)) as connection:
            connection.request("GET", f"{parts.path}?{parts.query}" if parts.query else parts.path)
            response = connection.getresponse()
            body = b""
            while chunk := response.read1(_CHUNK):
                body += chunk
                if len(body) > MAX_HANDED:
                    raise NoAnswerError("too large")
            return response.status, body
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise NoAnswerError(printable(getattr(error, "strerror", None) or str(error) or type(error).__name__)) from None
