"""What shell commands should not do: rules over one pipeline."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from miner.analysis import private_paths as paths
from miner.analysis import shell_tables as tables
from miner.analysis.links import urls_in
from miner.analysis.shell_commands import Command, Pipeline, program_of
from validator.protocol.sssa import Category, Severity

_BROAD_PATHS: Final = re.compile(
    r"(?:/|/\*|~|~/|~/\*|\.\.|\$HOME/?\*?|\$\{HOME\}/?\*?|/(?:etc|usr|bin|lib|home|root|var|boot|opt|srv)(?:/\*?)?)"
)
_EXECUTING: Final = re.compile(r"-[a-z]*[ec]$|--exec|--sh-exec|(?i:exec|system):")
_ENABLING: Final = frozenset({"enable", "load", "bootstrap", "reenable"})
_HOOKING: Final = frozenset({"core.hookspath", "init.templatedir", "core.fsmonitor", "core.sshcommand", "core.pager"})
_CURL_INSECURE: Final = re.compile(r"-[a-zA-Z]{0,12}?k[a-zA-Z]{0,12}")


class Hit(NamedTuple):
    """A rule's objection; an empty target means the script itself."""

    category: Category
    severity: Severity
    text: str
    target: str = ""


def hits_of(pipeline: Pipeline) -> Iterator[Hit]:
    """Yield what the rules object to in the pipeline."""
    for whole in _PIPELINE_RULES:
        yield from whole(pipeline)
    for command in pipeline:
        program, arguments = program_of(command)
        for rule in _COMMAND_RULES:
            yield from rule(command, program, arguments)


def _fetched_code(pipeline: Pipeline) -> Iterator[Hit]:
    """Something downloaded or decoded flows into an interpreter, by pipe or by substitution."""
    origin: Hit | None = None
    for command in pipeline:
        program, _ = program_of(command)
        runs = program in tables.INTERPRETERS or program in ("eval", "source", ".")
        inside = next((hit for inner in command.inner if (hit := _origin(inner)) is not None), None)
        if runs and (source := inside or origin) is not None:
            yield source
        origin = _origin(command) or (origin if not runs else None)


def _origin(command: Command) -> Hit | None:
    program, arguments = program_of(command)
    if program in tables.DOWNLOADERS:
        return Hit(
            "excessive_capability", "critical", "What is downloaded is run without being looked at.", url_of(arguments)
        )
    if program in tables.DECODERS and (
        not tables.DECODERS[program] or any(a in tables.DECODERS[program] for a in arguments)
    ):
        return Hit("excessive_capability", "critical", "What is decoded is run: readers cannot see what it is.")
    return None


def _dump(command: Command, program: str, arguments: tuple[str, ...]) -> Iterator[Hit]:
    files = [target for sign, target in command.redirects if sign == "<"]
    keys = any(command.argv[at - 1 : at] in (("-i",), ("--key",), ("--cert",)) for at in range(1, len(command.argv)))
    if program not in tables.KEEPERS and not keys:
        files += arguments
    if any(map(paths.CREDENTIALS.search, files)):
        yield Hit("secrets_exposure", "high", "A file that holds secrets is read.")
    elif program in ("env", "printenv") and all(a.startswith("-") for a in arguments):
        yield Hit("secrets_exposure", "medium", "The whole environment is printed.")


def _dynamic(_: Command, program: str, arguments: tuple[str, ...]) -> Iterator[Hit]:
    if program == "eval" and any("$" in a or "`" in a for a in arguments):
        yield Hit("excessive_capability", "medium", "eval runs a command line that is put together at run time.")


def _deletion(_: Command, program: str, arguments: tuple[str, ...]) -> Iterator[Hit]:
    flags = "".join(a[1:] for a in arguments if a.startswith("-") and not a.startswith("--"))
    if program == "rm" and ("r" in flags.lower() or "--recursive" in arguments):
        names = [a for a in arguments if not a.startswith("-")]
        if any(_BROAD_PATHS.fullmatch(name) for name in names):
            yield Hit("excessive_capability", "critical", "A whole system or home folder is deleted.")
        elif any(name.startswith("$") for name in names):
            yield Hit("excessive_capability", "medium", "A folder is deleted whose name is only known at run time.")
    if program.startswith("mkfs") or (program == "dd" and any(a.startswith("of=/dev/") for a in arguments)):
        yield Hit("excessive_capability", "critical", "A device is overwritten.")


