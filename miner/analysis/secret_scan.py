"""Secrets that are written into files."""

import base64
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from miner.analysis.bounds import Budget
from miner.analysis.result import Report, found
from miner.analysis.source import SourceFile
from validator.protocol.sssa import Finding

_KNOWN: Final = (
    ("an AWS access key id", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a GitHub token", re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b")),
    ("a Slack token", re.compile(r"\bxox[abprs]-(?=[A-Za-z-]{0,200}\d)[A-Za-z0-9-]{10,200}")),
    ("a Google API key", re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b")),
    ("a GitHub token", re.compile(r"\bgithub_pat_[A-Za-z0-9_]{40,255}\b")),
    ("a GitLab token", re.compile(r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_-]{20,64}")),
    ("an npm token", re.compile(r"\bnpm_[A-Za-z0-9]{36}\b")),
    ("a PyPI token", re.compile(r"\bpypi-[A-Za-z0-9_-]{50,250}")),
    ("a SendGrid key", re.compile(r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}")),
    (
        "a key to a model's API",
        re.compile(r"\bsk-(?:(?:proj|ant|or|svcacct|live)-)?(?=\w{0,160}\d)[A-Za-z0-9_-]{32,200}"),
    ),
    ("a Hugging Face token", re.compile(r"\bhf_[A-Za-z0-9]{30,60}\b")),
    (
        "a token of a hosting service",
        re.compile(r"\b(?:do[opr]_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32})\b"),
    ),
    ("a Twilio key", re.compile(r"\bSK[0-9a-f]{32}\b")),
    ("a bot's token", re.compile(r"(?<![\w/])\d{8,10}:AA[A-Za-z0-9_-]{33}\b")),
    (
        "the address of a webhook, which is its own password",
        re.compile(
            r"https://(?:hooks\.slack\.com/services/T\w{6,12}/B\w{6,12}/\w{20,30}"
            r"|discord(?:app)?\.com/api/webhooks/\d{15,20}/[\w-]{50,90})"
        ),
    ),
    ("a live Stripe key", re.compile(r"\b[rs]k_live_[0-9A-Za-z]{16,200}\b")),
    (
        "a signed web token",
        re.compile(r"(?<![\w-])eyJ[A-Za-z0-9_-]{10,1000}+\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}"),
    ),
)
_KEY_HEADER: Final = re.compile(r"-----BEGIN (?:[A-Z]{2,12} ){0,2}PRIVATE KEY-----")
_KEY_MATERIAL: Final = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
_KEY_LINES: Final = 6  # behind a header: an encrypted key begins with two lines about its cipher and an empty one
_HINTS: Final = re.compile(
    r"AKIA|ASIA|gh[pousr]_|github_pat|gl\w{2,4}-|npm_|pypi-|SG\.|sk-|hf_|_v1_|dapi|shp|SK[0-9a-f]|:AA|hooks\.slack"
    r"|webhooks/|xox"
    r"|AIza|k_live_|PRIVATE KEY|eyJ|://[^/@]{0,80}@|(?i:api.?key|secret|token|passw|credential|auth|basic |bearer "
    r"|access|login|key\b|\"default\"|\"value\"|\"const\"|\"example\")"
)
_NAME: Final = r"(?i)(?:api[_-]?key|secret|token|passwd|password|credential|auth)[A-Za-z0-9_]{0,24}"
_VALUE: Final = r"([A-Za-z0-9+/=_.$!@#%^&*-]{16,200})"
_ASSIGNED: Final = re.compile(rf"{_NAME}[\"']?\s{{0,3}}(?::[=-]|[:=])\s{{0,3}}[\"']?{_VALUE}[\"']?")
_SAID: Final = re.compile(
    rf"(?i)(?:api[_-]?key|secret|token|passw(?:or)?d|passphrase|credential|access|login"
    rf"|\bkey\b)[^\n]{{0,40}}?[:=]\s{{1,3}}[`\"']?{_VALUE}(?=[\s`\"'.,;)]|$)"
)
_IN_JSON: Final = re.compile(rf"\"(?:default|value|example|const)\"\s{{0,3}}:\s{{0,3}}\"{_VALUE}\"")
# What stands in where nobody sets it: the default of a lookup, of an option, of an operator.
_STANDING_IN: Final = re.compile(rf"{_NAME}[^A-Za-z0-9_].{{0,60}}?[\"'`]{_VALUE}[\"'`]")
# Who reads the address has the password; documents name it in many forms.
_ADDRESS: Final = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://([^\s:/@\"'<>]{0,64}):([^\s/@\"'<>]{3,200})@[\w.\[-]")
_BASIC: Final = re.compile(r"(?i)\bbasic\s{1,3}([A-Za-z0-9+/]{8,400}={0,2})")
_BEARER: Final = re.compile(r"(?i)\b(?:bearer|x-api-key:|token)\s{1,3}[\"']?([A-Za-z0-9_.~+/-]{20,400}={0,2})")
_NO_PASSWORD: Final = re.compile(
    r"(?i)^(?:pass(?:word|wd|phrase)?|pwd|secret|token|user(?:name)?|x{3,}|\*{3,}|\.{3,}|changeme|change-me|example"
    r"|your.*|my.*"
    r"|foo|bar|test|guest|none|null|abc|123|1234|p@ss\w*|encoded-.*|\W*)$|[<>{}$%\[\]()]|\.\.\."
)
_FORMS: Final = (_ASSIGNED, _STANDING_IN, _SAID, _IN_JSON)
_PLACEHOLDER: Final = re.compile(
    r"(?i)example|changeme|change_me|placeholder|your[_-]|xxxx|dummy|todo|\.\.\.|test|sample|<|\$|%\(|self\.|os\."
    r"|\bget|env\b|environ"
)
_WORDS: Final = re.compile(r"[A-Za-z]{2,}(?:[-_./][A-Za-z0-9]{1,16}){1,12}")  # an identifier, a path, a slug
_HEX: Final = re.compile(r"[0-9a-f]{32,128}|[0-9A-F]{32,128}")
_BINARY: Final = 1_024  # bytes in which a NUL tells that a file is no text
_LONGEST: Final = 200  # characters of a secret that is put together
_SHORTEST: Final = 16
_TOKEN: Final = re.compile(r"[A-Za-z0-9+/=_.!#%*~-]+")
_PACKED: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_HEX_TEXT: Final = re.compile(r"(?:[0-9a-fA-F]{2})+")
_LINE: Final = 2_000  # characters of a line that are searched
_MIN_ENTROPY: Final = 3.6  # bits per character: above identifiers and words, below random text
_MIN_DIGITS: Final = 3
_MIN_WORDLESS: Final = 4.4  # of what has hardly a digit
_MIN_HEX_ENTROPY: Final = 3.0


def read_settings(sources: Iterable[SourceFile], budget: Budget) -> Report:
    """Return the secrets in texts that no other sub-analyser reads: settings, keys, requests, files without suffix."""
    files = [source for source in sources if b"\0" not in source.content[:_BINARY]]
    return Report(
        findings=tuple(f for source in files if budget.take_text(len(source.text)) for f in secrets_in(source))
    )


def secrets_in(source: SourceFile) -> Iterator[Finding]:
    """Yield a finding per line that holds something of the form of a secret. The value itself is never repeated."""
    for number, line in enumerate(source.lines, start=1):
        text = line[:_LINE]
        if not _HINTS.search(text):
            continue
        kind = next((name for name, pattern in _KNOWN if pattern.search(text)), None)
        if kind is None and (header := _KEY_HEADER.search(text)) and _holds_key(source, number, header.end()):
            kind = "a private key"
        if kind is not None:
            what = f"The line holds {kind}."
            yield found("secrets_exposure", "high", source.place(number), what, source.path)
        elif _holds_password(text):
            what = "A password stands in an address or in a header."
            yield found("secrets_exposure", "high", source.place(number), what, source.path)
        elif any(_looks_random(match[1]) for form in _FORMS for match in form.finditer(text)):
            what = "A random-looking value is assigned to a name that says secret."
            yield found("secrets_exposure", "medium", source.place(number), what, source.path)


def _holds_password(text: str) -> bool:
    if any(not _NO_PASSWORD.search(match[2]) and match[1] != match[2] for match in _ADDRESS.finditer(text)):
        return True
    for match in _BASIC.finditer(text):
        user, colon, password = _decoded(match[1]).partition(":")
        if colon and user.isprintable() and password and not _NO_PASSWORD.search(password):
            return True
    return any(_looks_random(match[1]) for match in _BEARER.finditer(text))


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4)).decode()
    except ValueError:
        return ""


