"""Reading the settings: a TOML file, over it the environment, over nothing a default. All faults are reported at once.

`VALIDATOR_SECTION__KEY` sets a key; with `_FILE` behind it, it names a file that holds the value. Variables that were
meant to set something and do not, such as `VALIDATOR_STORE_URL`, are refused.
"""

import codecs
import difflib
import ipaddress
import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from sssa.files import one_line, read_at_most
from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import printable
from validator.settings.model import Settings
from validator.settings.reference import KeyReference, reference

PREFIX: Final = "VALIDATOR_"
FILE: Final = "_FILE"
CONFIG_VARIABLE: Final = "VALIDATOR_CONFIG"
# Kubernetes sets these in every container next to a service that is called `validator`.
_PLATFORM: Final = ("VALIDATOR_PORT", "VALIDATOR_SERVICE_")
_MAX_SECRET: Final = 64 * 1024
_BOOLEANS: Final = {"true": True, "false": False, "1": True, "0": False}
DEFAULT_FILE: Final = Path("validator.toml")
_NO_FILE: Final = (
    f"no settings file: --config names none, ${CONFIG_VARIABLE} is not set and ./{DEFAULT_FILE} does not exist; "
    "`validator init` makes one, config/validator.toml is an example"
)
_EXPOSED: Final = (
    "health.host: can be reached from other machines; set health.token, or health.expose = true where the network "
    "keeps strangers out"
)
_MAX_FILE: Final = 1024 * 1024
_SHOWN: Final = 80

Values = dict[str, Any]
Override = tuple[str, Any]


class SettingsError(ValidatorError):
    """The settings cannot be used.

    Args:
        problems: one line each.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))

    def __str__(self) -> str:
        return self.detail


def load_settings(path: Path | None, environ: Mapping[str, str]) -> Settings:
    """Return the settings of a file and the environment.

    Args:
        path: the file that the command line names; None: `$VALIDATOR_CONFIG`, else ./validator.toml.
        environ: variables; `VALIDATOR_STORE__URL` sets store.url, `VALIDATOR_STORE__URL_FILE` from a file.

    Raises:
        SettingsError: with one line for every fault, none of them showing a secret.
    """
    file = settings_file(path, environ)
    values = _read(file)
    overrides, problems = _read_environment(environ)
    sources = {dotted: variable for dotted, (variable, _) in overrides.items()}
    for dotted, (_, value) in overrides.items():
        section, _, key = dotted.partition(".")
        table = values.setdefault(section, {})
        if isinstance(table, dict):
            table[key] = value
    problems += _conflicts(values)
    try:
        # Strict JSON mode: "8080" is no number and 1 is no boolean, yet lists become tuples and text becomes paths.
        settings = Settings.model_validate_json(json.dumps(values, default=str), strict=True)
    except (ValueError, RecursionError) as error:
        if not isinstance(error, ValidationError):
            raise SettingsError([f"{printable(str(file))}: a number or a nesting is too large to be meant"]) from None
        problems = [_problem(fault, str(file), sources) for fault in error.errors(include_url=False)] + problems
    if problems:
        raise SettingsError(dict.fromkeys(problems))
    return settings


def settings_file(path: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the file that `load_settings` reads; the existence of a named one is not checked.

    Raises:
        SettingsError: none is named and none exists.
    """
    named = path or (Path(environ[CONFIG_VARIABLE]) if environ.get(CONFIG_VARIABLE) else None)
    if named is None and not DEFAULT_FILE.exists():
        raise SettingsError([_NO_FILE])
    return named or DEFAULT_FILE


def _read(file: Path) -> Values:
    name = printable(str(file))
    try:
        data = read_at_most(file, _MAX_FILE)
    except OSError as error:
        raise SettingsError([f"{name}: cannot be read: {error.strerror}"]) from None
    if len(data) > _MAX_FILE:
        raise SettingsError([f"{name}: larger than {_MAX_FILE} bytes"])
    if data.startswith(codecs.BOM_UTF8):
        raise SettingsError([f"{name}: begins with a byte order mark; save it as UTF-8 without one"])
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise SettingsError([f"{name}: not UTF-8"]) from None
    except (ValueError, RecursionError) as error:  # besides TOMLDecodeError: numbers of thousands of digits
        raise SettingsError([f"{name}: not TOML: {printable(str(error))}"]) from None


