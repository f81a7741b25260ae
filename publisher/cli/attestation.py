"""`validator attestation …`: the attestations that this validator publishes, their key, and the consumer's commands.

`key --new` and `revoke` write the audit log, `key --new` a key file; `gate` asks other validators over HTTP.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from sssa.attestation.dsse import key_id, key_pem
from sssa.attestation.gate import Hashed, bundle_digest
from sssa.attestation.statement import Statement
from sssa.attestation.verify import Handed, key_fault, parse_handed, stated, verify_attestation
from sssa.cli.attestation import DIGEST, Installed, PolicyFile, end_with_decision, verify
from sssa.cli.errors import EXIT_NO, say_no
from sssa.cli.files import write_bytes
from sssa.cli.options import Config, Json, Output, group
from sssa.cli.output import print_json, print_line
from sssa.cli.rendering import print_table
from sssa.protocol import typed
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.receipt import KeyStatement, Revocation
from sssa.protocol.round import MAX_REASON
from sssa.protocol.signatures import Signer
from sssa.protocol.text import printable
from sssa.sources import SystemClock, SystemRandom
from validator.cli.session import ask_store, settings_of, use_store

if TYPE_CHECKING:
    from publisher.publish import Answer
    from validator.settings.model import Settings
    from validator.store import Store, Transaction

T = TypeVar("T")
ATTESTATION = group()
ATTESTATION.command()(verify)
Bundle = Annotated[str, typer.Argument(metavar="SHA256", help="The bundle's sha256, lower-case hex.")]
Shown = Annotated[str, typer.Argument(metavar="SHA256|PURL", help="A bundle's sha256, or a package's URL.")]


@ATTESTATION.command()
def show(what: Shown, config: Config = None, as_json: Json = False) -> None:
    """Show the attestation of a bundle. Exit 1: there is none, and why; it was revoked."""
    document = _published(config, what)
    statement = verify_attestation(*parse_handed(document), datetime.now(UTC)).statement
    if as_json:
        print_json(statement)
        return
    _print(statement)


@ATTESTATION.command("export")
def export_(
    what: Shown,
    form: Annotated[
        Literal["document", "envelope", "key", "pem"],
        typer.Option("--format", help="With the key's statement, the DSSE envelope alone, the statement, or the key."),
    ] = "document",
    output: Output = None,
    config: Config = None,
) -> None:
    """Write the attestation of a bundle, its envelope for other verifiers, or its key. Exit 1: there is none."""
    document = _published(config, what)
    handed = typed.decode(document, Handed)
    key = stated(handed.key.receipt).public_key
    written = {
        "document": document,
        "envelope": canonical_bytes(handed.envelope),
        "key": canonical_bytes(handed.key),
        "pem": key_pem(key).encode().rstrip(),
    }
    write_bytes(written[form] + b"\n", output)


@ATTESTATION.command()
def gate(what: Installed, policy: PolicyFile, as_json: Json = False) -> None:
    """Ask the validators of a policy whether to install something.

    Exit 0: allowed. Exit 1: refused, by any of them. Exit 2: nobody can tell, or the policy cannot be used.
    """
    end_with_decision(policy, what, _hashed, as_json=as_json)


def _hashed(what: str) -> Hashed:
    """Return the digests of a path: of a bundle as it is, and as tasks are packed."""
    from validator.tasks.task_maker import task_maker  # noqa: PLC0415 - it loads much

    sha256, left_out = task_maker().packed_digest(what)
    return Hashed((*bundle_digest(Path(what)), sha256), left_out)


@ATTESTATION.command()
def revoke(
    subject: Annotated[str, typer.Argument(metavar="SHA256|KEY", help="A bundle's sha256; a key's public bytes.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; everybody can read it.")],
    key: Annotated[bool, typer.Option("--key", help="It is a key: nothing that it signed holds any more.")] = False,
    config: Config = None,
) -> None:
    """Take back the attestation of a bundle, permanently, or all that a key signed; the log says so.

    Exit 1: the log has no such key, or says so already.
    """
    settings = settings_of(config)
    if not DIGEST.fullmatch(subject):
        raise typer.BadParameter("must be 64 lower-case hex digits", param_hint="SHA256|KEY")
    revocation = Revocation("key" if key else "attestation", subject, printable(_nonempty(reason), MAX_REASON - 1))

    async def append(tx: "Transaction", signer: Signer) -> int | None:
        if await tx.receipts.about("revocation", subject) or (key and not await tx.receipts.about("key", subject)):
            return None
        return await append_link(tx, signer, datetime.now(UTC), revocation)

    from validator.store.log import append_link  # noqa: PLC0415 - commands without a store load nothing of it

    sequence = _signing(settings, append)
    if sequence is None:
        say_no("nothing to revoke: it is revoked already, or the log has no such key")
    print_line(f"revoked by receipt {sequence}")


def _nonempty(reason: str) -> str:
    if not reason.strip():
        raise typer.BadParameter("must not be empty", param_hint="--reason")
    return reason.strip()


@ATTESTATION.command()
def key(
    new: Annotated[bool, typer.Option("--new", help="Make one, in the place of the one before.")] = False,
    days: Annotated[int, typer.Option(metavar="N", min=1, max=3_650, help="How long the new one is valid.")] = 365,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show the key that signs attestations, or make a new one, for which the hotkey vouches in the audit log.

    Exit 1: there is none, or it signs nothing now.
    """
    from publisher.keys import (  # noqa: PLC0415 - commands without a store load nothing of it
        key_file_of,
        new_key,
        newest_statement,
        statement_for,
    )
    from validator.store.log import append_link  # noqa: PLC0415 - see above

    settings = settings_of(config)
    if new:

        async def append(tx: "Transaction", signer: Signer) -> int:
            before = await newest_statement(tx)
            statement = statement_for(made, before and before[1], datetime.now(UTC), days)
            return await append_link(tx, signer, datetime.now(UTC), statement)

        with new_key(key_file_of(settings), SystemRandom()) as made:
            _signing(settings, append)

    async def ask(tx: "Transaction", _: "Settings") -> tuple[KeyStatement, bool] | None:
        newest = await newest_statement(tx)
        return newest and (newest[1], await tx.receipts.about("revocation", newest[1].public_key) is not None)

    newest_key = ask_store(settings, ask)
    if newest_key is None:
        say_no("there is no key: `validator attestation key --new` makes one")
    statement, revoked = newest_key
    fault = "revoked" if revoked else key_fault(statement, datetime.now(UTC))
    if as_json:
        print_json({"keyid": key_id(statement.public_key), "statement": statement, "fault": fault})
    else:
        print_line(f"key {statement.public_key}, id {key_id(statement.public_key)}")
        print_line(f"valid from {statement.valid_from} until {statement.valid_until}{f'; {fault}' if fault else ''}")
    if fault:
        raise typer.Exit(EXIT_NO)


