"""No piece of a password reaches what people read: urls, messages of drivers, tracebacks, lines of the log."""

import io
import json
import random
import traceback
from collections.abc import Iterator
from urllib.parse import quote

import psycopg
import pytest
import structlog

from sssa import redaction
from sssa.redaction import PIECE, redact
from validator.settings.urls import SecretUrl, secrets_of, shown_url
from validator.store.errors import StoreUrlError
from validator.store.urls import parse_url
from validator.telemetry import configure_logging

ALPHABET = "@@::///??##%%[]&=+;,'\"\\ \n\tÄΩ日本😀QWXZJK7902"
HOST = "127.0.0.1:5999/v"


def passwords(number: int) -> Iterator[str]:
    draw = random.Random(23)
    for _ in range(number):
        yield "".join(draw.choices(ALPHABET, k=draw.randrange(PIECE, 40)))


def pieces(secret: str) -> set[str]:
    return {secret[i : i + PIECE] for i in range(len(secret) - PIECE + 1)}


def leaked(secret: str, text: str) -> set[str]:
    """The pieces that are in a text, as written or as `repr` and percent-encoding write them."""
    forms = (secret, quote(secret, safe=""), repr(secret)[1:-1])
    return {piece for form in forms for piece in pieces(form) if piece in text}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_pieces", {})


@pytest.mark.parametrize("many", [500, pytest.param(10_000, marks=pytest.mark.attack)])
def test_no_piece_of_a_password_is_shown_of_a_url_an_error_or_a_traceback(many: int) -> None:
    for password in passwords(many):
        redaction._pieces.clear()  # a process has few secrets
        for written in (password, quote(password, safe="")):
            url = f"postgresql://validator:{written}@{HOST}"
            secret = SecretUrl(url)
            shown = [shown_url(url), str(secret), repr(secret)]
            try:
                store = parse_url(url)
                shown += [store.shown, repr(store)]
            except StoreUrlError as error:
                shown.append(str(error))
            driver = psycopg.OperationalError(f'connection to "{url}" failed: no host "{written}", {password!r}')
            shown += [redact(str(driver)), redact("".join(traceback.format_exception(driver)))]
            assert {piece for text in shown for piece in leaked(password, text)} == set(), url
            assert "127.0.0.1" in shown_url(url)


def test_a_piece_of_a_websockets_path_is_a_key_from_eight_characters_on() -> None:
    assert secrets_of("wss://host/abcdefg/abcdefgh?k=1234567&key=12345678") == ("abcdefgh", "12345678")


def test_the_log_masks_what_an_exception_repeats() -> None:
    out = io.StringIO()
    configure_logging("info", "json", out)
    for password in passwords(50):
        url = SecretUrl(f"postgresql://validator:{quote(password, safe='')}@{HOST}")
        try:
            raise RuntimeError(f"cannot use {url.reveal()}, {password}")
        except RuntimeError as error:
            structlog.get_logger().error("failed", reason=str(error), url=url.reveal(), exc_info=True)
        line = out.getvalue().splitlines()[-1]
        assert leaked(password, line + str(json.loads(line))) == set()
        assert "cannot use" in line


def test_text_without_a_secret_stays_as_it_is() -> None:
    SecretUrl("postgresql://validator:Tr0ub%40dor@127.0.0.1/v")
    assert redact("validator on 127.0.0.1 is away") == "validator on 127.0.0.1 is away"
    assert redact("sent Tr0ub@dor, and Tr0ub%40dor") == "sent ***, and ***"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://validator:Tr0ub@dor/SECRETPART@127.0.0.1:5999/v", None),
        ("postgresql://validator/Tr0ub:dor@127.0.0.1/v", None),
        ("postgresql://u:p?w@127.0.0.1/v", None),
        ("postgresql://validator:Tr0ub%40dor%2FX@127.0.0.1:5999/v", "postgresql://***@127.0.0.1:5999/v"),
        ("postgresql:///v", "postgresql:///v"),
        ("postgresql://127.0.0.1/v?password=hunter2hunter2", "postgresql://127.0.0.1/v?***"),
    ],
)
def test_a_url_that_parsers_read_in_two_ways_is_refused_others_show_their_place(url: str, shown: str | None) -> None:
    if shown is not None:
        assert parse_url(url).shown == shown
        return
    with pytest.raises(StoreUrlError, match="write %3A %2F %3F"):
        parse_url(url)
