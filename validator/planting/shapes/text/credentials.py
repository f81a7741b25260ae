"""Credentials as services write them; every one is made up by a draw, and opens nothing."""

import base64
import string
from collections.abc import Callable
from typing import Final, NamedTuple

from validator.planting.draws import Draws
from validator.planting.shapes.text.hosts import hexadecimal, letters

_UPPER: Final = string.ascii_uppercase
_MIXED: Final = string.ascii_letters + string.digits
_KEY: Final = _UPPER + "234567"


class Credential(NamedTuple):
    """A secret, the service it seems to be for, and the variable that people keep it in."""

    service: str
    variable: str
    value: str


def _made(draws: Draws, head: str, count: int, alphabet: str = _MIXED) -> str:
    return head + letters(draws, alphabet, count)


_KINDS: Final[tuple[tuple[str, str, Callable[[Draws], str]], ...]] = (
    ("AWS", "AWS_ACCESS_KEY_ID", lambda draws: _made(draws, "AKIA", 16, _KEY)),
    ("AWS", "AWS_SECRET_ACCESS_KEY", lambda draws: _made(draws, "", 40, _MIXED + "/+")),
    ("GitHub", "GITHUB_TOKEN", lambda draws: _made(draws, "ghp_", 36)),
    ("GitHub", "GH_TOKEN", lambda draws: f"{_made(draws, 'github_pat_', 22)}_{_made(draws, '', 59)}"),
    ("GitLab", "GITLAB_TOKEN", lambda draws: _made(draws, "glpat-", 20)),
    (
        "Slack",
        "SLACK_BOT_TOKEN",
        lambda draws: (
            f"xoxb-{letters(draws, '123456789', 12)}-{letters(draws, '123456789', 12)}-{_made(draws, '', 24)}"
        ),
    ),
    ("Stripe", "STRIPE_SECRET_KEY", lambda draws: _made(draws, "sk_live_", 24)),
    ("OpenAI", "OPENAI_API_KEY", lambda draws: _made(draws, "sk-proj-", 48)),
    ("Anthropic", "ANTHROPIC_API_KEY", lambda draws: f"{_made(draws, 'sk-ant-api03-', 93)}AA"),
    ("Google", "GOOGLE_API_KEY", lambda draws: _made(draws, "AIza", 35)),
    ("npm", "NPM_TOKEN", lambda draws: _made(draws, "npm_", 36)),
    ("SendGrid", "SENDGRID_API_KEY", lambda draws: f"SG.{_made(draws, '', 22)}.{_made(draws, '', 43)}"),
    ("Twilio", "TWILIO_AUTH_TOKEN", lambda draws: hexadecimal(draws, 32)),
    ("Hugging Face", "HF_TOKEN", lambda draws: _made(draws, "hf_", 34, string.ascii_letters)),
    ("DigitalOcean", "DO_API_TOKEN", lambda draws: f"dop_v1_{hexadecimal(draws, 64)}"),
    ("Telegram", "TELEGRAM_BOT_TOKEN", lambda draws: f"{draws.number(10**9, 10**10 - 1)}:{_made(draws, 'AA', 33)}"),
)


def draw_credential(draws: Draws) -> Credential:
    """Return a credential of one of several services."""
    service, variable, make = draws.pick(_KINDS)
    return Credential(service, variable, make(draws))


def draw_password(draws: Draws) -> str:
    """Return a password as people or programs make them, without characters that an address would escape."""
    word = draws.pick(("Winter", "Orchid", "Falcon", "Lantern", "Marble"))
    return draws.pick(
        (f"{word}{draws.number(1990, 2026)}!", _made(draws, "", 20), f"{word.lower()}-{_made(draws, '', 8)}")
    )


def draw_private_key(draws: Draws) -> list[str]:
    """Return the lines of what looks like a private key."""
    kind = draws.pick(("RSA ", "EC ", "OPENSSH ", ""))
    noise = base64.b64encode(bytes(draws.number(0, 255) for _ in range(48 * draws.number(6, 16)))).decode()
    body = [noise[i : i + 64] for i in range(0, len(noise), 64)]
    return [f"-----BEGIN {kind}PRIVATE KEY-----", *body, f"-----END {kind}PRIVATE KEY-----"]
