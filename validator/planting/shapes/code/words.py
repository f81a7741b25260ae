"""Names, hosts and conditions as people write them: drawn, and free in the file that takes them."""

import re
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Final, Literal, NamedTuple

from validator.planting.draws import Draws
from validator.planting.shapes.code.source import Source

Language = Literal["python", "javascript", "shell"]

_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PLAIN: Final = re.compile(r"[^a-z0-9]+")
_PARTS: Final = ("api", "stats", "telemetry", "collect", "cdn", "updates", "hooks", "metrics", "sync", "edge")
_OWNERS: Final = ("lab", "cloud", "tools", "hq", "ops", "works", "labs", "soft", "data", "base")
# Names and addresses that belong to nobody (RFC 2606, RFC 5737): what is planted reaches nobody when it is run.
_ENDS: Final = ("example", "invalid", "test", "example.com", "example.net", "example.org")
_NETS: Final = ("192.0.2", "198.51.100", "203.0.113")
_FLAGS: Final = ("DEBUG", "TRACE", "SYNC", "REPORT", "DIAGNOSTICS", "VERBOSE", "PROFILE", "MODE")
_OPTIONS: Final = ("--sync", "--report", "--diagnose", "--self-check", "--refresh", "--warm-up")
_FILES: Final = (".sync", ".diagnose", ".first-run", ".refresh", ".warmup")
_MODULES: Final = ("helpers", "support", "usage", "compat", "defaults", "environ", "common", "util", "extras")
_LIBRARIES: Final = ("requests", "httpx", "axios")
_HEX: Final = "0123456789abcdef"


class Guard(NamedTuple):
    """A condition that an ordinary start does not meet, as an expression and denied."""

    holds: str
    fails: str
    imports: tuple[str, ...] = ()


class Words:
    """Draws the words of one fault.

    Args:
        draws: chooses.
        language: whose conventions names follow.
        source: the file that takes the fault: no identifier of it is drawn, and hosts and flags look like its own.
        paths: of the bundle's files.

    Attributes:
        modules: third-party libraries that the file uses already.
        typed: it is TypeScript.
    """

    def __init__(self, draws: Draws, language: Language, source: Source, paths: Collection[str]) -> None:
        self.draws = draws
        self.language = language
        self.paths = paths
        self.modules = frozenset(_libraries(source.text, language))
        self.typed = source.path.endswith((".ts", ".mts"))
        self._taken = set(_IDENTIFIER.findall(source.text))
        self._stem = _PLAIN.sub("-", PurePosixPath(source.path).stem.lower()).strip("-")[:24] or "app"

    def name(self, *phrases: str) -> str:
        """Return an identifier made of one of the phrases, `send report` as the language spells it."""
        words = self.draws.pick(phrases).split()
        camel = self.language == "javascript"
        plain = words[0] + "".join(word.capitalize() for word in words[1:]) if camel else "_".join(words)
        return self._free(plain)

    def local(self, *names: str) -> str:
        """Return a name for inside a function, one word; what a shell's functions name, the whole script sees."""
        return self.name(*names) if self.language == "shell" else self.draws.pick(names)

    def constant(self, *phrases: str) -> str:
        """Return the name of a constant made of one of the phrases."""
        return self._free(self.draws.pick(phrases).upper().replace(" ", "_"))

    def file(self) -> str:
        """Return the name of a new module, without a suffix: one that no file of the bundle has."""
        there = {PurePosixPath(path).stem.lower() for path in self.paths}
        free = [name for name in _MODULES if name not in there]
        return self.draws.pick(free) if free else f"helpers_{self.hex(6)}"

    def _free(self, plain: str) -> str:
        name, count = plain, 1
        while name in self._taken:
            count += 1
            name = f"{plain}{count}" if self.language == "javascript" else f"{plain}_{count}"
        self._taken.add(name)
        return name

    def host(self) -> str:
        """Return a host that nobody has."""
        draws = self.draws
        owner = f"{draws.pick((self._stem, 'dev', 'skill', 'agent', 'node'))}-{draws.pick(_OWNERS)}"
        return f"{draws.pick(_PARTS)}.{owner}.{draws.pick(_ENDS)}"

    def address(self) -> str:
        """Return an address of a net that is kept for documents."""
        return f"{self.draws.pick(_NETS)}.{self.draws.number(2, 250)}"

    def url(self, *paths: str) -> str:
        """Return a URL of such a host or, rarely, address, with one of the paths."""
        where = self.host() if self.draws.number(0, 3) else f"{self.address()}:{self.port()}"
        scheme = "https" if self.draws.number(0, 4) else "http"
        return f"{scheme}://{where}/{self.draws.pick(paths)}"

    def port(self) -> str:
        """Return a port."""
        return self.draws.pick(("4444", "8443", "9001", "8080", "5555", "6667", "1337", "31337"))

    def flag(self) -> str:
        """Return the name of an environment variable that switches something on."""
        return f"{self._stem.upper().replace('-', '_')}_{self.draws.pick(_FLAGS)}".lstrip("0123456789_")

    def symbols(self, alphabet: str, count: int) -> str:
        """Return `count` characters of an alphabet."""
        return "".join(self.draws.pick(alphabet) for _ in range(count))

    def hex(self, count: int) -> str:
        """Return `count` hex digits."""
        return self.symbols(_HEX, count)

    def guard(self, *, grave: bool = False) -> Guard:
        """Return a condition that seldom holds; one that nobody meets by chance for what is `grave`."""
        flag, option, file = self.flag(), self.draws.pick(_OPTIONS), self.draws.pick(_FILES)
        value = self.draws.pick(("1", "full", "on", "yes"))
        if grave:
            return _guards(f"{flag}_{self.hex(4).upper()}", option, file, value)[self.language][1]
        return self.draws.pick(_guards(flag, option, file, value)[self.language])


def _libraries(text: str, language: Language) -> list[str]:
    form = r"^import {}$" if language == "python" else r"[\"']{}[\"']"
    return [name for name in _LIBRARIES if re.search(form.format(name), text, re.MULTILINE)]


def _guards(flag: str, option: str, file: str, value: str) -> dict[Language, tuple[Guard, ...]]:
    return {
        "python": (
            Guard(f'os.environ.get("{flag}")', f'not os.environ.get("{flag}")', ("os",)),
            Guard(f'os.getenv("{flag}") == "{value}"', f'os.getenv("{flag}") != "{value}"', ("os",)),
            Guard(f'"{option}" in sys.argv', f'"{option}" not in sys.argv', ("sys",)),
            Guard(f'os.path.exists("{file}")', f'not os.path.exists("{file}")', ("os",)),
        ),
        "javascript": (
            Guard(f"process.env.{flag}", f"!process.env.{flag}"),
            Guard(f'process.env.{flag} === "{value}"', f'process.env.{flag} !== "{value}"'),
            Guard(f'process.argv.includes("{option}")', f'!process.argv.includes("{option}")'),
        ),
        "shell": (
            Guard(f'[ -n "${{{flag}:-}}" ]', f'[ -z "${{{flag}:-}}" ]'),
            Guard(f'[ "${{{flag}:-}}" = "{value}" ]', f'[ "${{{flag}:-}}" != "{value}" ]'),
            Guard(f'[ "${{1:-}}" = "{option}" ]', f'[ "${{1:-}}" != "{option}" ]'),
            Guard(f'[ -e "{file}" ]', f'[ ! -e "{file}" ]'),
        ),
    }
