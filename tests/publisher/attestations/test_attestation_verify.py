"""Verification with nothing but the attestation, and what forgers try."""

import asyncio
import base64
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
import pytest
from attested import BUNDLE, SEED, document_in
from msgspec import UNSET
from world import VALIDATOR

from publisher.keys import statement_for
from sssa.attestation.dsse import MAX_PAYLOAD, PublishingKey
from sssa.attestation.policy import Answer, Policy, Trusted, judge
from sssa.attestation.verify import (
    AttestationError,
    Handed,
    ReceiptLine,
    Verified,
    Withdrawn,
    parse_handed,
    parse_receipt,
    verify_attestation,
)
from sssa.protocol import typed
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.errors import ValidatorError
from sssa.protocol.receipt import KeyStatement, Receipt, Revocation, line
from sssa.protocol.signatures import Signer

KEY = PublishingKey.of_seed(SEED)
OTHER_KEY = PublishingKey.of_seed(bytes(32))
STRANGER = Signer.from_uri("//Stranger")
NOW = datetime(2026, 1, 2, tzinfo=UTC)


class Made(NamedTuple):
    """A document of a round at the beginning of 2026, and its parts."""

    document: bytes
    handed: Handed

    @property
    def payload(self) -> dict[str, Any]:
        plain: dict[str, Any] = json.loads(base64.b64decode(self.handed.envelope.payload))
        return plain


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    document = asyncio.run(document_in(tmp_path_factory.mktemp("made")))
    return Made(document, typed.decode(document, Handed))


def handed(payload: Any, key: PublishingKey = KEY, receipt: Receipt | None = None, made: Made | None = None) -> bytes:
    """A document with another statement, signed by a key, that a receipt vouches for."""
    data = payload if isinstance(payload, bytes) else canonical_bytes(payload)
    assert receipt or made
    vouched = ReceiptLine(receipt) if receipt else made.handed.key  # type: ignore[union-attr]  # one of the two
    return canonical_bytes(Handed(key.sign(data), vouched))


def vouched(made: Made, signer: Signer = VALIDATOR, **changes: Any) -> Receipt:
    """The receipt of the key with another statement, signed by a hotkey."""
    receipt = made.handed.key.receipt
    assert receipt.key is not UNSET
    key = msgspec.structs.replace(receipt.key, **changes)
    return signer.sign_document(msgspec.structs.replace(receipt, validator_hotkey=signer.hotkey, key=key))


def check(document: bytes, now: datetime = NOW, withdrawn: Withdrawn | None = None) -> Verified:
    return verify_attestation(*parse_handed(document), now, withdrawn)


def changed(made: Made, **changes: Any) -> dict[str, Any]:
    plain = made.payload
    plain["predicate"] |= changes
    return plain


