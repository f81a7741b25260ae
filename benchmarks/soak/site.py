"""Folder of a soak: where its files are, and the settings, at a multiple of the default pace."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localnet.chain.subnet import SubnetRules

SEED: Final = "soak"
SPEED: Final = 20
INTERVAL_S: Final = 600.0 / SPEED  # each is the default over the speed
REFRESH_S: Final = 900.0 / SPEED
PRUNE_EVERY_S: Final = 3600.0 / SPEED
BLOCK_S: Final = 12.0 / SPEED
KEPT_S: Final = 600.0  # a retention that bites within the hour; the settings begin at a day

_SETTINGS: Final = """
[validator]
netuid = 1
[wallet]
uri = "//Validator"
[chain]
kind = "simulated"
state = "{folder}/chain.json"
[store]
url = "{url}"
[rounds]
interval_s = {interval_s}
grace_s = 60.0
capabilities_refresh_s = {refresh_s}
[tasks]
directory = "{folder}/tasks"
[miners]
allow_private_axons = true
[log]
level = "info"
format = "json"
[health]
port = {port}
"""


@dataclass(frozen=True, slots=True)
class Site:
    """The files of one soak.

    Args:
        folder: where all of them are.
        port: where the daemon tells of itself.
    """

    folder: Path
    port: int = 0

    @property
    def config(self) -> Path:
        """The validator's settings."""
        return self.folder / "validator.toml"

    @property
    def log(self) -> Path:
        """Path of the validator's log."""
        return self.folder / "validator.log"

    @property
    def chain(self) -> Path:
        """The simulated chain."""
        return self.folder / "chain.json"

    @property
    def tasks(self) -> Path:
        """Task folders and goals."""
        return self.folder / "tasks"

    @property
    def canaries(self) -> Path:
        """Hashes of the canary bundles that the validator made, one a line: these the miners may run."""
        return self.folder / "canaries"

    @property
    def inside(self) -> Path:
        """Path of the validator's newest memory figures."""
        return self.folder / "inside.json"

    @property
    def store(self) -> Path:
        """The store."""
        return self.folder / "validator.sqlite"

    @property
    def url(self) -> str:
        """The store's url."""
        return f"sqlite:///{self.store}"

    def write(self) -> None:
        """Write the settings."""
        self.config.write_text(
            _SETTINGS.format(
                folder=self.folder, url=self.url, interval_s=INTERVAL_S, refresh_s=REFRESH_S, port=self.port
            )
        )


def rules(genesis: int) -> SubnetRules:
    """Return a subnet whose epochs have as many blocks as real ones, which come so many times as fast."""
    return SubnetRules(seed=SEED, genesis=genesis, netuid=1, block_time_s=BLOCK_S)
