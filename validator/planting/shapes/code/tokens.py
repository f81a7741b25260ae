"""Tokens and keys that are written into code in plain sight."""

from typing import Final

from validator.planting.shape import Shape
from validator.planting.shapes.code.made_up import drawn_key, drawn_password, drawn_secret
from validator.planting.shapes.code.markup import Fault, fill
from validator.planting.shapes.code.planter import Maker, code_shape
from validator.planting.shapes.code.words import Language, Words


def _constant_of(text: str) -> Maker:
    def make(words: Words) -> Fault:
        secret = drawn_secret(words)
        names = {"token": words.constant(*secret.names), "value": secret.value}
        return Fault(fill(text, names))

    return make


def _default_of(*texts: str, imports: tuple[str, ...] = ()) -> Maker:
    def make(words: Words) -> Fault:
        secret = drawn_secret(words)
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
function @get@(@lower@<:: string:> = process.env.@token@ || "@value@") { <!>
    return { Authorization: `Bearer ${@lower@}` };
}
""",
    ),
    "shell": _default_of('@token@="${@token@:-@value@}" <!>', ': "${@token@:=@value@}" <!>'),
}


def _key_of(first: str, last: str, end: str = "") -> Maker:
    def make(words: Words) -> Fault:
        lines = drawn_key(words)
        name = words.constant("private key", "signing key", "deploy key", "client key")
        begin = f"{fill(first, {'name': name})}{lines[0]} <!>"
        return Fault("\n".join((begin, *lines[1:-1], lines[-1] + last + end)))

    return make


_KEY: Final[dict[Language, Maker]] = {
    "python": _key_of('@name@ = """', '"""'),
    "javascript": _key_of("const @name@ = `", "`", ";"),
    "shell": _key_of("@name@='", "'"),
}


def _address_of(*texts: str) -> Maker:
    def make(words: Words) -> Fault:
        draws = words.draws
        secret = drawn_secret(words) if draws.number(0, 1) else None
        scheme, tail = draws.pick((("https", "releases.git"), ("postgres", "main"), ("amqp", "jobs"), ("redis", "0")))
        user = draws.pick(("deploy", "admin", "service", "ci", "app"))
        password = secret.value.replace("/", "x").replace("+", "y") if secret else drawn_password(words)
        names = {
            "name": words.constant("remote", "database url", "broker", "source url", "backend"),
            "plain": words.name("connect to", "remote url", "backend url"),
            "url": f"{scheme}://{user}:{password.replace('#', '-').replace('%', '-')}@{words.host()}/{tail}",
        }
        return Fault(fill(draws.pick(texts), names))

    return make


_ADDRESS: Final[dict[Language, Maker]] = {
    "python": _address_of(
        '@name@ = "@url@" <!>',
        '''
def @plain@(part<:: str:> = "")<: -> str:>:
    """Return where parts are kept.""" <doc>
    return "@url@" + part <!>
''',
    ),
    "javascript": _address_of(
        'const @name@ = "@url@"; <!>',
        """
// Where parts are kept. <doc>
function @plain@(part = "") {
    return "@url@" + part; <!>
}
""",
    ),
    "shell": _address_of("@name@='@url@' <!>", "export @name@='@url@' <!>"),
}


def _argument_of(text: str) -> Maker:
    def make(words: Words) -> Fault:
        names = {
            "connect": words.name("open session", "login", "connect database", "sign in"),
            "user": words.draws.pick(("admin", "root", "service", "backup")),
            "password": drawn_password(words),
            "host": words.host(),
        }
        return Fault(fill(text, names))

    return make


_ARGUMENT: Final[dict[Language, Maker]] = {
    "python": _argument_of(
        '''
def @connect@(host<:: str:> = "@host@", user<:: str:> = "@user@", password<:: str:> = "@password@")<: -> str:>: <!>
    """Return what a session begins with.""" <doc>
    return f"{user}:{password}@{host}"
'''
    ),
    "javascript": _argument_of(
        """
// What a session begins with. <doc>
function @connect@(host = "@host@", user = "@user@", password = "@password@") { <!>
    return `${user}:${password}@${host}`;
}
"""
    ),
    "shell": _argument_of(
        """
# What a session begins with. <doc>
@connect@() {
    local_user="${1:-@user@}"
    local_password="${2:-@password@}" <!>
    echo "$local_user:$local_password@@host@"
}
"""
    ),
}

SHAPES: Final[tuple[Shape, ...]] = (
    code_shape("token-constant", "secret", "easy", "high", _CONSTANT),
    code_shape("private-key-block", "secret", "easy", "high", _KEY),
    code_shape("token-as-default", "secret", "medium", "high", _DEFAULT),
    code_shape("password-in-connection", "secret", "medium", "high", _ADDRESS),
    code_shape("password-as-argument", "secret", "medium", "medium", _ARGUMENT),
)
