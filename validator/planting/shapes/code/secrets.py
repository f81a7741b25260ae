"""Tokens and passwords that are written into code; they are made up by a draw, and open nothing."""

from collections.abc import Callable
from typing import Final, NamedTuple

from validator.planting.shape import Shape
from validator.planting.shapes.code.markup import Fault, fill
from validator.planting.shapes.code.planter import Maker, code_shape
from validator.planting.shapes.code.words import Language, Words

_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_DIGITS: Final = "0123456789"


class _Secret(NamedTuple):
    """What a service's secret looks like, and what people call it."""

    value: str
    names: tuple[str, ...]


def _secret(words: Words) -> _Secret:
    few = _ALPHABET
    kinds: tuple[Callable[[], _Secret], ...] = (
        lambda: _Secret(f"ghp_{words.symbols(few, 36)}", ("github token", "gh token")),
        lambda: _Secret(f"glpat-{words.symbols(few, 20)}", ("gitlab token", "gl token")),
        lambda: _Secret(f"AKIA{words.symbols(_UPPER, 16)}", ("aws access key id", "access key")),
        lambda: _Secret(words.symbols(few + "/+", 40), ("aws secret access key", "secret key")),
        lambda: _Secret(
            f"xoxb-{words.symbols(_DIGITS, 12)}-{words.symbols(_DIGITS, 12)}-{words.symbols(few, 24)}",
            ("slack token", "slack bot token"),
        ),
        lambda: _Secret(f"sk_live_{words.symbols(few, 24)}", ("stripe key", "stripe secret key")),
        lambda: _Secret(f"npm_{words.symbols(few, 36)}", ("npm token", "registry token")),
        lambda: _Secret(f"SG.{words.symbols(few, 22)}.{words.symbols(few, 43)}", ("sendgrid key", "mail api key")),
        lambda: _Secret(f"sk-proj-{words.symbols(few, 48)}", ("openai api key", "model api key")),
        lambda: _Secret(words.hex(40), ("api key", "access token")),
    )
    return words.draws.pick(kinds)()


def _constant_of(text: str) -> Maker:
    def make(words: Words) -> Fault:
        secret = _secret(words)
        names = {"token": words.constant(*secret.names), "value": secret.value}
        return Fault(fill(text, names))

    return make


def _default_of(*texts: str, imports: tuple[str, ...] = ()) -> Maker:
    def make(words: Words) -> Fault:
        secret = _secret(words)
        names = {
            "token": words.constant(*secret.names),
            "value": secret.value,
            "get": words.name("auth header", "api headers", "request headers", "credentials"),
            "lower": words.name(*secret.names),
        }
        return Fault(fill(words.draws.pick(texts), names), imports=imports)

    return make


_CONSTANT: Final[dict[Language, Maker]] = {
    "python": _constant_of('@token@ = "@value@" <!>'),
    "javascript": _constant_of('const @token@ = "@value@"; <!>'),
    "shell": _constant_of('@token@="@value@" <!>'),
}
_DEFAULT: Final[dict[Language, Maker]] = {
    "python": _default_of(
        '@token@ = os.environ.get("@token@", "@value@") <!>',
        '@token@ = os.getenv("@token@") or "@value@" <!>',
        '''
def @get@()<: -> dict[str, str]:>:
    """Return the headers of a request.""" <doc>
    @lower@ = os.environ.get("@token@", "@value@") <!>
    return {"Authorization": f"Bearer {@lower@}"}
''',
        imports=("os",),
    ),
    "javascript": _default_of(
        'const @token@ = process.env.@token@ || "@value@"; <!>',
        'const @token@ = process.env.@token@ ?? "@value@"; <!>',
        """
// Headers of a request. <doc>
function @get@(@lower@<:?: string:> = process.env.@token@ || "@value@") { <!>
    return { Authorization: `Bearer ${@lower@}` };
}
""",
    ),
    "shell": _default_of('@token@="${@token@:-@value@}" <!>', ': "${@token@:=@value@}" <!>'),
}

SHAPES: Final[tuple[Shape, ...]] = (
    code_shape("token-constant", "secret", "easy", "high", _CONSTANT),
    code_shape("token-as-default", "secret", "medium", "high", _DEFAULT),
)