def _signing(settings: "Settings", work: Callable[["Transaction", Signer], Awaitable[T]]) -> T:
    """Return what `work` returns, whose changes are committed together; the wallet's hotkey signs."""
    from validator.chain.wallet import load_signer  # noqa: PLC0415 - commands without a wallet load nothing of it

    signer = load_signer(settings.wallet)

    async def commit(store: "Store", _: "Settings") -> T:
        async with store.begin() as tx:
            return await work(tx, signer)

    return use_store(settings, commit)


def _published(config: Path | None, what: str) -> bytes:
    """Return the document about a bundle, or of the first bundle of a package that has one (typer.Exit: none has)."""
    from publisher.publish import Published, Publisher  # noqa: PLC0415 - see above

    settings = settings_of(config)
    publisher = Publisher.of(settings, SystemClock())

    async def ask(tx: "Transaction", _: "Settings") -> "list[Answer]":
        bundles = publisher.bundles_of(what) if what.startswith("pkg:") else (what,)
        return [await publisher.attestation_of(tx, sha256) for sha256 in bundles]

    answers = ask_store(settings, ask)
    published = next((answer for answer in answers if isinstance(answer, Published)), None)
    if published is None:
        why = "; ".join(getattr(answer, "why", "it was revoked") for answer in answers)
        say_no(f"no attestation of {printable(what)}: {why or 'attestations.package_manifest names no bundle of it'}")
    return published.document


def _print(statement: Statement) -> None:
    predicate = statement.predicate
    agreed, origin = predicate.agreement, predicate.origin
    print_line(f"{statement.sha256}: {predicate.verdict}, risk {predicate.risk:.4f}")
    print_line(f"{agreed.agreeing} of {agreed.valid} valid answers say so; {agreed.asked} miners were asked")
    print_line(
        f"{agreed.primaries} primaries and {agreed.auditors} auditors agree; copies of an answer are not detected"
    )
    print_line(f"the verdict was {'' if origin.truth_known else 'not '}known before")
    print_line(f"round {origin.round_id}, task {origin.task_id}, {origin.skill_type}, receipt {origin.receipt}")
    print_line(f"of {predicate.issued_at}, holds until {predicate.until}")
    if predicate.findings:
        rows = ((one.category, one.severity, one.place, one.target, one.reporters) for one in predicate.findings)
        print_table("category severity place~ target~ reporters>", rows)
    print_line(f"capabilities: {', '.join(predicate.capabilities) or 'none'}")
    for rule in predicate.policy:
        print_line(f"policy: {rule.action} {rule.resource} {rule.pattern}")
