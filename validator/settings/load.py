"""Reading the settings: a TOML file, over it the environment, over nothing a default. All faults are told at once."""

import difflib
import ipaddress
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from validator.files import read_at_most
from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable
from validator.settings.environment import CONFIG_VARIABLE, read_environment
from validator.settings.model import Settings
from validator.settings.reference import KeyReference, reference

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
    overrides, problems = read_environment(environ)
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
    """Return the file that `load_settings` reads; whether it is there is not looked at where one is named.

    Raises:
        SettingsError: none is named and none is there.
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
    """Return what one key demands of another; judged on raw values, so that it is told beside other faults."""

    def given(dotted: str) -> Any:
        section, _, key = dotted.partition(".")
        table = values.get(section)
        return table.get(key) if isinstance(table, dict) else None

    simulated = given("chain.kind") == "simulated"
    server = given("tasks.server_url") is not None
    open_port = _is_reachable(given("health.host"))
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


def _is_reachable(host: object) -> bool:
    """Whether other machines may reach an address; a name counts as reachable, except `localhost`."""
    if not isinstance(host, str) or host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True
