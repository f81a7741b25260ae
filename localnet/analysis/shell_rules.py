"""What shell commands should not do: rules over one pipeline."""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from localnet.analysis.links import urls_in
from localnet.analysis.shell_commands import Command, Pipeline
from localnet.analysis.shell_parser import parse_script
from validator.protocol.sssa import Category, Severity

_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
INTERPRETERS: Final = _SHELLS | {"python", "python3", "perl", "ruby", "node", "php"}
_MAX_EMBEDDED: Final = 3  # scripts within scripts
DOWNLOADERS: Final = frozenset({"curl", "wget", "fetch", "aria2c", "http", "lynx"})
SENDERS: Final = frozenset(
    {
        "nc",
        "ncat",
        "netcat",
        "socat",
        "ssh",
        "scp",
        "sftp",
        "rsync",
        "ftp",
        "telnet",
        "mail",
        "sendmail",
        "dig",
        "nslookup",
        "host",
    }
)
_DECODERS: Final = {
    "base64": ("-d", "--decode", "-D"),
    "base32": ("-d",),
    "xxd": ("-r",),
    "openssl": ("enc", "-d"),
    "gunzip": (),
    "zcat": (),
    "rev": (),
}
_WRAPPERS: Final = frozenset(
    {
        "sudo",
        "doas",
        "exec",
        "command",
        "builtin",
        "nohup",
        "time",
        "timeout",
        "xargs",
        "nice",
        "env",
        "stdbuf",
        "setsid",
    }
)
_SECRET_FILES: Final = re.compile(
    r"(?:^|[/~])\.(?:ssh|aws|gnupg|kube|netrc|pgpass|git-credentials|docker)\b|id_(?:rsa|ed25519)|/etc/shadow|/proc/[^/]+/environ|(?:^|/)\.env$"
)
_START_FILES: Final = re.compile(
    r"\.(?:bashrc|bash_profile|zshrc|profile)$|/etc/(?:cron|init|profile|systemd|rc)|authorized_keys$|autostart/"
)
_BROAD_PATHS: Final = re.compile(
    r"(?:/|/\*|~|~/|~/\*|\.\.|\$HOME/?\*?|\$\{HOME\}/?\*?|/(?:etc|usr|bin|lib|home|root|var|boot|opt|srv)(?:/\*?)?)"
)
_OPEN_MODES: Final = re.compile(r"0?777|0?666|a\+rwx|[ugoa]*\+s|[2467][0-7]{3}")
_DURATION: Final = re.compile(r"\d+(?:\.\d+)?[smhd]?")


class Hit(NamedTuple):
    """A rule's objection; an empty target means the script itself."""

    category: Category
    severity: Severity
    text: str
    target: str = ""


def program_of(command: Command) -> tuple[str, tuple[str, ...]]:
    """Return the program that really runs (behind sudo, env, timeout, …), without its folder, and its arguments."""
    words = list(command.argv)
    while len(words) > 1 and words[0].rpartition("/")[2] in _WRAPPERS:
        rest = words[1:]
        while len(rest) > 1 and (rest[0].startswith("-") or "=" in rest[0] or _DURATION.fullmatch(rest[0])):
            rest = rest[1:]
        if rest[0].startswith("-") or "=" in rest[0]:
            break
        words = rest
    return words[0].rpartition("/")[2] if words else "", tuple(words[1:])


def hits_of(pipeline: Pipeline, depth: int = 0) -> Iterator[Hit]:
    """Yield what the rules object to in the pipeline, and in the scripts that it hands to a shell as text."""
    for whole in _PIPELINE_RULES:
        yield from whole(pipeline)
    for command in pipeline:
        program, arguments = program_of(command)
        for rule in _COMMAND_RULES:
            yield from rule(command, program, arguments)
        for text in _embedded(command, program, arguments) if depth < _MAX_EMBEDDED else ():
            for inner in parse_script(text, depth=depth + 1).pipelines:
                yield from hits_of(inner, depth + 1)


def _embedded(command: Command, program: str, arguments: tuple[str, ...]) -> Iterator[str]:
    """Yield the scripts that a shell gets as text: here-documents, here-strings, `-c`."""
    if program not in _SHELLS:
        return
    yield from (text for sign, text in command.redirects if sign in ("<<", "<<<"))
    if "-c" in arguments[:-1]:
        yield arguments[arguments.index("-c") + 1]


def _fetched_code(pipeline: Pipeline) -> Iterator[Hit]:
    """Something downloaded or decoded flows into an interpreter, by pipe or by substitution."""
    origin: Hit | None = None
    for command in pipeline:
        program, _ = program_of(command)
        runs = program in INTERPRETERS or program in ("eval", "source", ".")
        inside = next((hit for inner in command.inner if (hit := _origin(inner)) is not None), None)
        if runs and (source := inside or origin) is not None:
            yield source
        origin = _origin(command) or (origin if not runs else None)


