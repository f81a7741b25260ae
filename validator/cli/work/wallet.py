"""What `validator wallet` does: the hotkey's file, without the coldkey, where a container reads it."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from validator.chain.wallet import HotkeyMissingError, WalletError, hotkey_file, read_hotkey
from validator.cli.configured import settings_of
from validator.cli.output import print_line
from validator.files import write_file
from validator.protocol.text import printable

_FOLDER: Final = 0o500
_FILE: Final = 0o400


def install(folder: Path, owner: int, config: Path | None) -> None:
    """Copy the hotkey's file to FOLDER/NAME/hotkeys/HOTKEY, for `owner` alone.

    Raises:
        WalletError: there is no hotkey's file, another file is there, or only root can give it away.
        OSError: a folder or the file cannot be written.
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
        raise WalletError(f"{printable(str(folder))} holds other things; name a folder of its own")
    with suppress(FileNotFoundError):
        if file.read_bytes() != data:
            raise WalletError(f"{printable(str(file))} holds another key; move it away, nothing was changed")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file.resolve(), data, mode=_FILE, replace=True)
    for place, mode in ((file, _FILE), *((one, _FOLDER) for one in (file.parent, file.parent.parent, folder))):
        os.chown(place, owner, owner)
        place.chmod(mode)
    print_line(f"{file}: the hotkey alone, readable for user {owner}; set WALLETS={folder} in .env")
