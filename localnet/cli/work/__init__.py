"""What the commands do. A module of this folder is imported when a command first names it, so that help needs none."""

from typing import TYPE_CHECKING

from validator.cli.lazy import when_named

if TYPE_CHECKING:
    from localnet.cli.work import devnet, localnet
else:
    __getattr__ = when_named(__name__)

__all__ = ["devnet", "localnet"]