def _origin(command: Command) -> Hit | None:
    program, arguments = program_of(command)
    if program in DOWNLOADERS:
        return Hit(
            "excessive_capability", "critical", "What is downloaded is run without being looked at.", _url(arguments)
        )
    if program in _DECODERS and (not _DECODERS[program] or any(a in _DECODERS[program] for a in arguments)):
        return Hit("excessive_capability", "critical", "What is decoded is run: readers cannot see what it is.")
    return None


def _sent_away(pipeline: Pipeline) -> Iterator[Hit]:
    """The environment or a secret file flows into something that sends it."""
    tainted = False
    for command in pipeline:
        program, arguments = program_of(command)
        sends = (
            program in DOWNLOADERS
            or program in SENDERS
            or any(t.startswith(("/dev/tcp/", "/dev/udp/")) for _, t in command.redirects)
        )
        reads_secret = any(_reveals(inner) for inner in command.inner) or any(
            _SECRET_FILES.search(a.lstrip("@")) for a in arguments
        )
        tainted = tainted or _reveals(command)
        if sends and (tainted or reads_secret):
            yield Hit("secrets_exposure", "critical", "Secrets or the environment are sent away.", _url(arguments))


def _reveals(command: Command) -> bool:
    """Whether the command prints the environment or a secret file."""
    program, arguments = program_of(command)
    if program in ("env", "printenv") and all(a.startswith("-") for a in arguments):
        return True
    if program in ("set", "export", "declare") and arguments in ((), ("-p",)):
        return True
    files = (*arguments, *(target for sign, target in command.redirects if sign == "<"))
    return program not in ("chmod", "mkdir", "test", "[") and any(_SECRET_FILES.search(name) for name in files)


def _dump(command: Command, program: str, arguments: tuple[str, ...]) -> Iterator[Hit]:
    if _reveals(command):
        if any(_SECRET_FILES.search(a) for a in arguments):
            yield Hit("secrets_exposure", "high", "A file that holds secrets is read.")
        elif program in ("env", "printenv"):
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
    if program == "chmod" and any(_OPEN_MODES.fullmatch(a) for a in arguments):
        yield Hit("excessive_capability", "medium", "A file is opened to everyone, or runs with its owner's rights.")
    if program in ("useradd", "usermod", "passwd", "visudo", "setcap"):
        yield Hit("excessive_capability", "high", "Accounts or rights of the system are changed.")


def _elevation(command: Command, _: str, __: tuple[str, ...]) -> Iterator[Hit]:
    if command.argv[0] in ("sudo", "doas", "su"):
        yield Hit("excessive_capability", "medium", "Another user's rights are asked for.")


def _remote_shell(command: Command, program: str, arguments: tuple[str, ...]) -> Iterator[Hit]:
    sockets = [target for _, target in command.redirects if target.startswith(("/dev/tcp/", "/dev/udp/"))]
    if program in INTERPRETERS and ("-i" in arguments or sockets) and (sockets or "-i" in arguments):
        if sockets:
            yield Hit("excessive_capability", "critical", "A shell is handed to a network connection.")
    elif program in ("nc", "ncat", "netcat") and any(a in ("-e", "-c", "--exec") for a in arguments):
        yield Hit("excessive_capability", "critical", "A shell is handed to a network connection.")
    elif sockets:
        yield Hit("excessive_capability", "high", "A network connection is opened through the shell itself.")


def _persistence(command: Command, program: str, arguments: tuple[str, ...]) -> Iterator[Hit]:
    written = [target for sign, target in command.redirects if sign.startswith((">", "&"))]
    if program in ("tee", "cp", "mv", "ln", "install"):
        written += arguments
    changes_crontab = program == "crontab" and "-l" not in arguments
    enables = program in ("systemctl", "launchctl") and any(a in ("enable", "load") for a in arguments)
    if changes_crontab or enables or any(_START_FILES.search(name) for name in written):
        yield Hit("excessive_capability", "high", "Something is made to start by itself later.")


def _concealment(_: Command, program: str, arguments: tuple[str, ...]) -> Iterator[Hit]:
    if (program == "history" and "-c" in arguments) or (
        program in ("unset", "export") and any(a.startswith("HISTFILE") for a in arguments)
    ):
        yield Hit("other", "medium", "The shell's history is erased or switched off.")
    if program in DOWNLOADERS and any(a in ("-k", "--insecure", "--no-check-certificate") for a in arguments):
        yield Hit("other", "medium", "Certificates are not verified.", _url(arguments))


def _url(arguments: tuple[str, ...]) -> str:
    return next((url for argument in arguments for url in urls_in(argument)), "")


_PIPELINE_RULES: Final[tuple[Callable[[Pipeline], Iterator[Hit]], ...]] = (_fetched_code, _sent_away)
_COMMAND_RULES: Final[tuple[Callable[[Command, str, tuple[str, ...]], Iterator[Hit]], ...]] = (
    _dump,
    _dynamic,
    _deletion,
    _permissions,
    _elevation,
    _remote_shell,
    _persistence,
    _concealment,
)