def _problem(fault: Any, file: str, sources: Mapping[str, str]) -> str:
    section, key = (*map(str, fault["loc"]), "", "")[:2]
    dotted = f"{section}.{key}" if key else section
    where = f"{sources.get(dotted, printable(file))}: {printable(dotted, _SHOWN)}"
    known = reference().get(dotted)
    if known is None:
        return f"{where}: {_unknown(section, key, fault)}"
    if fault["type"] == "missing":
        return f"{where}: is required; allowed is {known.allowed}"
    return f"{where}: got {_shown(known, fault['input'])}; allowed is {known.allowed}"


def _unknown(section: str, key: str, fault: Any) -> str:
    sections = list(Settings.model_fields)
    if section not in sections:
        return "no such section; " + _suggest(section, sections)
    if fault["type"] == "missing":
        required = [entry.key for entry in reference().values() if entry.section == section and entry.required]
        return f"the section is required, with {', '.join(required)}"
    if not key:
        return "must be a section, a table of keys"
    return "no such setting; " + _suggest(
        key, [entry.key for entry in reference().values() if entry.section == section]
    )


def _suggest(name: str, choices: list[str]) -> str:
    close = difflib.get_close_matches(name, choices, n=1)
    return f"did you mean `{close[0]}`?" if close else "known are " + ", ".join(choices)


def _shown(known: KeyReference, value: Any) -> str:
    if known.secret:
        return "a value that is not shown"
    return printable(json.dumps(value, ensure_ascii=False), _SHOWN)


def _conflicts(values: Values) -> list[str]:
    """Return violated rules between keys; checked on raw values, to be reported with other faults."""

    def given(dotted: str) -> Any:
        section, _, key = dotted.partition(".")
        table = values.get(section)
        return table.get(key) if isinstance(table, dict) else None

    simulated = given("chain.kind") == "simulated"
    server = given("tasks.server_url") is not None
    open_port = is_reachable(given("health.host"))
    url = given("store.url")
    on_sqlite = url is None or str(url).startswith("sqlite")
    rules = (
        (given("wallet.uri") is not None and not simulated, 'wallet.uri: allowed only with chain.kind = "simulated"'),
        (simulated and given("chain.state") is None, 'chain.state: required with chain.kind = "simulated"'),
        (
            given("queue.backend") == "postgres" and on_sqlite,
            'queue.backend: "postgres" needs a postgresql:// store.url',
        ),
        (server and given("tasks.server_hotkey") is None, "tasks.server_hotkey: required with tasks.server_url"),
        (open_port and given("health.token") is None and given("health.expose") is not True, _EXPOSED),
    )
    return [text for broken, text in rules if broken]


def is_reachable(host: object) -> bool:
    """Return whether other machines may reach an address; any name but `localhost` counts as reachable."""
    if not isinstance(host, str) or host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True


def _read_environment(environ: Mapping[str, str]) -> tuple[dict[str, Override], list[str]]:
    """Return ({dotted key: (variable, value)}, problems).

    A value is converted to the key's type where it has its form and left as text where it has not: the model then
    says what is allowed. Names that set nothing are problems where they were meant to; others are not ours (container
    platforms set such as VALIDATOR_PORT).
    """
    variables = _variables()
    overrides: dict[str, Override] = {}
    problems = [
        f"{printable(name, 80)}: sets nothing; {meant}"
        for name in strangers(environ)
        if (meant := _meant(name)) is not None
    ]
    for variable in sorted(name for name in environ if _sets(name) and name != CONFIG_VARIABLE):
        entry = reference()[variables.get(variable) or variables[variable.removesuffix(FILE)]]
        shown = printable(variable, 80)
        if entry.dotted in overrides:
            problems.append(f"{shown}: {entry.dotted} is set by {entry.variable} too; one of the two must go")
        elif not environ[variable].isprintable():
            problems.append(f"{shown}: {entry.dotted}: holds control characters or bytes that are not UTF-8")
        elif environ[variable] != environ[variable].strip():
            problems.append(f"{shown}: {entry.dotted}: begins or ends with a blank; remove it")
        elif variable in variables:
            overrides[entry.dotted] = (shown, _convert(environ[variable], entry))
        else:
            try:
                overrides[entry.dotted] = (shown, _convert(_read_secret(environ[variable]), entry))
            except (OSError, ValueError) as error:
                reason = _unusable(environ[variable], error, entry) if isinstance(error, OSError) else str(error)
                problems.append(f"{shown}: {entry.dotted}: the file it names cannot be used: {reason}")
    return overrides, problems


