"""The folder of a local network: wallets, settings, tasks. Files that exist are used again, never replaced."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import bittensor as bt

from localnet.library import WINDOWS
from localnet.onchain.options import UpOptions, before_end
from miner.bundles.written import written_bundles
from sssa.files import write_file
from sssa.protocol.errors import ValidatorError
from sssa.protocol.signatures import Signer
from sssa.protocol.text import printable
from taskmaker.packing import write_task
from validator.chain.wallet import load_signer
from validator.settings.load import load_settings
from validator.settings.model import Settings, WalletSettings
from validator.settings.reference import example_toml
from validator.tasks.folder import sourced_task

CONFIG: Final = "validator.toml"
LOG: Final = "validator.log"
_TASKS: Final = "tasks"
_WALLETS: Final = "wallets"
_VALIDATOR: Final = "validator"


class OtherFolderError(ValidatorError):
    """The folder belongs to another local network."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Everybody's hotkey; //Alice is the coldkey of all of them."""

    owner: Signer
    validator: Signer
    miners: tuple[Signer, ...]


def keys_in(folder: Path, miners: int) -> Keys:
    """Return the wallets' hotkeys, made where there are none.

    Raises:
        WalletError: one cannot be read.
        OSError: one cannot be written.
    """
    wallets = folder / _WALLETS
    return Keys(
        _key(wallets, "owner"),
        _key(wallets, _VALIDATOR),
        tuple(_key(wallets, f"miner{number}") for number in range(1, miners + 1)),
    )


def known_netuid(options: UpOptions, url: str) -> int | None:
    """Return the subnet that the options or the folder's settings name, None where neither does.

    Raises:
        OtherFolderError: they name another chain or another subnet than the options.
    """
    config = options.folder / CONFIG
    if not config.exists():
        return options.netuid
    settings = load_settings(config, {})
    place = printable(str(config))
    if [endpoint.reveal() for endpoint in settings.chain.endpoints] != [url]:
        raise OtherFolderError(f"{place} names another chain than --url; name another --folder")
    if options.netuid not in (None, settings.validator.netuid):
        raise OtherFolderError(f"{place} is of netuid {settings.validator.netuid}; name another --folder")
    return settings.validator.netuid


def settings_in(options: UpOptions, url: str, netuid: int, tempo: int) -> Settings:
    """Return the folder's settings, written where there are none: those of a validator on a real chain."""
    config, folder = options.folder / CONFIG, options.folder.absolute()
    if not config.exists():
        given = {
            "validator.netuid": netuid,
            "wallet.path": str(folder / _WALLETS),
            "wallet.name": _VALIDATOR,
            "chain.endpoints": [url],
            "store.url": f"sqlite:///{folder / 'validator.sqlite'}",
            "rounds.interval_s": 5.0,
            "rounds.grace_s": 15.0,
            "rounds.capabilities_refresh_s": 60.0,
            "tasks.directory": str(folder / _TASKS),
            # They have the standard windows, in which the reference miners answer too early.
            "tasks.canaries": False,
            "miners.allow_private_axons": True,
            "weights.blocks_before_epoch_end": before_end(tempo),
            "health.port": 0,
        }
        write_file(config, example_toml(given).encode())
    return load_settings(config, {})


def tasks_in(options: UpOptions) -> frozenset[str]:
    """Write the written bundles as tasks whose windows suit the reference miners; return their sha256, hex.

    Only these are ever run by the miners.
    """
    own = [bundle for bundle in written_bundles() if bundle.skill_type in options.skill_types]
    tasks = {bundle.name: sourced_task(bundle.task(WINDOWS), bundle.packed()) for bundle in own}
    for name, task in tasks.items():
        if not (options.folder / _TASKS / name).exists():
            write_task(task, options.folder / _TASKS / name)
    return frozenset(task.task.bundle_sha256 for task in tasks.values())


def _key(wallets: Path, name: str) -> Signer:
    if not (wallets / name / "hotkeys" / "default").exists():
        wallet = bt.Wallet(name=name, hotkey="default", path=str(wallets))
        wallet.create_new_hotkey(use_password=False, overwrite=False, suppress=True)
    return load_signer(WalletSettings(path=wallets, name=name, hotkey="default"))
