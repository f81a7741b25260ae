"""What secrets of services look like, made up by a draw: they open nothing."""

from collections.abc import Callable
from typing import Final, NamedTuple

from validator.planting.shapes.code.words import Words

_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_DIGITS: Final = "0123456789"
ALPHABET: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" + _DIGITS
_SEASONS: Final = ("Winter", "Spring", "Summer", "Autumn", "Welcome", "Passw0rd", "Admin", "Secret")


class Secret(NamedTuple):
    """A secret, and what people call one like it."""

    value: str
    names: tuple[str, ...]


def drawn_secret(words: Words) -> Secret:
    """Return a token or key of one of many services."""
    any_of = ALPHABET
    kinds: tuple[Callable[[], Secret], ...] = (
        lambda: Secret(f"ghp_{words.symbols(any_of, 36)}", ("github token", "gh token")),
        lambda: Secret(f"glpat-{words.symbols(any_of, 20)}", ("gitlab token", "gl token")),
        lambda: Secret(f"AKIA{words.symbols(_UPPER, 16)}", ("aws access key id", "access key")),
        lambda: Secret(words.symbols(any_of + "/+", 40), ("aws secret access key", "secret key")),
        lambda: Secret(
            f"xoxb-{words.symbols(_DIGITS, 12)}-{words.symbols(_DIGITS, 12)}-{words.symbols(any_of, 24)}",
            ("slack token", "slack bot token"),
        ),
        lambda: Secret(f"sk_live_{words.symbols(any_of, 24)}", ("stripe key", "stripe secret key")),
        lambda: Secret(f"npm_{words.symbols(any_of, 36)}", ("npm token", "registry token")),
        lambda: Secret(f"SG.{words.symbols(any_of, 22)}.{words.symbols(any_of, 43)}", ("sendgrid key", "mail api key")),
        lambda: Secret(f"sk-proj-{words.symbols(any_of, 48)}", ("openai api key", "model api key")),
        lambda: Secret(words.hex(40), ("api key", "access token")),
    )
    return words.draws.pick(kinds)()


def drawn_password(words: Words) -> str:
    """Return a password as people choose them."""
    year, sign = words.draws.number(2019, 2026), words.draws.pick("!#%*+")
    return f"{words.draws.pick(_SEASONS)}{year}{sign}{words.symbols(ALPHABET, 4)}"


def drawn_key(words: Words) -> list[str]:
    """Return the lines of a block that looks like a private key."""
    kind = words.draws.pick(("RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY"))
    count = words.draws.number(4, 9)
    inside = [words.symbols(ALPHABET + "+/", 64) for _ in range(count)]
    return [f"-----BEGIN {kind}-----", *inside, words.symbols(ALPHABET, 42) + "==", f"-----END {kind}-----"]