def _unusable(name: str, error: OSError, entry: KeyReference) -> str:
    """Return why a file cannot be read, without a name that may be the secret itself."""
    folder = Path(name).parent
    there = any(part.strip("/") for part in folder.parts) and folder.is_dir()
    hidden = entry.secret and not there and entry.pattern and re.fullmatch(entry.pattern, name)
    shown = f"a name that is not shown, as it may be {entry.dotted} itself" if hidden else printable(name)
    return f"{error.strerror}: {shown} (as user {os.getuid()})"


def _read_secret(name: str) -> str:
    if "://" in name:  # it may hold a password
        raise ValueError("this is a url, not a file's name; write the url into a file and name that")
    data = read_at_most(Path(name), _MAX_SECRET)
    if len(data) > _MAX_SECRET:
        raise ValueError(f"larger than {_MAX_SECRET} bytes")
    return one_line(data.strip()).strip()


def _convert(text: str, entry: KeyReference) -> Any:
    converters: dict[str, Callable[[str], Any]] = {
        "integer": int,
        "number": float,
        "boolean": lambda value: _BOOLEANS.get(value.lower(), value),
        "object": json.loads,
        "array": lambda value: [item.strip() for item in value.split(",")],
    }
    try:
        return converters.get(entry.kind, str)(text)
    except (ValueError, RecursionError):
        return text


def _meant(name: str) -> str | None:
    """Return advice on a variable that sets nothing; None if it is another program's.

    It is ours where it has two underscores, or is a setting's but for case, underscores or section; with `_FILE` behind
    it, too.
    """
    upper = name.upper()
    for end in ("", FILE):
        if upper.endswith(end) and (variable := _close().get(upper.removesuffix(end))):
            return f"did you mean {variable}{end}?"
    if "__" not in name:
        return None
    known = [variable.removeprefix(PREFIX) for variable in _variables()]
    close = difflib.get_close_matches(upper.removeprefix(PREFIX), known, n=1)
    return f"did you mean {PREFIX}{close[0]}?" if close else "config/validator.toml lists every setting"


def strangers(environ: Mapping[str, str]) -> list[str]:
    """Return the variables that begin as ours do, set nothing, and are no container platform's; sorted."""
    return sorted(
        name
        for name in environ
        if name.upper().startswith(PREFIX) and not _sets(name) and not _of_a_platform(name.upper())
    )


def _sets(name: str) -> bool:
    return name == CONFIG_VARIABLE or name in _variables() or name.removesuffix(FILE) in _variables()


@cache
def _variables() -> Mapping[str, str]:
    """Return the variables that set a key, with `section.key`; making `reference` takes a hundred times as long."""
    sections: Any = {name: field.annotation for name, field in Settings.model_fields.items()}
    return {
        f"{PREFIX}{name}__{key}".upper(): f"{name}.{key}"
        for name, section in sections.items()
        for key in section.model_fields
    }


def _of_a_platform(name: str) -> bool:
    return name == _PLATFORM[0] or name.startswith((f"{_PLATFORM[0]}_", _PLATFORM[1]))


@cache
def _close() -> Mapping[str, str]:
    """Return what a variable may be mistaken for, to the variable."""
    entries = list(reference().values())
    sections = Counter(entry.key for entry in entries)
    without = {f"{PREFIX}{one.key.upper()}": one.variable for one in entries if sections[one.key] == 1}
    return without | {name: one.variable for one in entries for name in (one.variable, one.variable.replace("__", "_"))}
