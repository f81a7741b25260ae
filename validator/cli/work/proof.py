"""What `validator proof …` does: consensus proofs (SPEC 14)."""

from pathlib import Path
from typing import Any, Final, Literal

from validator.cli.cases import read_case
from validator.cli.errors import say_no
from validator.cli.output import print_json, print_line, write_bytes
from validator.cli.signing import checked_hotkeys, signer_of
from validator.proofs.debate import debate_proof, parse_debate
from validator.proofs.document import (
    TouchedError,
    Verified,
    document_bytes,
    proof_document,
    require_readable,
    seal,
    verify_document,
)
from validator.protocol.text import printable

_SHOWN: Final = 20
_CELL: Final = 400


def build(  # noqa: PLR0913 - each is an option
    debate: str,
    form: Literal["json", "markdown"],
    output: Path | None,
    hotkey_uri: str | None,
    config: Path | None,
    *,
    sign: bool,
) -> None:
    """Make the proof of a debate of any system."""
    proof = debate_proof(parse_debate(read_case(debate)))
    if form == "markdown":
        write_bytes(proof.to_markdown().encode(), output)
        return
    signed = sign or hotkey_uri is not None
    document = seal(proof, signer_of(hotkey_uri, config)) if signed else proof_document(proof)
    data = document_bytes(document)
    require_readable(data)
    write_bytes(data, output)


def verify(file: str, hotkey: str | None, *, as_json: bool) -> None:
    """Check a proof: form, checksum, digest, signature, and what its votes give. Exit 1 and the reason if it fails."""
    checked_hotkeys([hotkey] if hotkey else None, "--hotkey")
    try:
        found = verify_document(read_case(file), hotkey)
    except TouchedError as error:
        say_no(str(error))
    if as_json:
        print_json(_facts(found))
        return
    proof, warnings = found.proof, found.warnings
    print_line(f"{proof.proof_id}: holds, digest {found.digest}")
    print_line(f"signed by {found.hotkey}" if found.hotkey else "not signed: anyone could have made it")
    strength = "strong" if proof.has_strong_consensus else "not strong"
    print_line(f"agreement ratio {proof.agreement_ratio!r}, confidence {proof.confidence!r}, {strength}")
    claims = proof.get_partial_consensus()
    print_line(f"agreed on {sum(one.agreed for one in claims)} of {len(claims)} claims")
    if warnings:
        unknown = sum(one.level == "unknown" for one in warnings)
        print_line(f"warnings: {len(warnings)}, of them not recomputable: {unknown}")
    for one in warnings[:_SHOWN]:
        print_line(f"  {printable(one.place, _CELL)}: {printable(one.what, _CELL)}")
    if len(warnings) > _SHOWN:
        print_line(f"  … {len(warnings) - _SHOWN} more")


def _facts(found: Verified) -> dict[str, Any]:
    """Return what `--json` prints."""
    proof, warnings, claims = found.proof, found.warnings, found.proof.get_partial_consensus()
    return {
        "proof_id": proof.proof_id,
        "proof_version": proof.proof_version,
        "checksum": proof.checksum,
        "digest": found.digest,
        "hotkey": found.hotkey,
        "agreement_ratio": proof.agreement_ratio,
        "confidence": proof.confidence,
        "has_strong_consensus": proof.has_strong_consensus,
        "claims": len(claims),
        "claims_agreed": sum(one.agreed for one in claims),
        "not_recomputable": sum(one.level == "unknown" for one in warnings),
        "warnings": [{"place": one.place, "what": one.what} for one in warnings[:_SHOWN]],
        "warnings_left_out": max(0, len(warnings) - _SHOWN),
    }