def _holds_key(source: SourceFile, number: int, column: int) -> bool:
    """Whether a key follows its header in line `number`; code that looks for keys has the header alone."""
    lines = [source.lines[number - 1][column:], *source.lines[number : number + _KEY_LINES]]
    return any(entropy(found[0]) >= _MIN_ENTROPY for line in lines for found in _KEY_MATERIAL.finditer(line[:_LINE]))


def entropy(text: str) -> float:
    """Return the Shannon entropy of the text in bits per character."""
    counts = Counter(text).values()
    return -math.fsum(n / len(text) * math.log2(n / len(text)) for n in counts)


def _looks_random(value: str) -> bool:
    if _PLACEHOLDER.search(value) or not any(map(str.isalpha, value)):
        return False
    if _HEX.fullmatch(value):
        return entropy(value) >= _MIN_HEX_ENTROPY
    if _WORDS.fullmatch(value):
        return False
    digits = sum(map(str.isdigit, value))
    return entropy(value) >= (_MIN_ENTROPY if digits >= _MIN_DIGITS else _MIN_WORDLESS)


def is_secret(text: str) -> bool:
    """Whether a whole text has the form of a secret: of a known kind, or random and without a blank."""
    if not _SHORTEST <= len(text) <= _LONGEST or _PLACEHOLDER.search(text):
        return False
    if any(pattern.search(text) for _, pattern in _KNOWN):
        return True
    mixed = sum(map(str.isdigit, text)) > 1 and not text.startswith(("/", "~", "."))
    return mixed and _TOKEN.fullmatch(text) is not None and _looks_random(text)


def hidden_secret(text: str) -> bool:
    """Whether a text is a secret in base64 or in hex."""
    if not 2 * _SHORTEST <= len(text) <= 2 * _LONGEST or not _PACKED.fullmatch(text):
        return False
    raws = []
    try:
        if _HEX_TEXT.fullmatch(text):
            raws.append(bytes.fromhex(text))
        raws.append(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if set(text) & set("-_") else None))
    except ValueError:
        pass
    return any(raw.isascii() and raw.decode().isprintable() and is_secret(raw.decode()) for raw in raws)
