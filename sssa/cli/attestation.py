"""`digest`, `attestation verify` and `attestation gate`: the consumer's side of attestations (docs/attestations.md)."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from sssa.attestation.directory_digest import NoDigestError, read_content
from sssa.attestation.dsse import EnvelopeError
from sssa.attestation.gate import Hashed, bundle_digest, decide, read_policy
from sssa.attestation.verify import (
    AttestationError,
    Verified,
    Withdrawn,
    agreement,
    parse_handed,
    parse_receipt,
    verify_attestation,
)
from sssa.cli.errors import EXIT_INPUT, say_no
from sssa.cli.files import read_case, require_regular
from sssa.cli.options import Json, checked_hotkeys, group
from sssa.cli.output import print_json, print_line
from sssa.protocol.receipt import Receipt
from sssa.protocol.strict_json import JsonError
from sssa.protocol.text import printable
from sssa.sources import SystemClock

ATTESTATION = group()
_LINE: Final = 2_000
Installed = Annotated[str, typer.Argument(metavar="PATH|PURL", help="What is about to be installed.")]
PolicyFile = Annotated[Path, typer.Option("--policy", metavar="FILE", help="Whom to ask, and what to allow (TOML).")]


def digest(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Folders, tars, zips, wheels, npm tarballs.")],
    files: Annotated[bool, typer.Option("--files", help="Also print the sha256 and the name of each file.")] = False,
    as_json: Json = False,
) -> None:
    """Print the directory digest of each skill (`dirHash` of in-toto, Go's directory hash 1 in hex).

    Exit 2: one has no digest, and why.
    """
    documents, code = list[Mapping[str, Any]](), 0
    for path in paths:
        try:
            content = read_content(Path(path))
        except NoDigestError as error:
            code = EXIT_INPUT
            documents.append({"path": path, "digest": None, "error": str(error)})
            typer.echo(printable(str(error), _LINE), err=True)
            continue
        documents.append({"path": path, "digest": content.digest, **({"files": content.files} if files else {})})
        if not as_json:
            print_line(f"{content.digest}  {path}")
            for name, sha256 in content.files.items() if files else ():
                print_line(f"  {sha256}  {name}")
    if as_json:
        print_json({"skills": documents})
    raise typer.Exit(code)


@ATTESTATION.command()
def verify(  # noqa: PLR0913, PLR0917 - the options of a command
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Attestations or envelopes; `-`: input.")],
    threshold: Annotated[int, typer.Option(metavar="N", min=1, help="So many hotkeys must agree.")] = 1,
    hotkey: Annotated[list[str] | None, typer.Option(help="Count this one; else any. May be repeated.")] = None,
    key: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="A key's statement, for envelopes. May be repeated.")
    ] = None,
    log: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="An audit log, for what was taken back. May be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check attestations, without store or network, and count the hotkeys that agree on a bundle's verdict.

    Exit 1: one does not hold, or fewer than N hotkeys agree. Hotkeys are free: name those that you trust.
    """
    trusted = checked_hotkeys(hotkey, "--hotkey")
    keys = [parse_receipt(read_case(name).rstrip()) for name in key or ()]
    withdrawn = _withdrawn(log or ())
    verified = [_verified(name, keys, withdrawn) for name in files]
    agreed = agreement(one for one in verified if trusted is None or one.hotkey in trusted)
    best = max(map(len, agreed.values()), default=0)
    if as_json:
        print_json(
            {
                "attestations": [_facts(one) for one in verified],
                "agreement": [
                    {"sha256": sha256, "verdict": verdict, "hotkeys": sorted(hotkeys)}
                    for (sha256, verdict), hotkeys in sorted(agreed.items())
                ],
            }
        )
    for one in () if as_json else verified:
        predicate = one.statement.predicate
        print_line(f"{one.sha256}: {one.verdict}, risk {predicate.risk:.4f}, until {predicate.until}, by {one.hotkey}")
    if best < threshold:
        counted = ", ".join(f"{len(hotkeys)} say {verdict}" for (_, verdict), hotkeys in sorted(agreed.items()))
        say_no(f"{threshold} hotkeys must agree on one bundle: {counted or 'nobody that counts says anything'}")
    if not as_json:
        print_line(f"{best} of {threshold} needed hotkeys agree")


def _withdrawn(logs: Sequence[Path]) -> Withdrawn:
    withdrawn = Withdrawn()
    for path in logs:
        require_regular(path)
        with path.open("rb") as file:
            withdrawn.read(file)
    return withdrawn


def _verified(name: str, keys: Sequence[Receipt], withdrawn: Withdrawn) -> Verified:
    try:
        return verify_attestation(*parse_handed(read_case(name).rstrip(), keys), datetime.now(UTC), withdrawn)
    except (AttestationError, EnvelopeError, JsonError) as error:
        say_no(f"{printable(name)}: {error}")


def _facts(verified: Verified) -> Mapping[str, Any]:
    return {"hotkey": verified.hotkey, "keyid": verified.keyid, "statement": verified.statement}


@ATTESTATION.command()
def gate(what: Installed, policy: PolicyFile, as_json: Json = False) -> None:
    """Ask the validators of a policy whether to install a bundle or a package.

    Exit 0: allowed. Exit 1: refused, by any of them. Exit 2: nobody can tell, or the policy cannot be used.
    """
    end_with_decision(policy, what, _bundle, as_json=as_json)


def _bundle(what: str) -> Hashed:
    digests = bundle_digest(Path(what))
    if not digests:
        raise AttestationError(f"{printable(what)} is no bundle; `validator attestation gate` takes folders, too")
    return Hashed(digests)


def end_with_decision(policy: Path, what: str, hashed: Callable[[str], Hashed], *, as_json: bool) -> None:
    """Print the gate's decision, and end with its exit code (typer.Exit: always)."""
    decision = decide(read_policy(policy), what, SystemClock(), hashed)
    if as_json:
        print_json({"exit_code": decision.code, "decision": decision.line, "ignored": decision.ignored})
    else:
        print_line(decision.line)
    raise typer.Exit(decision.code)