def refusals(made: Made) -> dict[str, tuple[bytes, str]]:
    """Return forged documents by kind of forgery, each with the expected refusal."""
    plain, envelope = made.payload, made.handed.envelope
    other = base64.b64encode(canonical_bytes(changed(made, verdict="BLOCK"))).decode()
    swapped = msgspec.structs.replace(envelope, payload=other)
    deep = b'{"envelope":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    twice = made.document.replace(b'"payload":', b'"payload":"e30=","payload":', 1)
    named = json.loads(made.document)
    named["key"]["receipt"]["validator_hotkey"] = STRANGER.hotkey
    origin = {"origin": {**plain["predicate"]["origin"], "validator_hotkey": STRANGER.hotkey}}
    kind = {**plain, "predicateType": "https://slsa.dev/provenance/v1"}
    two = {**plain, "subject": plain["subject"] * 2}
    ancient, curve = vouched(made, valid_until="2026-01-01T12:00:00Z"), vouched(made, public_key="ff" * 32)
    return {
        "a changed verdict": (canonical_bytes(Handed(swapped, made.handed.key)), "no signature of the key"),
        "another key": (handed(plain, OTHER_KEY, made=made), "no signature of the key"),
        "a key of a stranger": (handed(plain, receipt=vouched(made, STRANGER)), "its key is vouched for by"),
        "a stranger in its name": (canonical_bytes(named), "not signed by"),
        "another validator's word": (handed(changed(made, **origin), made=made), "it names"),
        "no point of the curve": (handed(plain, receipt=curve), "no signature of the key"),
        "an expired key": (handed(plain, receipt=ancient), "its key was valid until"),
        "a key to come": (handed(plain, receipt=vouched(made, valid_from="2026-01-03T00:00:00Z")), "valid from"),
        "an end that has passed": (handed(changed(made, until="2026-01-01T00:00:01Z"), made=made), "it held until"),
        "a round to come": (handed(changed(made, issued_at="2026-01-03T00:00:00Z"), made=made), "which is to come"),
        "no time": (handed(changed(made, until="soon"), made=made), "must be YYYY-MM-DD"),
        "an unknown field": (handed(changed(made, more=1), made=made), "unknown field"),
        "another predicate": (handed(kind, made=made), "predicateType"),
        "two subjects": (handed(two, made=made), "subject"),
        "a risk above one": (handed(changed(made, risk=1.5), made=made), "risk"),
        "a duplicate key": (twice, "the same key twice"),
        "a huge envelope": (b'{"envelope":"%b"}' % (b"A" * 2_000_000), "at most"),
        "a huge payload": (handed(b"[" + b"1," * MAX_PAYLOAD + b"1]", made=made), "at most"),
        "a deep envelope": (deep, "more than 8 levels"),
        "a deep payload": (handed(b"[" * 100_000 + b"]" * 100_000, made=made), "more than 8 levels"),
        "no base64": (made.document.replace(b'"payload":"', b'"payload":"!', 1), "not base64"),
        "another payload type": (made.document.replace(b"in-toto+json", b"in-toto+yaml"), "its payload is no"),
        "no receipt of a key": (
            handed(plain, receipt=VALIDATOR.sign_document(msgspec.structs.replace(vouched(made), key=UNSET))),
            "vouches for no key",
        ),
        "nothing": (b"", "truncated"),
    }


def test_what_a_forger_hands_out_is_refused(made: Made) -> None:
    check(made.document)
    for what, (document, said) in refusals(made).items():
        with pytest.raises(ValidatorError) as caught:
            check(document)
        assert said.lower() in str(caught.value).lower(), what
        assert len(str(caught.value)) < 1_000, what


def test_an_envelope_alone_needs_its_keys_statement(made: Made) -> None:
    alone = canonical_bytes(made.handed.envelope)
    with pytest.raises(AttestationError, match="nothing vouches for its key"):
        parse_handed(alone, [vouched(made, public_key=OTHER_KEY.public)])
    receipt = parse_receipt(canonical_bytes(made.handed.key))
    assert verify_attestation(*parse_handed(alone, [receipt]), NOW) == check(made.document)


def test_a_key_id_is_a_hint_alone(made: Made) -> None:
    envelope = made.handed.envelope
    signature = msgspec.structs.replace(envelope.signatures[0], keyid="another")
    changed = msgspec.structs.replace(envelope, signatures=(signature,))
    check(canonical_bytes(Handed(changed, made.handed.key)))


def took_back(signer: Signer, made: Made, **about: Any) -> bytes:
    kind = "key" if "key" in about else "revocation"
    receipt = msgspec.structs.replace(made.handed.key.receipt, kind=kind, key=UNSET, validator_hotkey=signer.hotkey)
    return line("receipt", signer.sign_document(msgspec.structs.replace(receipt, **about)))


def test_what_was_taken_back_is_refused_by_who_has_the_log(made: Made) -> None:
    of_bundle = Revocation("attestation", BUNDLE, "wrong")
    of_key = Revocation("key", KEY.public, "lost")
    replaced = statement_for(OTHER_KEY, KeyStatement(KEY.public, "", "", None), NOW, 1)
    for about in ({"revocation": of_bundle}, {"revocation": of_key}, {"key": replaced}):
        withdrawn = Withdrawn()
        long = b'{"receipt":{' + b'"kind":"key"' * 200_000 + b"\n"
        withdrawn.read(io.BytesIO(long + b'{"input":{}}\n' + took_back(VALIDATOR, made, **about) + b"\n"))
        with pytest.raises(AttestationError, match="revoked"):
            check(made.document, withdrawn=withdrawn)
        others = Withdrawn()
        others.add(took_back(STRANGER, made, **about))
        check(made.document, withdrawn=others)
    forged = took_back(VALIDATOR, made, revocation=of_bundle).replace(b"wrong", b"right")
    with pytest.raises(AttestationError, match="not signed"):
        Withdrawn().add(forged)


def policy(**changes: Any) -> Policy:
    both = (Trusted("https://a", VALIDATOR.hotkey), Trusted("https://b", STRANGER.hotkey))
    return msgspec.structs.replace(Policy(both), **changes)


