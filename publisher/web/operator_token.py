"""The operator's token of `validator serve`: the setting `web.token`, else a secret file that is made once."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from sssa.files import why, write_file
from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import printable
from sssa.redaction import remember_secret
from sssa.sources import RandomBytes
from validator.chain.wallet import SecretFileError, read_secret
from validator.settings.model import Settings
from validator.store.urls import file_next_to_store

_NAME: Final = "web-token"
_BYTES: Final = 32
_HEX: Final = re.compile("[0-9a-f]{64}")


class OperatorTokenError(ValidatorError):
    """The operator's token cannot be used."""


def token_file_of(settings: Settings) -> Path | None:
    """Return the file of the token, next to the store; None where `web.token` is set."""
    return file_next_to_store(settings.store.url, _NAME) if settings.web.token is None else None


def operator_token(settings: Settings, random: RandomBytes) -> str:
    """Return the token; its file is made where it is missing, for its owner alone (OperatorTokenError)."""
    file = token_file_of(settings)
    if file is None:
        return str(settings.web.token)
    try:
        with suppress(FileExistsError):
            write_file(file, random.token(_BYTES).hex().encode() + b"\n")
        token = read_secret(file, "web.token")
    except SecretFileError as error:
        raise OperatorTokenError(error.detail) from None
    except OSError as error:
        raise OperatorTokenError(f"{printable(str(file))}: {why(error)}; or set web.token") from None
    if not _HEX.fullmatch(token):
        raise OperatorTokenError(
            f"{printable(str(file))}: is not 64 lower-case hex digits; delete it, a new one is made"
        )
    remember_secret(token)
    return token
