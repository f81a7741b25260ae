"""What `validator init` does: a new operator's settings."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import typer

from validator.cli.output import print_line
from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable
from validator.settings.beginning import MOUNTED, Beginning, begin
from validator.settings.reading import from_home

T = TypeVar("T")
_WALLETS: Final = "~/.bittensor/wallets"
_SHOWN: Final = 8


class NotSaidError(ValidatorError):
    """There is nobody to ask."""


def init(  # noqa: PLR0913, PLR0917 - each is an option
    folder: Path,
    network: str | None,
    netuid: int | None,
    wallet_path: Path | None,
    wallet: str | None,
    hotkey: str | None,
    database: str | None,
) -> None:
    """Write validator.toml, every key with a comment, and .env; never overwrites. Asks for what no option says."""
    asked = sys.stdin.isatty()
    network = _said(network, asked, "Network (finney, test, local, simulated, or a ws:// or wss:// url)", "finney")
    netuid = _said(netuid, asked, "Subnet (netuid)", None, "--netuid", int)
    path = _said(wallet_path, asked, "Folder of the wallets", Path(_WALLETS), convert=Path)
    known = _inside(path)
    wallet = _said(wallet, asked, f"Wallet{_choice(known)}", known[0] if len(known) == 1 else "default")
    keys = _inside(path / wallet / "hotkeys")
    hotkey = _said(hotkey, asked, f"Hotkey{_choice(keys)}", keys[0] if len(keys) == 1 else "default")
    database = _said(database, asked, "Database (sqlite:///FILE or postgresql://…)", "sqlite:///validator.sqlite")
    settings, environment, *secrets = begin(folder, Beginning(network, netuid, path, wallet, hotkey, database))
    print_line(f"wrote {', '.join(map(str, (settings, environment, *secrets)))}")
    if secrets:
        sourced = os.path.join(".", environment)  # noqa: PTH118 - a Path drops the `./` that a shell needs
        print_line(f"the database's url stands in {secrets[0]} alone: set -a; . {sourced}; set +a")
    print_line(f"next: validator doctor --config {settings}")
    print_line(f"then: validator run --config {settings}")
    print_line(f"with docker-compose: sudo validator wallet install --config {settings} {folder / MOUNTED}, then")
    print_line("docker-compose up -d in the folder of docker-compose.yml")


def _said(  # noqa: PLR0913, PLR0917 - what is asked, and what may be answered
    given: T | None,
    asked: bool,
    question: str,
    default: T | None,
    option: str = "",
    convert: Callable[[str], T] | None = None,
) -> T:
    """Return what an option or the operator says, else the default.

    Raises:
        NotSaidError: there is no default, and nobody to ask.
    """
    if given is not None:
        return given
    if asked:
        answer: T = typer.prompt(question, default=default, type=convert)
        return answer
    if default is None:
        raise NotSaidError(f"standard input is no terminal; say {option}")
    return default


def _inside(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in from_home(folder).iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def _choice(names: list[str]) -> str:
    shown = ", ".join(printable(name, 64) for name in names[:_SHOWN])
    return f" (there is {shown})" if names else ""
