"""The publishing key: a secret file, and the statement in the audit log by which the hotkey vouches for it.

Reads the file and the store; `new_key` replaces the file. `validator attestation key` and `publish.py` use it.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from sssa.attestation.dsse import PublishingKey
from sssa.attestation.verify import stated
from sssa.files import new_file
from sssa.protocol.errors import ValidatorError
from sssa.protocol.receipt import KeyStatement
from sssa.protocol.text import printable
from sssa.protocol.times import format_time
from sssa.redaction import remember_secret
from sssa.sources import RandomBytes
from validator.chain.wallet import SecretFileError, read_secret
from validator.settings.model import Settings
from validator.store import Transaction
from validator.store.repositories.receipts import receipt_of
from validator.store.rows import ReceiptRecord
from validator.store.urls import file_next_to_store

_NAME: Final = "attestation-key"
_SEED: Final = 32
_HEX: Final = re.compile("[0-9a-f]{64}")


class PublishingKeyError(ValidatorError):
    """The publishing key cannot be used."""


def key_file_of(settings: Settings) -> Path:
    """Return where the publishing key is, or would be."""
    return settings.attestations.key_file or file_next_to_store(settings.store.url, _NAME)


def load_key(file: Path) -> PublishingKey:
    """Return the key in a file (PublishingKeyError: the text says which file and what to do)."""
    try:
        text = read_secret(file, "attestations.key_file, and `validator attestation key --new`")
    except SecretFileError as error:
        raise PublishingKeyError(error.detail) from None
    if not _HEX.fullmatch(text):
        raise PublishingKeyError(f"{printable(str(file))}: is not 64 lower-case hex digits")
    remember_secret(text)
    return PublishingKey.of_seed(bytes.fromhex(text))


@contextmanager
def new_key(file: Path, random: RandomBytes) -> Iterator[PublishingKey]:
    """Yield a fresh key, and put it in the place of the one in `file` once the body has raised nothing."""
    seed = random.token(_SEED)
    with new_file(file, replace=True) as stream:
        stream.write(seed.hex().encode() + b"\n")
        yield PublishingKey.of_seed(seed)


def statement_for(key: PublishingKey, before: KeyStatement | None, now: datetime, days: int) -> KeyStatement:
    """Return the statement of a key that is valid from now on."""
    until = now + timedelta(days=days)
    return KeyStatement(key.public, format_time(now), format_time(until), None if before is None else before.public_key)


async def newest_statement(tx: Transaction) -> tuple[ReceiptRecord, KeyStatement] | None:
    """Return the receipt that vouches for the newest key, None where the log has none."""
    record = await tx.receipts.about("key")
    return None if record is None else (record, stated(receipt_of(record)))
