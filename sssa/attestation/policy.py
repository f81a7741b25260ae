"""A consumer's conditions of an install, and the decision that follows from what validators attest. Pure.

Only a signed answer that holds counts: a BLOCK or a revocation of any trusted validator refuses, whatever others say,
and whatever is missing, old, weakly supported or damaged leaves the decision unknown.
"""

import tomllib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from sssa.attestation.verify import Verified
from sssa.protocol import typed
from sssa.protocol.errors import ValidatorError
from sssa.protocol.receipt import Hotkey
from sssa.protocol.sssa import Document, Unit, Verdict
from sssa.protocol.text import printable
from sssa.protocol.times import parse_time

ALLOWED: Final = 0
REFUSED: Final = 1
UNKNOWN: Final = 2
MAX_POLICY: Final = 64 * 1024


class PolicyError(ValidatorError):
    """The policy cannot be used."""


class Trusted(Document, frozen=True):
    """A validator: where its API is, and the hotkey that must vouch for its answers."""

    url: Annotated[str, Meta(pattern=r"\Ahttps?://[A-Za-z0-9.\[\]:-]{1,260}(/[A-Za-z0-9._~/-]{0,200})?\Z")]
    hotkey: Hotkey


class Policy(Document, frozen=True):
    """Conditions of an install.

    Attributes:
        validators: that are asked, each of which refuses alone.
        agree: number of them that must allow it.
        verdicts: that allow it.
        max_risk: above it nothing is allowed.
        min_agreeing: miners that agree with the verdict; an attestation with fewer does not count.
        max_age_days: an attestation of an older round does not count; None: it counts until its end.
        ignore: names, from the top, of files and folders that bundles leave out and that are installed all the same,
            unseen; the decision repeats them.
    """

    validators: Annotated[tuple[Trusted, ...], Meta(min_length=1, max_length=16)]
    agree: Annotated[int, Meta(ge=1, le=16)] = 1
    verdicts: Annotated[tuple[Verdict, ...], Meta(min_length=1)] = ("ALLOW",)
    max_risk: Unit = 0.3
    min_agreeing: Annotated[int, Meta(ge=1, le=64)] = 2
    max_age_days: Annotated[int, Meta(ge=1, le=3_650)] | None = None
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.agree > len({one.hotkey for one in self.validators}):
            raise ValueError("`agree` is above the number of hotkeys")

    def objection(self, verified: Verified) -> str | None:
        """Return why an attestation refuses the install; None if it does not."""
        predicate = verified.statement.predicate
        if predicate.verdict in self.verdicts and predicate.risk <= self.max_risk:
            return None
        return f"says {predicate.verdict} at risk {predicate.risk:.2f}, {len(predicate.findings)} findings"

    def weakness(self, verified: Verified, now: datetime) -> str | None:
        """Return why an attestation that allows the install does not count; None if it does."""
        predicate = verified.statement.predicate
        agreeing = predicate.agreement.agreeing
        if agreeing < self.min_agreeing:
            return f"{agreeing} miners agree, and `min_agreeing` is {self.min_agreeing}"
        if self.max_age_days is None or now - parse_time(predicate.issued_at, "issued_at") <= timedelta(
            days=self.max_age_days
        ):
            return None
        return f"it is of {predicate.issued_at}, and `max_age_days` is {self.max_age_days}"


class Answer(NamedTuple):
    """The attestations of a skill by one trusted validator.

    Attributes:
        hotkey, source: the validator, and where its answer is from.
        attestations: that hold, about the skill.
        revoked: it revoked its attestation, or the key that signed it.
        missing: why there is none; empty if there is one.
    """

    hotkey: str
    source: str
    attestations: tuple[Verified, ...] = ()
    revoked: bool = False
    missing: str = ""


class Decision(NamedTuple):
    """The exit code of the gate, a line that says why, and what the policy's `ignore` let pass unseen."""

    code: Literal[0, 1, 2]
    line: str
    ignored: tuple[str, ...] = ()


def parse_policy(data: bytes) -> Policy:
    """Return the policy in a TOML text (PolicyError: it is none; the text names the field)."""
    if len(data) > MAX_POLICY:
        raise PolicyError(f"larger than {MAX_POLICY} bytes")
    try:
        return typed.convert(tomllib.loads(data.decode()), Policy)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        raise PolicyError(printable(str(error))) from None


def judge(policy: Policy, shown: str, answers: Sequence[Answer], now: datetime) -> Decision:
    """Return the decision about the skill that `shown` names, as of `now`."""
    allowing, unclear = set[str](), list[str]()
    for answer in answers:
        if answer.revoked:
            return Decision(REFUSED, f"refused: {shown}: {answer.hotkey} revoked its attestation")
        for verified in answer.attestations:
            if (objection := policy.objection(verified)) is not None:
                return Decision(REFUSED, f"refused: {shown}: {answer.hotkey} {objection}")
        weak = next((why for one in answer.attestations if (why := policy.weakness(one, now)) is not None), None)
        if answer.attestations and weak is None and not answer.missing:
            allowing.add(answer.hotkey)
        else:
            unclear.append(f"{answer.source}: {weak or answer.missing or 'no attestation of it'}")
    counted = f"{len(allowing)} of {policy.agree} needed validators allow it"
    if len(allowing) >= policy.agree:
        return Decision(ALLOWED, f"allowed: {shown}: {counted}")
    return Decision(UNKNOWN, printable("; ".join([f"cannot tell: {shown}: {counted}", *unclear]), 2_000))
