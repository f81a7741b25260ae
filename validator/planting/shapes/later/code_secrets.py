"""Secrets in the forms that protocols and recordings give them, and one under a mask."""

import base64
import codecs
import json
from typing import Final

from validator.planting.shape import Shape
from validator.planting.shapes.code.forms import Form, of
from validator.planting.shapes.code.made_up import ALPHABET, drawn_password, drawn_secret
from validator.planting.shapes.code.planter import Maker, code_shape
from validator.planting.shapes.code.words import Language, Words


def _packed(value: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _names(words: Words) -> dict[str, str]:
    draws = words.draws
    user, mask, secret = (
        draws.pick(("deploy", "svc-build", "admin", "reports")),
        draws.number(17, 120),
        drawn_secret(words),
    )
    claims = {
        "sub": user,
        "role": draws.pick(("admin", "owner", "writer")),
        "iat": draws.number(1_600_000_000, 1_780_000_000),
    }
    return {
        "constant": words.constant("session", "service session", "access", "upstream auth", "signed in"),
        "sample": words.constant("sample answer", "recorded", "last answer", "mock answer"),
        "table": words.constant("palette", "offsets", "curve", "steps", "seed table"),
        "make": words.name("session headers", "open source", "data source", "upstream request", "build label"),
        "jwt": f"{_packed({'alg': 'HS256', 'typ': 'JWT'})}.{_packed(claims)}.{words.symbols(ALPHABET, 43)}",
        "user": user,
        "password": drawn_password(words),
        "host": words.host(),
        "base": draws.pick(("main", "reports", "orders", "metrics")),
        "value": secret.value,
        "mask": str(mask),
        "numbers": ", ".join(str(ord(char) ^ mask) for char in secret.value),
        "turned": codecs.encode(secret.value, "rot13"),
    }


_WEB_TOKEN: Final[dict[Language, Maker]] = {
    "python": of(
        _names,
        Form('@constant@ = "@jwt@" <!>'),
        Form(
            '''
def @make@()<: -> dict[str, str]:>:
    """Return what a session sends.""" <doc>
    return {"Accept": "application/json", "Authorization": "Bearer @jwt@"} <!>
'''
        ),
    ),
    "javascript": of(
        _names,
        Form('const @constant@ = "@jwt@"; <!>'),
        Form(
            """
// What a session sends. <doc>
function @make@() {
    return { accept: "application/json", cookie: "session=@jwt@" }; <!>
}
"""
        ),
    ),
    "shell": of(_names, Form("@constant@='@jwt@' <!>"), Form('@constant@="Authorization: Bearer @jwt@" <!>')),
}
_PAIR: Final[dict[Language, Maker]] = {
    "python": of(
        _names,
        Form('@constant@ = ("@user@", "@password@") <!>'),
        Form(
            '''
def @make@(url<:: str:> = "https://@host@/")<: -> urllib.request.Request:>:
    """Return a request to the upstream.""" <doc>
    pair = base64.b64encode(b"@user@:@password@").decode() <!>
    return urllib.request.Request(url, headers={"Authorization": "Basic " + pair})
''',
            ("base64", "urllib.request"),
        ),
    ),
    "javascript": of(
        _names,
        Form('const @constant@ = { username: "@user@", password: "@password@" }; <!>'),
        Form(
            """
// What a session sends. <doc>
function @make@() {
    return { Authorization: "Basic " + btoa("@user@:@password@") }; <!>
}
"""
        ),
    ),
    "shell": of(
        _names,
        Form("@constant@='--user @user@:@password@' <!>"),
        Form(
            """
# Asks the upstream. <doc>
@make@() {
    curl -s -m 2 -u '@user@:@password@' "https://@host@/$1" <!>
}
"""
        ),
    ),
}
_SOURCE: Final[dict[Language, Maker]] = {
    "python": of(
        _names,
        Form(
            '''
def @make@(base<:: str:> = "@base@")<: -> str:>:
    """Return where data is kept.""" <doc>
    return ";".join(("Server=@host@", f"Database={base}", "Uid=@user@", "Pwd=@password@")) <!>
'''
        ),
        Form(
            '''
def @make@(base<:: str:> = "@base@")<: -> str:>:
    """Return where data is kept.""" <doc>
    return "host=%s dbname=%s user=%s password=%s" % ("@host@", base, "@user@", "@password@") <!>
'''
        ),
    ),
    "javascript": of(
        _names,
        Form(
            """
// Where data is kept. <doc>
function @make@(database = "@base@") {
    return { host: "@host@", port: 5432, database, user: "@user@", pass: "@password@" }; <!>
}
"""
        ),
        Form(
            """
// Where data is kept. <doc>
function @make@(database = "@base@") {
    return ["Server=@host@", `Database=${database}`, "Uid=@user@", "Pwd=@password@"].join(";"); <!>
}
"""
        ),
    ),
    "shell": of(
        _names,
        Form(
            """
# Where data is kept. <doc>
@make@() {
    PGPASSWORD='@password@' psql -h @host@ -U @user@ "${1:-@base@}" <!>
}
"""
        ),
        Form("@constant@='host=@host@ dbname=@base@ user=@user@ password=@password@' <!>"),
    ),
}
_SAMPLE: Final[dict[Language, Maker]] = {
    "python": of(
        _names,
        Form(
            """
@sample@ = {
    "status": 200,
    "headers": {"content-type": "application/json", "x-request-id": "7"},
    "body": '{"token_type": "bearer", "scope": "all", "access_token": "@value@"}', <!>
}
"""
        ),
    ),
    "javascript": of(
        _names,
        Form(
            """
const @sample@ = {
    status: 200,
    headers: { "content-type": "application/json", "x-request-id": "7" },
    body: '{"token_type": "bearer", "scope": "all", "access_token": "@value@"}', <!>
};
"""
        ),
    ),
    "shell": of(
        _names,
        Form(
            """
# What the service said last time, for work without a network. <doc>
@make@() {
    printf '%s\\n' '{"token_type": "bearer", "scope": "all", "access_token": "@value@"}' <!>
}
"""
        ),
    ),
}
_MASK: Final[dict[Language, Maker]] = {
    "python": of(
        _names,
        Form(
            '''
@table@ = (@numbers@) <!>
---
def @make@(by<:: int:> = @mask@)<: -> str:>:
    """Return the label of this build.""" <doc>
    return "".join(chr(one ^ by) for one in @table@)
'''
        ),
        Form(
            '''
def @make@()<: -> str:>:
    """Return the label of this build.""" <doc>
    return codecs.decode("@turned@", "rot13") <!>
''',
            ("codecs",),
        ),
    ),
    "javascript": of(
        _names,
        Form(
            """
const @table@ = [@numbers@]; <!>
---
// The label of this build. <doc>
function @make@(by = @mask@) {
    return String.fromCharCode(...@table@.map((one) => one ^ by));
}
"""
        ),
    ),
    "shell": of(
        _names,
        Form(
            """
# The label of this build. <doc>
@make@() {
    echo '@turned@' | tr 'A-Za-z' 'N-ZA-Mn-za-m' <!>
}
"""
        ),
    ),
}

SHAPES: Final[tuple[Shape, ...]] = (
    code_shape("signed-web-token", "secret", "easy", "high", _WEB_TOKEN),
    code_shape("user-and-password-pair", "secret", "medium", "high", _PAIR),
    code_shape("password-of-a-data-source", "secret", "medium", "high", _SOURCE),
    code_shape("answer-kept-as-a-sample", "secret", "medium", "high", _SAMPLE),
    code_shape("token-under-a-mask", "secret", "hard", "high", _MASK),
)