def _permissions(_: Command, program: str, arguments: tuple[str, ...]) -> Iterator[Hit]:
    if program == "chmod" and any(tables.OPEN_MODES.fullmatch(a) for a in arguments):
        yield Hit("excessive_capability", "medium", "A file is opened to everyone, or runs with its owner's rights.")
    if program in ("useradd", "usermod", "passwd", "visudo", "setcap"):
        yield Hit("excessive_capability", "high", "Accounts or rights of the system are changed.")


def _elevation(command: Command, _: str, __: tuple[str, ...]) -> Iterator[Hit]:
    if command.argv[0] in ("sudo", "doas", "su"):
        yield Hit("excessive_capability", "medium", "Another user's rights are asked for.")


def _remote_shell(command: Command, program: str, arguments: tuple[str, ...]) -> Iterator[Hit]:
    sockets = [target for _, target in command.redirects if target.startswith(tables.NETWORK_FILES)]
    handed = program in tables.INTERPRETERS and bool(sockets)
    if program in tables.CONVERSING:
        handed = any(_EXECUTING.match(a) for a in arguments)
    elif program in tables.INTERPRETERS | {"awk", "gawk"}:
        handed = handed or any(tables.SOCKET.search(a) and tables.SHELL_IN_CODE.search(a) for a in arguments)
    if handed:
        yield Hit("excessive_capability", "critical", "A shell is handed to a network connection.")
    elif sockets:
        yield Hit("excessive_capability", "high", "A network connection is opened through the shell itself.")


def _persistence(_: Command, program: str, arguments: tuple[str, ...]) -> Iterator[Hit]:
    changes_crontab = program == "crontab" and "-l" not in arguments
    enables = program in ("systemctl", "launchctl") and not _ENABLING.isdisjoint(arguments)
    plans = program in ("at", "batch", "update-rc.d", "chkconfig", "schtasks") or (
        program == "systemd-run" and any(a.startswith("--on-") for a in arguments)
    )
    hooks = program == "git" and "config" in arguments and not _HOOKING.isdisjoint(a.lower() for a in arguments)
    if changes_crontab or enables or plans or hooks:
        yield Hit("excessive_capability", "high", "Something is made to start by itself later.")


def _concealment(_: Command, program: str, arguments: tuple[str, ...]) -> Iterator[Hit]:
    if (program == "history" and "-c" in arguments) or (
        program in ("unset", "export") and any(a.startswith("HISTFILE") for a in arguments)
    ):
        yield Hit("other", "medium", "The shell's history is erased or switched off.")


def _unchecked(_: Command, program: str, arguments: tuple[str, ...]) -> Iterator[Hit]:
    off = any(a in tables.UNCHECKED or a.lower() in tables.UNCHECKED for a in arguments)
    if program == "curl":
        off = off or any(_CURL_INSECURE.fullmatch(a) for a in arguments)
    elif program in ("git", "npm", "yarn", "pnpm", "pip", "pip3"):
        pairs = {(one.lower().lstrip("-"), two.lower()) for one, two in pairwise(arguments)}
        off = off or bool(pairs & {("http.sslverify", "false"), ("strict-ssl", "false")})
        off = off or any(a.lower().endswith(("sslverify=false", "strict-ssl=false")) for a in arguments)
        off = off or (program.startswith("pip") and "--trusted-host" in arguments)
    if off:
        yield Hit("excessive_capability", "medium", "Certificates are not verified.", url_of(arguments))


def url_of(arguments: tuple[str, ...]) -> str:
    """Return the first URL among the arguments; empty without one."""
    return next((url for argument in arguments for url in urls_in(argument)), "")


_PIPELINE_RULES: Final[tuple[Callable[[Pipeline], Iterator[Hit]], ...]] = (_fetched_code,)
_COMMAND_RULES: Final[tuple[Callable[[Command, str, tuple[str, ...]], Iterator[Hit]], ...]] = (
    _dump,
    _dynamic,
    _deletion,
    _permissions,
    _elevation,
    _remote_shell,
    _persistence,
    _concealment,
    _unchecked,
)
