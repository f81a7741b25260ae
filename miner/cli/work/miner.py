"""What `validator miner …` does: one reference miner, for local networks on a real node."""

from pathlib import Path

from miner.behaviours import Conduct
from miner.standalone import MinerOptions, address_to_announce, chain_for, run_miner
from validator.chain.wallet import load_signer
from validator.cli.session import settings_of
from validator.daemon.signals import Stop
from validator.sources import SystemClock
from validator.telemetry import configure_logging
from validator.unless import run_whole


def run(  # noqa: PLR0913, PLR0917 - each is an option
    config: Path | None,
    behaviour: Conduct,
    host: str,
    port: int,
    external_ip: str | None,
    external_port: int | None,
    validator: list[str] | None,
    *,
    announce: bool,
) -> None:
    """Serve one reference miner with the hotkey of [wallet] until SIGTERM. It analyses bundles and executes none."""
    settings = settings_of(config)
    configure_logging(settings.log.level, settings.log.format)
    announced = address_to_announce(external_ip, external_port) if announce else None
    options = MinerOptions(behaviour, host, port, announced, tuple(validator or ()))
    signer, clock = load_signer(settings.wallet), SystemClock()
    chain = chain_for(settings, signer, clock, options)

    async def serve() -> None:
        stop = Stop()
        stop.listen()
        try:
            await run_miner(signer, clock, options, stop, chain)
        finally:
            if chain is not None:
                await chain.close()

    run_whole(serve())
