"""`validator init` and `validator wallet install`: write settings and copy the hotkey's file for a new validator."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from sssa.cli.options import Config, group
from sssa.cli.output import print_line
from sssa.files import from_home, write_file
from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import printable
from validator.chain.wallet import HotkeyMissingError, WalletError, hotkey_file, read_hotkey
from validator.cli.session import settings_of
from validator.cli.sign_in import link
from validator.settings.init_files import ENV_FILE, MOUNTED, Beginning, begin

WALLET = group()
WALLET.command()(link)
T = TypeVar("T")
_WALLETS: Final = "~/.bittensor/wallets"
_FIRST_TASK: Final = "validator tasks seed structlog --output tasks"
_SHOWN: Final = 8
_FOLDER: Final = 0o500
_FILE: Final = 0o400


class NoAnswerError(ValidatorError):
    """There is nobody to ask."""


def init(  # noqa: PLR0913, PLR0917 - each is an option
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where the files are written.")] = Path(),
    network: Annotated[
        str | None, typer.Option(metavar="NAME|URL", help="finney, test, local, simulated, or a ws:// or wss:// url.")
    ] = None,
    netuid: Annotated[int | None, typer.Option(metavar="N", help="The subnet.")] = None,
    wallet_path: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The folder of the wallets.")] = None,
    wallet: Annotated[str | None, typer.Option(metavar="NAME", help="The wallet.")] = None,
    hotkey: Annotated[str | None, typer.Option(metavar="NAME", help="The hotkey in it.")] = None,
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME.")
    ] = None,
) -> None:
    """Write validator.toml, every key with a comment, and .env; never overwrites. Asks for what no option says.

    Where nobody can be asked, what has a default gets it.
    """
    interactive = sys.stdin.isatty()
    network = _answer_of(
        network, interactive, "Network (finney, test, local, simulated, or a ws:// or wss:// url)", "finney"
    )
    netuid = _answer_of(netuid, interactive, "Subnet (netuid)", None, "--netuid", int)
    path = _answer_of(wallet_path, interactive, "Folder of the wallets", Path(_WALLETS), convert=Path)
    known = _inside(path)
    wallet = _answer_of(wallet, interactive, f"Wallet{_choice(known)}", known[0] if len(known) == 1 else "default")
    keys = _inside(path / wallet / "hotkeys")
    hotkey = _answer_of(hotkey, interactive, f"Hotkey{_choice(keys)}", keys[0] if len(keys) == 1 else "default")
    database = _answer_of(
        database, interactive, "Database (sqlite:///FILE or postgresql://…)", "sqlite:///validator.sqlite"
    )
    settings, environment, *secrets = begin(folder, Beginning(network, netuid, path, wallet, hotkey, database))
    print_line(f"wrote {', '.join(map(str, (settings, environment, *secrets)))}")
    print_line("next, in a shell:")
    for step in _next_steps(folder, in_file=bool(secrets)):
        print_line(f"  {step}")
    print_line("with docker-compose, in the folder of docker-compose.yml and with these files in it:")
    print_line(f"  sudo validator wallet install {MOUNTED}")
    print_line("  docker compose up -d")


def _next_steps(folder: Path, *, in_file: bool) -> Iterator[str]:
    """Yield the commands to type next, in order; settings files are looked for in the working folder.

    `in_file` says that the database's url is in a file, which .env names.
    """
    if folder.resolve() != Path.cwd():
        yield f"cd {shlex.quote(str(folder))}"
    if in_file:
        yield f"set -a; . ./{ENV_FILE}; set +a"
    yield f"{_FIRST_TASK}  # first tasks, of a package that is installed here"
    yield "validator doctor"
    yield "validator run"


def _answer_of(  # noqa: PLR0913, PLR0917 - what is asked, and what may be answered
    given: T | None,
    interactive: bool,
    question: str,
    default: T | None,
    option: str = "",
    convert: Callable[[str], T] | None = None,
) -> T:
    """Return an option's value, else the operator's, else the default (NoAnswerError: there is none)."""
    if given is not None:
        return given
    if interactive:
        answer: T = typer.prompt(question, default=default, type=convert)
        return answer
    if default is None:
        raise NoAnswerError(f"standard input is no terminal; say {option}")
    return default


def _inside(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in from_home(folder).iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def _choice(names: list[str]) -> str:
    shown = ", ".join(printable(name, 64) for name in names[:_SHOWN])
    return f" (there is {shown})" if names else ""


@WALLET.command()
def install(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Mounted as the wallets' folder: WALLETS in .env.")],
    owner: Annotated[int, typer.Option(metavar="UID", help="The container's user and group.")] = 10_001,
    config: Config = None,
) -> None:
    """Copy the hotkey's file, and no coldkey, into a folder that only the container's user can read.

    Needs root to give the file away. Existing files stay.
    """
    settings = settings_of(config).wallet
    if settings.uri is not None:
        raise HotkeyMissingError("wallet.uri is a development key: there is no file to install")
    if os.geteuid() not in {0, owner}:
        raise WalletError(f"only root can give a file to user {owner}: run it with sudo, or name your own --owner")
    data = read_hotkey(settings)
    file = folder / settings.name / "hotkeys" / settings.hotkey
    if file.resolve() == hotkey_file(settings).resolve():
        raise WalletError(f"{printable(str(file))} is the hotkey's own file; name another folder")
    if folder.exists() and any(one.name != settings.name for one in folder.iterdir()):
        raise WalletError(f"{printable(str(folder))} holds other things; name a new folder")
    with suppress(FileNotFoundError):
        if file.read_bytes() != data:
            raise WalletError(f"{printable(str(file))} holds another key; move it away, nothing was changed")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file.resolve(), data, mode=_FILE, replace=True)
    for place, mode in ((file, _FILE), *((one, _FOLDER) for one in (file.parent, file.parent.parent, folder))):
        os.chown(place, owner, owner)
        place.chmod(mode)
    print_line(f"{file}: the hotkey alone, readable for user {owner}; set WALLETS={folder} in .env")
