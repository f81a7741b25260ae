"""`digest`, `attestation verify` and `attestation gate`: the consumer's side of attestations (docs/attestations.md)."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from sssa.attestation.directory_digest import NoDigestError, read_content
from sssa.attestation.dsse import EnvelopeError
from sssa.attestation.gate import Hashed, bundle_digest, decide, read_policy
from sssa.attestation.policy import UNKNOWN, Answer, Decision, Policy, judge
from sssa.attestation.verify import (
    AttestationError,
    Verified,
    Withdrawn,
    parse_handed,
    parse_receipt,
    verify_attestation,
)
from sssa.cli.errors import EXIT_INPUT, say_no
from sssa.cli.files import read_case, require_regular
from sssa.cli.options import Json, group
from sssa.cli.output import print_json, print_line
from sssa.protocol.errors import ValidatorError
from sssa.protocol.receipt import Receipt
from sssa.protocol.strict_json import JsonError
from sssa.protocol.text import printable
from sssa.sources import SystemClock

ATTESTATION = group()
_LINE: Final = 2_000
DIGEST: Final = re.compile("[0-9a-f]{64}")
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
    skill: Annotated[
        str | None, typer.Option(metavar="PATH|SHA256", help="What is about to be installed: a bundle or its sha256.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Whom to trust, and what to allow (TOML); nobody is asked.")
    ] = None,
    key: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="A key's statement, for envelopes. May be repeated.")
    ] = None,
    log: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="An audit log, for revocations. May be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Decide about a skill from attestations, without store or network.

    Exit 0: the policy allows it. Exit 1: it is refused. Exit 2: nobody can tell. Without --skill and --policy nothing
    is compared: exit 2 if every signature holds, else 1.
    """
    if (skill is None) != (policy is None):
        raise typer.BadParameter("is needed", param_hint="--policy" if policy is None else "--skill")
    keys = [parse_receipt(read_case(name).rstrip()) for name in key or ()]
    withdrawn = _withdrawn(log or ())
    checked = [_checked(name, keys, withdrawn) for name in files]
    verified = [one for one in checked if isinstance(one, Verified)]
    if skill is None or policy is None:
        if fault := next((one for one in checked if isinstance(one, ValidatorError)), None):
            say_no(str(fault))
        decision = Decision(UNKNOWN, "signature valid; nothing was compared: give --skill and --policy")
    else:
        decision = _judged(skill, read_policy(policy), checked, withdrawn)
    if as_json:
        facts = [{"hotkey": one.hotkey, "keyid": one.keyid, "statement": one.statement} for one in verified]
        print_json({"exit_code": decision.code, "decision": decision.line, "attestations": facts})
        raise typer.Exit(decision.code)
    for one in verified:
        predicate, agreed = one.statement.predicate, one.statement.predicate.agreement
        print_line(f"{one.sha256}: {one.verdict}, risk {predicate.risk:.4f}, until {predicate.until}, by {one.hotkey}")
        print_line(f"  {agreed.primaries} primaries and {agreed.auditors} auditors of {agreed.valid} answers agree")
    print_line(decision.line)
    raise typer.Exit(decision.code)


def _judged(skill: str, policy: Policy, checked: Sequence[Verified | ValidatorError], withdrawn: Withdrawn) -> Decision:
    """Return the policy's decision; a file that does not hold counts for nobody."""
    digests = (skill,) if DIGEST.fullmatch(skill) else _bundle(skill).digests
    faults = "; ".join(str(one) for one in checked if isinstance(one, ValidatorError))
    answers = list[Answer]()
    for hotkey in dict.fromkeys(trusted.hotkey for trusted in policy.validators):
        own = tuple(
            one for one in checked if isinstance(one, Verified) and one.hotkey == hotkey and one.sha256 in digests
        )
        revoked = any(digest in withdrawn.bundles[hotkey] for digest in digests)
        answers.append(Answer(hotkey, hotkey, own, revoked, "" if own else faults or "no attestation of it is here"))
    return judge(policy, printable(" ".join(dict.fromkeys((skill, *digests))), 500), answers, datetime.now(UTC))


def _withdrawn(logs: Sequence[Path]) -> Withdrawn:
    withdrawn = Withdrawn()
    for path in logs:
        require_regular(path)
        with path.open("rb") as file:
            withdrawn.read(file)
    return withdrawn


def _checked(name: str, keys: Sequence[Receipt], withdrawn: Withdrawn) -> Verified | ValidatorError:
    """Return what a file attests, or why it does not hold."""
    try:
        return verify_attestation(*parse_handed(read_case(name).rstrip(), keys), datetime.now(UTC), withdrawn)
    except (AttestationError, EnvelopeError, JsonError) as error:
        return AttestationError(f"{printable(name)}: {error}")


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
