"""Files that `validator init` writes: `validator.toml` with a comment for every key, `.env`, secrets. Replaces none."""

import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from sssa.files import PUBLIC, made_folders, write_file
from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import printable
from validator.settings.load import DEFAULT_FILE, SettingsError, load_settings
from validator.settings.reference import example_toml
from validator.settings.urls import without_password

ENV_FILE: Final = Path(".env")
URL_FILE: Final = Path("secrets", "store_url")
PASSWORD_FILE: Final = Path("secrets", "postgres_password")
MOUNTED: Final = Path("wallets")
"""In addition to the settings: what a container sees of the wallets."""
SIMULATED: Final = "simulated"
LOCAL: Final = "local"
_LOCAL_NODE: Final = "ws://127.0.0.1:9944"
_POSTGRES: Final = "postgres"  # the service in docker-compose.yml
_HEAD: Final = """\
# docker-compose reads this file by itself; .env.example explains every variable. Elsewhere: EnvironmentFile= in a
# systemd unit, or set -a; . ./.env; set +a

# Mounted into the container: the settings, the hotkey alone (`validator wallet install` puts it there), the tasks.
SETTINGS={settings}
WALLETS={wallets}
TASKS={tasks}
"""
_DATABASE: Final = """
# The file with the database's url, for the container and for a validator outside of it; it wins over store.url in the
# settings. Only who may enter its folder can read it. Outside the container it is looked for in the working folder.
STORE_URL_FILE={url_file}
VALIDATOR_STORE__URL_FILE={url_file}
"""
_OWN_POSTGRES: Final = """
# Postgres next to the validator, started before it and ended after it, and the file with its password.
COMPOSE_PROFILES=postgres
COMPOSE_FILE=docker-compose.yml:docker-compose.postgres.yml
POSTGRES_PASSWORD_FILE={password_file}
"""


class AlreadyThereError(ValidatorError):
    """Nothing is overwritten."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """Choices of a new operator.

    Attributes:
        network: `finney`, `test`, `local` for a node on this machine, a ws:// or wss:// url, or `simulated`.
        database: a url; its password goes into its own file alone.
    """

    network: str
    netuid: int
    wallets: Path
    wallet: str
    hotkey: str
    database: str

    def settings(self) -> Mapping[str, Any]:
        """Return the settings, `section.key` to plain value."""
        given: dict[str, Any] = {
            "validator.netuid": self.netuid,
            "wallet.path": str(self.wallets),
            "wallet.name": self.wallet,
            "wallet.hotkey": self.hotkey,
            "store.url": without_password(self.database),
        }
        if self.network == SIMULATED:
            return given | {"chain.kind": "simulated", "chain.state": "chain.json"}
        return given | {"chain.endpoints": [_LOCAL_NODE if self.network == LOCAL else self.network]}


def begin(folder: Path, beginning: Beginning) -> tuple[Path, ...]:
    """Write `validator.toml` and `.env` into a folder, for Postgres secrets as well, and return where: all, or none.

    Raises:
        SettingsError: what was decided cannot be; a line for each fault.
        AlreadyThereError: one of them exists.
        OSError: the folder takes no file.
    """
    texts = {DEFAULT_FILE: (example_toml(beginning.settings()), PUBLIC), ENV_FILE: (_environment(beginning), 0o600)}
    # Docker mounts a secret with the rights that it has here, for another user: the folder keeps others out.
    texts |= {name: (f"{text}\n", 0o444) for name, text in _secrets(beginning.database).items()}
    _check(texts[DEFAULT_FILE][0], beginning, folder / DEFAULT_FILE)
    for file in texts:
        if os.path.lexists(folder / file):
            raise AlreadyThereError(f"{printable(str(folder / file))} exists; name another folder, or move it away")
    try:
        with ExitStack() as written:
            written.enter_context(made_folders(folder))
            for file, (text, mode) in texts.items():
                written.enter_context(made_folders((folder / file).parent, mode=0o700))
                write_file(folder / file, text.encode(), mode=mode)
                written.push(partial(_take_back, folder / file))
    except FileExistsError as error:
        raise AlreadyThereError(f"{printable(str(error.filename))} exists; name another folder") from None
    return tuple(folder / file for file in texts)


def _secrets(database: str) -> dict[Path, str]:
    """Return file to content of a database's secrets; empty for SQLite."""
    if not _on_postgres(database):
        return {}
    files = {URL_FILE: database}
    if _runs_alongside(database) and (password := urlsplit(database).password) is not None:
        files[PASSWORD_FILE] = unquote(password)
    return files


def _on_postgres(database: str) -> bool:
    return database.startswith("postgresql")


def _runs_alongside(database: str) -> bool:
    """Return whether the url names the database of docker-compose.yml."""
    try:
        return _on_postgres(database) and urlsplit(database).hostname == _POSTGRES
    except ValueError:
        return False


def _take_back(file: Path, kind: type[BaseException] | None, *_: object) -> None:
    """Delete a written file if a later one failed."""
    if kind is not None:
        with suppress(OSError):
            file.unlink()


def _check(text: str, beginning: Beginning, file: Path) -> None:
    """Read the settings as the validator will."""
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder) / file.name
        trial.write_text(text, encoding="utf-8")
        try:
            load_settings(trial, {"VALIDATOR_STORE__URL": beginning.database})
        except SettingsError as error:
            raise SettingsError(problem.removeprefix(f"{trial}: ") for problem in error.problems) from None


def _environment(beginning: Beginning) -> str:
    text = _HEAD.format(
        settings=_quoted(f"./{DEFAULT_FILE}"), wallets=_quoted(f"./{MOUNTED}"), tasks=_quoted("./tasks")
    )
    if _on_postgres(beginning.database):
        text += _DATABASE.format(url_file=_quoted(f"./{URL_FILE}"))
    if PASSWORD_FILE in _secrets(beginning.database):
        text += _OWN_POSTGRES.format(password_file=_quoted(f"./{PASSWORD_FILE}"))
    return text


def _quoted(text: str) -> str:
    """Return a value quoted for compose, systemd and a shell (SettingsError: impossible)."""
    if "'" in text or not text.isprintable():
        raise SettingsError([f"`{printable(text)}`: a path with a quotation mark or a control character; use another"])
    return f"'{text}'"