def answer(*attestations: Verified, signer: Signer = VALIDATOR, **more: Any) -> Answer:
    return Answer(signer.hotkey, "https://a", attestations, **more)


def voted(made: Made, *verdicts: str, **changes: Any) -> dict[str, Any]:
    """A statement whose signers say these verdicts, the last one as an auditor."""
    signer = made.payload["predicate"]["agreement"]["signers"][0]
    signers = [
        {**signer, "hotkey": Signer.from_uri(f"//{number}").hotkey, "verdict": verdict, "role": "primary"}
        for number, verdict in enumerate(verdicts)
    ]
    signers[-1]["role"] = "auditor"
    agreeing = [one["role"] for one in signers if one["verdict"] == changes.get("verdict", "ALLOW")]
    counts = {"valid": len(signers), "agreeing": len(agreeing), "signers": signers}
    roles = {"primaries": agreeing.count("primary"), "auditors": agreeing.count("auditor")}
    agreement = {**made.payload["predicate"]["agreement"], **counts, **roles}
    return changed(made, agreement=agreement, **changes)


def test_who_allows_counts_once_and_who_does_not_refuses(made: Made) -> None:
    mine = check(made.document)
    plain = made.payload
    plain["predicate"]["origin"]["validator_hotkey"] = STRANGER.hotkey
    other = answer(check(handed(plain, receipt=vouched(made, STRANGER))), signer=STRANGER)
    blocks = check(handed(voted(made, "BLOCK", "BLOCK", verdict="BLOCK"), made=made))
    cases: list[tuple[Policy, list[Answer], int, str]] = [
        (policy(), [answer(mine)], 0, "1 of 1"),
        (policy(agree=2), [answer(mine), answer(mine)], 2, "1 of 2"),
        (policy(agree=2), [answer(mine), other], 0, "2 of 2"),
        (policy(), [answer(mine), answer(missing="away", signer=STRANGER)], 0, "1 of 1"),
        (policy(), [answer(missing="away")], 2, "away"),
        (policy(), [answer(mine, missing="status 500")], 2, "status 500"),
        (policy(), [answer(mine), answer(blocks, signer=STRANGER)], 1, "says BLOCK"),
        (policy(), [answer(mine, blocks)], 1, "says BLOCK"),
        (policy(), [answer(blocks, missing="away")], 1, "says BLOCK"),
        (policy(), [answer(mine), answer(revoked=True, signer=STRANGER)], 1, "revoked"),
        (policy(max_risk=0.05), [answer(mine)], 1, "risk 0.10"),
        (policy(min_agreeing=64), [answer(mine)], 2, "`min_agreeing` is 64"),
        (policy(max_age_days=1), [answer(mine)], 0, "1 of 1"),
        (policy(), [], 2, "0 of 1"),
    ]
    for number, (conditions, answers, code, said) in enumerate(cases):
        decision = judge(conditions, "a skill", answers, NOW)
        assert (decision.code, said in decision.line) == (code, True), (number, decision)
    old = judge(policy(max_age_days=1), "a skill", [answer(mine)], NOW + timedelta(days=2))
    assert (old.code, "`max_age_days` is 1" in old.line) == (2, True), old


def test_a_verdict_that_its_signers_do_not_give_is_refused(made: Made) -> None:
    check(handed(voted(made, "ALLOW", "ALLOW", "BLOCK"), made=made))
    check(handed(voted(made, "ALLOW", "BLOCK"), made=made))
    agreed = made.payload["predicate"]["agreement"]
    forged = [
        voted(made, "BLOCK", "BLOCK"),
        voted(made, "ALLOW", "BLOCK", "BLOCK"),
        changed(made, agreement={**agreed, "valid": 0, "agreeing": 0, "primaries": 0, "auditors": 0, "signers": []}),
        changed(made, agreement={**agreed, "agreeing": agreed["agreeing"] + 1}),
        changed(made, agreement={**agreed, "primaries": agreed["auditors"], "auditors": agreed["primaries"] + 1}),
        changed(made, agreement={**agreed, "signers": [agreed["signers"][0]] * len(agreed["signers"])}),
        changed(made, agreement={**agreed, "detects_copies": True}),
    ]
    for statement in forged:
        with pytest.raises(ValidatorError, match=r"agreement|detects_copies"):
            check(handed(statement, made=made))
