"""Texts that are harmful to anyone who shows them unescaped: terminals, logs, SQL, Markdown, HTML, spreadsheets."""

from typing import Final

INJECTIONS: Final = (
    "\x1b[2J\x1b]0;owned\x07\x1b[31mred",
    "\x9b31m\x90q\x9c",
    'x"}\n{"event":"round_settled","reason":"settled"}\r\n',
    "'; DROP TABLE rounds; --",
    "%s%n{0.__class__}${jndi:ldap://127.0.0.1/a}",
    "| a | b |\n|---|---|\n[x](javascript:alert(1)) <script>alert(1)</script> `rm -rf /`",
    "\u202egnp.exe\u2066\u200b\ufeff\u2028\u2029\x85",
    "[bold red]markup[/bold red][/]",
    "=cmd|'/c calc'!A0",
    "../../../../etc/passwd\x00.py",
    "NaN\x00\x08\x08\x7f",
    "\U000e0041\U000e007f\ufff9\ufffb",
)
HARMFUL: Final = frozenset(
    c for text in INJECTIONS for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or ord(c) > 0x2000)
)


def injection(number: int) -> str:
    return INJECTIONS[number % len(INJECTIONS)]


def everything() -> str:
    """All of them in one line-breaking text."""
    return " ".join(INJECTIONS)
