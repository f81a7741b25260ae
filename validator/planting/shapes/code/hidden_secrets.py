"""Tokens that are written into code in pieces, or packed."""

import base64
from typing import Final

from validator.planting.shape import Shape
from validator.planting.shapes.code.forms import Form, of
from validator.planting.shapes.code.made_up import drawn_secret
from validator.planting.shapes.code.planter import Maker, code_shape
from validator.planting.shapes.code.words import Language, Words


def _names(words: Words) -> dict[str, str]:
    secret = drawn_secret(words)
    value = secret.value
    one, two = len(value) // 3, len(value) * 2 // 3
    return {
        "first": value[:one],
        "second": value[one:two],
        "third": value[two:],
        "back": value[two:][::-1],
        "packed": base64.b64encode(value.encode()).decode(),
        "hex": value.encode().hex(),
        "parts": words.constant("parts", "region map", "build info", "channel", "table"),
        "left": words.constant("prefix", "channel id", "series", "lead"),
        "right": words.constant("suffix", "build id", "batch", "tail"),
        "headers": words.name("default headers", "request options", "client options", "base headers"),
        "label": words.name("build label", "channel name", "client tag", "release name"),
    }


_SPLIT: Final[dict[Language, Maker]] = {
    "python": of(
        _names,
        Form(
            '''
@left@ = "@first@"
@right@ = "@third@"
---
def @label@()<: -> str:>:
    """Return what requests are signed with.""" <doc>
    return @left@ + "@second@" + @right@ <!>
''',
            (),
        ),
        Form(
            '''
@parts@ = {"eu": "@first@", "us": "@second@", "ap": "@back@"}
---
def @label@()<: -> str:>:
    """Return what requests are signed with.""" <doc>
    return @parts@["eu"] + @parts@["us"] + @parts@["ap"][::-1] <!>
''',
            (),
        ),
    ),
    "javascript": of(
        _names,
        Form(
            """
const @left@ = "@first@";
const @right@ = "@third@";
---
// What requests are signed with. <doc>
function @label@()<:: string:> {
    return [@left@, "@second@", @right@].join(""); <!>
}
""",
            (),
        ),
        Form(
            """
const @parts@ = { eu: "@first@", us: "@second@", ap: "@third@" };
---
// What requests are signed with. <doc>
function @label@()<:: string:> {
    return `${@parts@.eu}${@parts@.us}${@parts@.ap}`; <!>
}
""",
            (),
        ),
    ),
    "shell": of(
        _names,
        Form(
            """
@left@='@first@'
@right@='@third@'

# What requests are signed with. <doc>
@label@() {
    printf '%s%s%s' "$@left@" '@second@' "$@right@" <!>
}
""",
            (),
        ),
    ),
}
_PACKED: Final[dict[Language, Maker]] = {
    "python": of(
        _names,
        Form(
            '''
def @headers@()<: -> dict[str, str]:>:
    """Return what every request carries.""" <doc>
    tag = base64.b64decode("@packed@").decode() <!>
    return {"Accept": "application/json", "Authorization": f"Bearer {tag}"}
''',
            ("base64",),
        ),
        Form(
            '''
@parts@ = "@hex@" <!>
---
def @headers@()<: -> dict[str, str]:>:
    """Return what every request carries.""" <doc>
    return {"Accept": "application/json", "Authorization": "Bearer " + bytes.fromhex(@parts@).decode()}
''',
            (),
        ),
    ),
    "javascript": of(
        _names,
        Form(
            """
// What every request carries. <doc>
function @headers@() {
    const tag = Buffer.from("@packed@", "base64").toString(); <!>
    return { Accept: "application/json", Authorization: `Bearer ${tag}` };
}
""",
            (),
        ),
        Form(
            """
const @parts@ = "@hex@"; <!>
---
// What every request carries. <doc>
function @headers@() {
    return { Accept: "application/json", Authorization: "Bearer " + Buffer.from(@parts@, "hex") };
}
""",
            (),
        ),
    ),
    "shell": of(
        _names,
        Form(
            """
# What every request carries. <doc>
@headers@() {
    tag=$(echo '@packed@' | base64 -d) <!>
    printf 'Authorization: Bearer %s\\n' "$tag"
}
""",
            (),
        ),
    ),
}

SHAPES: Final[tuple[Shape, ...]] = (
    code_shape("token-in-pieces", "secret", "hard", "high", _SPLIT),
    code_shape("token-packed", "secret", "hard", "high", _PACKED),
)
