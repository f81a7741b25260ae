"""A new operator's files: `validator.toml` with a comment for every key, and `.env`. Neither ever replaces one."""

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable
from validator.settings.example import example_toml
from validator.settings.load import DEFAULT_FILE, SettingsError, load_settings
from validator.settings.urls import without_password

ENV_FILE: Final = Path(".env")
SIMULATED: Final = "simulated"
LOCAL: Final = "local"
_LOCAL_NODE: Final = "ws://127.0.0.1:9944"
_HEAD: Final = """\
# docker-compose reads this file by itself. Elsewhere: EnvironmentFile= in a systemd unit, or set -a; . ./.env; set +a
# It may hold a password: keep it readable by its owner alone, and out of git.

# Mounted into the container: the settings, the wallets (NAME/hotkeys/HOTKEY is read, nothing else), the tasks.
SETTINGS={settings}
WALLETS={wallets}
TASKS={tasks}
"""
_DATABASE: Final = """
# The database, for the container and for a validator outside of it; it wins over store.url in the settings.
STORE_URL={url}
VALIDATOR_STORE__URL={url}
"""
_NO_DATABASE: Final = """
# The database of the container; without it the SQLite file in its volume.
# STORE_URL='postgresql://validator:PASSWORD@postgres/validator'
"""


class AlreadyThereError(ValidatorError):
    """Nothing is overwritten."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a new operator decides.

    Attributes:
        network: `finney`, `test`, `local` for a node on this machine, a ws:// or wss:// url, or `simulated`.
        netuid: the subnet.
        wallets: folder of the wallets.
        wallet, hotkey: names.
        database: a url; its password goes into `.env` alone.
    """

    network: str
    netuid: int
    wallets: Path
    wallet: str
    hotkey: str
    database: str

    def settings(self) -> Mapping[str, Any]:
        """Return what stands in the settings, `section.key` to plain value."""
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


def begin(folder: Path, beginning: Beginning) -> tuple[Path, Path]:
    """Write `validator.toml` and `.env` into a folder and return where they are; both, or neither.

    Raises:
        SettingsError: what was decided cannot be; a line for each fault.
        AlreadyThereError: one of the two is there.
        OSError: the folder takes no file.
    """
    files = folder / DEFAULT_FILE, folder / ENV_FILE
    texts = example_toml(beginning.settings()), _environment(beginning)
    _check(texts[0], beginning, files[0])
    for file in files:
        if os.path.lexists(file):
            raise AlreadyThereError(f"{printable(str(file))} is there; name another folder, or move it away")
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    try:
        for file, text, mode in zip(files, texts, (0o644, 0o600), strict=True):
            _write(file, text, mode)
            written.append(file)
    except OSError as error:
        for file in written:
            with suppress(OSError):
                file.unlink()
        if isinstance(error, FileExistsError):
            raise AlreadyThereError(f"{printable(str(error.filename))} is there; name another folder") from None
        raise
    return files


def _write(file: Path, text: str, mode: int) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as stream:
        stream.write(text)


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
    named = str(beginning.wallets)
    wallets = named if named.startswith("~") else str(beginning.wallets.absolute())  # compose knows the home, too
    head = _HEAD.format(settings=_quoted(f"./{DEFAULT_FILE}"), wallets=_quoted(wallets), tasks=_quoted("./tasks"))
    if beginning.database == without_password(beginning.database):
        return head + _NO_DATABASE
    return head + _DATABASE.format(url=_quoted(beginning.database.replace("'", "%27").replace("$", "%24")))


def _quoted(text: str) -> str:
    """Return a value that compose, systemd and a shell read alike.

    Raises:
        SettingsError: no quotation marks make it so.
    """
    if "'" in text or not text.isprintable():
        raise SettingsError([f"`{printable(text)}`: a path with a quotation mark or a control character; use another"])
    return f"'{text}'"
