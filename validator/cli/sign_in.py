"""`validator wallet link`, for miners: asks a validator for a nonce, and prints a signed link to the miner's page."""

import http.client
import urllib.error
import urllib.request
from typing import Annotated, Final
from urllib.parse import urlencode, urlsplit

import typer

from sssa.cli.options import Config, HotkeyUri
from sssa.cli.output import write_line
from sssa.protocol.errors import ValidatorError
from sssa.protocol.signatures import sign_in_text
from sssa.protocol.text import printable
from validator.cli.session import signer_of

_WAIT_S: Final = 10.0
_MAX_NONCE: Final = 200


class NoNonceError(ValidatorError):
    """The validator gave no nonce to sign."""


def link(
    url: Annotated[str, typer.Argument(metavar="URL", help="Of the validator's pages, such as https://HOST.")],
    hotkey_uri: HotkeyUri = None,
    config: Config = None,
) -> None:
    """Print a link to a miner's own page at a validator, signed by its hotkey for that host; it is valid for 120 s."""
    place = urlsplit(url)
    if place.scheme not in {"http", "https"} or not place.hostname:
        raise typer.BadParameter("must be an http:// or https:// address", param_hint="URL")
    address = f"{place.scheme}://{place.netloc}"
    signer = signer_of(hotkey_uri, config)
    try:
        with urllib.request.urlopen(f"{address}/sign-in/nonce", timeout=_WAIT_S) as response:  # noqa: S310 - http, see above
            nonce = response.read(_MAX_NONCE).decode("ascii")
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise NoNonceError(f"{printable(address)}: {printable(str(error))}") from None
    signature = signer.sign(sign_in_text(place.hostname, signer.hotkey, nonce))
    query = {"hotkey": signer.hotkey, "nonce": nonce, "signature": signature, "crypto": signer.crypto}
    write_line(f"{address}/enter?{urlencode(query)}")
